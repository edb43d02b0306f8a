/** Records histories of suspend-on-overage. Part of record-histories.ts. */

import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { SuspendSignal } from '../../domain/temporal/signals.ts'
import type { SuspendOnOverageInput, SuspendUpdates } from '../../domain/temporal/suspend-on-overage.ts'
import { until } from '../../test/setup/soon.ts'
import { clear, type startHarness } from '../../test/workflows/harness.ts'
import { aSim, TENANT } from '../../test/workflows/model/service.ts'

type Harness = Awaited<ReturnType<typeof startHarness>>
/** Waits for the end of a workflow and keeps its history under a name. */
type Keep = (name: string, workflowId: string) => Promise<void>

/** The actions of a path on its run. */
interface Run {
  readonly id: string
  readonly signal: (name: SuspendSignal) => Promise<void>
  readonly update: <Name extends keyof SuspendUpdates>(name: Name, args: SuspendUpdates[Name]) => Promise<object>
  readonly cancel: () => Promise<void>
  /** Waits until the run is in a phase, or until it waits for `what`. */
  readonly phase: (name: string) => Promise<unknown>
  readonly waits: (what: string) => Promise<unknown>
}
type Path = (run: Run) => Promise<unknown>

const soon = (ms: number) => new Date(Date.now() + ms).toISOString()

export async function recordSuspensions({ workflowClient, model }: Harness, record: Keep): Promise<void> {
  const runOf = (id: string): Run => {
    const state = async () => Object((await workflowClient.describe(id, TENANT).catch(() => undefined))?.state)
    let updates = 0
    return {
      id,
      signal: (name) => workflowClient.signal(id, name),
      update: (name, args) => workflowClient.update(id, name, args, `u${updates++}`),
      cancel: () => workflowClient.cancel(id),
      phase: (name) => until(`phase ${name}`, async () => (await state()).phase === name),
      waits: (what) =>
        until(`a wait for ${what}`, async () => String(Object((await state()).waitsFor).what).startsWith(what)),
    }
  }
  const inputOf = (cycleKey: string, more: Partial<SuspendOnOverageInput>): SuspendOnOverageInput => ({
    tenantId: TENANT,
    simId: 1,
    cycleKey,
    cycleEndsAt: soon(3_600_000),
    rule: 'r',
    ruleFile: 'r.json',
    grace: 'PT0S',
    until: 'renewal',
    ...more,
  })

  /** One path: the service's state before it, the run's input, and what happens to the run. */
  async function path(name: string, before: () => void, more: Partial<SuspendOnOverageInput>, act: Path) {
    clear(model)
    model.sims.set(1, aSim())
    before()
    const id = suspendOnOverageId(TENANT, 1, name)
    const start = { type: 'suspend-on-overage', workflowId: id, input: inputOf(name, more) } as const
    if (more.takeOver) await workflowClient.start(start)
    else await workflowClient.signalWithStart({ do: 'signalWithStart', ...start, signal: 'overLimit' })
    await act(runOf(id))
    await record(`suspend-on-overage-${name}`, id)
  }
  const nothing = () => {}
  const suspendedBy = (name: string) => () => {
    const workflowId = suspendOnOverageId(TENANT, 1, name)
    model.sims.set(1, aSim({ status: 2, suspension: { cause: 'watchdog', workflowId, until: 'renewal' } }))
  }
  const ticketIs = (kind: string, status: number) =>
    until(`a ${kind} ticket`, () => model.tickets.some((ticket) => ticket.kind === kind && ticket.status === status))

  await path('renewed', nothing, {}, async ({ phase, signal }) => {
    await phase('suspended')
    await signal('renewed')
  })
  await path('grace-cleared-again', nothing, { grace: 'PT1S' }, async ({ phase, signal, update }) => {
    await phase('grace')
    await signal('cleared')
    await phase('idle')
    await signal('overLimit')
    await phase('suspended')
    await signal('cleared')
    await phase('idle')
    await update('resume', {})
  })
  await path('cleared-and-suspended-again', nothing, {}, async ({ phase, signal }) => {
    await phase('suspended')
    await signal('cleared')
    await phase('idle')
    await signal('overLimit')
    await phase('suspended')
    await signal('renewed')
  })
  await path('manual', nothing, { until: 'manual', cycleEndsAt: soon(2500) }, ({ phase }) => phase('suspended'))
  await path(
    'taken-back',
    () => model.pending.add('suspend'),
    {},
    async ({ phase, signal }) => {
      await phase('suspending')
      await ticketIs('suspend', 0)
      await signal('standDown')
      await phase('idle')
      await signal('personActed')
    },
  )
  await path(
    'taken-back-and-over-again',
    () => model.pending.add('suspend'),
    {},
    async ({ phase, signal }) => {
      await ticketIs('suspend', 0)
      await signal('cleared')
      await ticketIs('suspend', 4)
      model.pending.clear()
      await signal('overLimit')
      await phase('suspended')
      await signal('renewed')
    },
  )
  await path(
    'refused-with-its-ticket',
    () => {
      model.pending.add('suspend')
      model.lostResponses = 1
      model.before = async (line) => {
        if (line.endsWith('/enforcement') && model.tickets.length > 0) model.overLimit = false
      }
    },
    {},
    async ({ phase, signal }) => {
      await ticketIs('suspend', 4)
      await phase('idle')
      model.before = async () => {}
      model.pending.clear()
      model.overLimit = true
      await signal('overLimit')
      await phase('suspended')
      await signal('renewed')
    },
  )
  await path(
    'pending-at-the-end',
    () => model.pending.add('suspend'),
    { cycleEndsAt: soon(3000) },
    () => ticketIs('suspend', 0),
  )
  await path('grace-extended', nothing, { grace: 'PT3S' }, async ({ phase, signal, update }) => {
    await phase('grace')
    await update('extendGrace', { by: 'PT2S' })
    await phase('suspended')
    await signal('renewed')
  })
  await path('grace-at-the-end', nothing, { grace: 'P1D', cycleEndsAt: soon(2000) }, async ({ phase }) =>
    phase('grace'),
  )
  await path('kept', nothing, { cycleEndsAt: soon(8000) }, async ({ phase, update }) => {
    await phase('suspended')
    await update('keepSuspended', {})
  })
  await path('kept-and-let-go', nothing, {}, async ({ phase, signal, update, waits }) => {
    await phase('suspended')
    await update('keepSuspended', {})
    await waits('a person')
    await update('keepSuspended', { until: 'renewal' })
    await signal('renewed')
  })
  await path('let-go-late', nothing, { cycleEndsAt: soon(6000) }, async ({ phase, update, waits }) => {
    await phase('suspended')
    await update('keepSuspended', {})
    await waits('a person')
    const { promise: mayRecord, resolve: letRecord } = Promise.withResolvers<void>()
    const endsAt = Date.now() + 6000
    model.before = (line) => (line.startsWith('PATCH') ? mayRecord : Promise.resolve())
    await update('keepSuspended', { until: 'renewal' })
    await until('the end of the cycle', () => Date.now() > endsAt)
    letRecord()
  })
  await path('resumed', nothing, {}, async ({ phase, update }) => {
    await phase('suspended')
    await update('resume', {})
  })
  await path(
    'resumed-while-suspending',
    () => model.processing.add('suspend'),
    {},
    async ({ update }) => {
      await ticketIs('suspend', 1)
      await update('resume', {})
      model.processing.clear()
    },
  )
  await path(
    'held-and-released',
    () => Object.assign(model, { permits: 'held' }),
    {},
    async ({ phase, signal }) => {
      await phase('held')
      model.permits = 'granted'
      await signal('guardReleased')
      await phase('suspended')
      await signal('renewed')
    },
  )
  await path(
    'held-and-discarded',
    () => Object.assign(model, { permits: 'held' }),
    {},
    async ({ phase, signal }) => {
      await phase('held')
      await signal('guardDiscarded')
      await phase('idle')
      await signal('overLimit')
      await signal('cleared')
      model.permits = 'granted'
      await signal('overLimit')
      await phase('suspended')
      await signal('personActed')
    },
  )
  await path(
    'held-at-the-end',
    () => Object.assign(model, { permits: 'held' }),
    { cycleEndsAt: soon(3000) },
    ({ phase }) => phase('held'),
  )
  await path(
    'refused',
    () => Object.assign(model, { overLimit: false }),
    { cycleEndsAt: soon(3000) },
    ({ waits }) => waits('its next overage'),
  )
  const failing = (kind: string, code: string) => () => model.failing.set(kind, code)
  await path('suspend-failed', failing('suspend', 'carrier_unavailable'), {}, async ({ waits, signal }) => {
    await waits('the next attempt')
    await signal('renewed')
  })
  await path('suspend-refused', failing('suspend', 'line_barred'), {}, async ({ waits, signal }) => {
    await waits('its next overage')
    model.refused = true
    await signal('overLimit')
    await until('the look at the SIM', () => model.calls('/enforcement') === 2)
    await waits('its next overage')
    Object.assign(model, { refused: false }).failing.clear()
    await signal('overLimit')
    await until('a suspension', () => model.ticketsOf(1).includes('suspend:2'))
    await signal('renewed')
  })
  await path('return-failed', failing('activate', 'carrier_rejected'), {}, async ({ phase, waits, signal }) => {
    await phase('suspended')
    await signal('renewed')
    await waits('the next attempt')
    await signal('personActed')
  })
  await path('unassigned', nothing, {}, async ({ phase, signal }) => {
    await phase('suspended')
    model.sims.set(1, aSim({ status: 0 }))
    await signal('renewed')
  })
  await path('cancelled', nothing, {}, async ({ phase, cancel }) => {
    await phase('suspended')
    await cancel()
  })
  await path(
    'cancelled-while-suspending',
    () => model.processing.add('suspend'),
    {},
    async ({ cancel }) => {
      await ticketIs('suspend', 1)
      await cancel()
      await until('a ticket taken back', () => model.calls('DELETE') > 0)
      model.processing.clear()
    },
  )
  await path('taken-over', suspendedBy('taken-over'), { takeOver: true }, async ({ phase, signal }) => {
    await phase('suspended')
    await signal('renewed')
  })
  await path(
    'taken-over-late',
    suspendedBy('taken-over-late'),
    { takeOver: true, cycleEndsAt: soon(-1000) },
    async () => {},
  )
  await path('taken-over-armed', nothing, { takeOver: true }, async ({ phase, signal }) => {
    await phase('suspended')
    await signal('renewed')
  })
}

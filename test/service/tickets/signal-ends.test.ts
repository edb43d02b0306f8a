import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { CarrierError, type Network } from '../../../adapters/carrier/network.ts'
import { TicketType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { provisionAndActivateId } from '../../../domain/temporal/ids.ts'
import { TICKETS_ENDED } from '../../../domain/temporal/ticket-ends.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { signalEnds } from '../../../service/tickets/end-tickets.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { cancelTicket, openTicket } from '../../../service/tickets/open-ticket.ts'
import { carryOutWorkflowRequests, type WorkflowDoor } from '../../../service/workflows/carry-out-workflow-requests.ts'
import { requestWorkflows } from '../../../store/outbox.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aCarrier } from '../../setup/carrier.ts'
import { aStore, aTenantOf, someSims } from '../../setup/estate.ts'
import { withOnlySim } from '../../setup/only-sim.ts'

const OPTIONS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }
const store = await aStore()
const carrier = await aCarrier()
const { tenantId, asTenant } = await aTenantOf(store)

async function aRun() {
  const simId = (await asTenant((tx) => someSims(tx, 1)))[0]?.id ?? 0
  return { simId, workflowId: provisionAndActivateId(tenantId, simId) }
}
const open = (simId: number, type: TicketType, cause: Cause) => asTenant((tx) => openTicket(tx, { simId, type, cause }))
const execute = (simId: number, network: Network = carrier.network) =>
  withOnlySim(store, tenantId, simId, () => executeTickets(store, network, OPTIONS, tenantId))
const byWorkflow = (workflowId: string): Cause => ({ by: 'workflow', workflowId })
/** Opens tickets of a run, one after the other. @returns their ids */
async function opened({ simId, workflowId }: Awaited<ReturnType<typeof aRun>>, ...types: readonly TicketType[]) {
  const ids: string[] = []
  for (const type of types) ids.push(await open(simId, type, byWorkflow(workflowId)))
  return ids
}
const rows = async () => {
  const requests = sql<{ workflowId: string; done: boolean }>`
    select workflow_id as "workflowId", done_at is not null as done from workflow_outbox order by id`
  return (await inPlatform(store, (tx) => requests.execute(tx.q))).rows
}

/** A Temporal that notes the signals it gets. `refuse` throws instead. */
function aDoor(refuse: () => void = () => {}) {
  const signals: unknown[][] = []
  const no = () => Promise.reject(new Error('not asked for'))
  const signal: WorkflowDoor['signal'] = async (...call) => {
    refuse()
    signals.push(call)
  }
  return { signals, door: { start: no, signalWithStart: no, look: no, signal } satisfies WorkflowDoor }
}
const carryOut = (door: WorkflowDoor) =>
  carryOutWorkflowRequests(store, door, { onRequestFailed: () => {}, onFailedRun: () => {} })
/** What Temporal is signalled now. */
async function signalled() {
  const { signals, door } = aDoor()
  await carryOut(door)
  return signals
}
const { Provision, Activate } = TicketType
const COMPLETE = { status: 'complete', code: '', detail: '' } as const

describe('the ends of a workflow’s tickets', () => {
  test('reach it in their order, as one signal', async () => {
    const run = await aRun()
    const ids = await opened(run, Provision, Activate)
    await execute(run.simId)

    const ends = ids.map((ticketId) => ({ ticketId, ...COMPLETE }))
    expect(await signalled()).toEqual([[run.workflowId, TICKETS_ENDED, [ends]]])
    expect(await rows()).toEqual([])
  })

  test('are told at once where nothing follows one of them', async () => {
    const { workflowId } = await aRun()
    const cause = byWorkflow(workflowId)
    const [last, followed] = [crypto.randomUUID(), crypto.randomUUID()]
    await asTenant((tx) =>
      signalEnds(tx, [
        { id: last, cause, end: COMPLETE, next: null },
        { id: followed, cause, end: COMPLETE, next: cause },
      ]),
    )

    const ends = [last, followed].map((ticketId) => ({ ticketId, ...COMPLETE }))
    expect(await signalled()).toEqual([[workflowId, TICKETS_ENDED, [ends]]])
  })

  test('are told one by one where the second takes longer', async () => {
    const run = await aRun()
    await opened(run, Provision, Activate)
    const { signals, door } = aDoor()
    const told: number[] = []
    const perform: Network['perform'] = async (request) => {
      if (request.operation === 'activate') {
        await carryOut(door)
        told.push(signals.length)
        store.now += 1000
        await carryOut(door)
        told.push(signals.length)
      }
      return carrier.network.perform(request)
    }
    await execute(run.simId, { ...carrier.network, perform })
    await carryOut(door)

    expect(told).toEqual([0, 1])
    const one = [run.workflowId, TICKETS_ENDED, [[COMPLETE]]]
    expect(signals).toMatchObject([one, one])
  })

  test('say why a ticket failed, and that the next is refused', async () => {
    const run = await aRun()
    const [ticketId, next] = await opened(run, Provision, Activate)
    const refused = new CarrierError('refused', { code: 'line_barred', retryable: false })
    await execute(run.simId, { ...carrier.network, perform: () => Promise.reject(refused) })

    const ends = [
      { ticketId, status: 'failed', code: 'line_barred' },
      { ticketId: next, status: 'failed', code: 'sim_state_conflict' },
    ]
    expect(await signalled()).toMatchObject([[run.workflowId, TICKETS_ENDED, [ends]]])
  })

  test('include a cancelled ticket', async () => {
    const run = await aRun()
    const [ticketId = ''] = await opened(run, Provision)
    await asTenant((tx) => cancelTicket(tx, ticketId))

    const ended = { ticketId, status: 'cancelled', code: 'ticket_cancelled' }
    expect(await signalled()).toMatchObject([[run.workflowId, TICKETS_ENDED, [[ended]]]])
  })

  test('are sent again when Temporal is away', async () => {
    const run = await aRun()
    await opened(run, Provision)
    await execute(run.simId)
    let away = true
    const { signals, door } = aDoor(() => {
      if (away) throw new ServiceError('unavailable', 'away')
    })
    await carryOut(door)
    expect(signals).toEqual([])
    await opened(run, Activate)
    await execute(run.simId)
    away = false
    await carryOut(door)
    expect(signals).toEqual([])

    store.now += 2000
    await carryOut(door)

    expect(signals).toMatchObject([[run.workflowId, TICKETS_ENDED, [[COMPLETE, COMPLETE]]]])
    expect(await rows()).toEqual([])
  })

  test('are dropped if the workflow has ended', async () => {
    const run = await aRun()
    await opened(run, Provision)
    await execute(run.simId)
    const { door } = aDoor(() => {
      throw new ServiceError('workflow_not_running', 'ended')
    })

    await carryOut(door)

    expect(await rows()).toEqual([])
  })

  test('do not overtake another request', async () => {
    const workflowId = `suspend-on-overage:${tenantId}:7:2026-11`
    const cause = { by: 'watchdog', rule: null, cycle: '2026-11', until: 'manual', workflowId } as const
    const ended = (id: string) => ({ id, cause, next: null, end: COMPLETE })
    await asTenant(async (tx) => {
      await signalEnds(tx, [ended('a')])
      await requestWorkflows(tx, [{ do: 'signal', workflowId, signal: 'cleared' }])
      await signalEnds(tx, [ended('b'), ended('c')])
    })

    const ids = (await signalled()).map(([, name, args]) => [
      name,
      ...((args as { ticketId: string }[][] | undefined) ?? []).flat().map(({ ticketId }) => ticketId),
    ])
    expect(ids).toEqual([[TICKETS_ENDED, 'a'], ['cleared'], [TICKETS_ENDED, 'b', 'c']])
    expect(await rows()).toEqual([{ workflowId, done: true }])
  })

  test.each<[string, Cause]>([
    ['a person', { by: 'user' }],
    ['a workflow that does not wait', { by: 'workflow', workflowId: `enforce-pool:${tenantId}:1:2026-11` }],
    ['another tenant’s workflow', { by: 'workflow', workflowId: provisionAndActivateId('tother', 1) }],
  ])('are told to nobody where %s asked', async (_, cause) => {
    const before = await rows()
    const { simId } = await aRun()
    await open(simId, Provision, cause)
    await execute(simId)

    expect(await rows()).toEqual(before)
  })
})

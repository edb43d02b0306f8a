/** Records histories of month ends, their batches and the timer. Part of record-histories.ts. */

import { monthEndBatchId, monthEndId, monthEndTimerId } from '../../domain/temporal/ids.ts'
import type { MonthEndInput } from '../../domain/temporal/month-end-reprovision.ts'
import { until } from '../../test/setup/soon.ts'
import { clear, type startHarness } from '../../test/workflows/harness.ts'
import { aSim, TENANT } from '../../test/workflows/model/service.ts'

type Harness = Awaited<ReturnType<typeof startHarness>>
/** Waits for the end of a workflow and keeps its history under a name. */
type Keep = (name: string, workflowId: string) => Promise<void>

const soon = (ms: number) => new Date(Date.now() + ms).toISOString()
const [MOVE, UNASSIGN] = [
  { poolId: 9, tariffId: null, unassign: false },
  { poolId: null, tariffId: null, unassign: true },
]
const SUSPENDED = { status: 2, suspension: { cause: 'watchdog', workflowId: null, until: 'renewal' } } as const

export async function recordMonthEnds({ workflowClient, model }: Harness, record: Keep): Promise<void> {
  const stepIs = (workflowId: string, step: string) => () =>
    workflowClient.describe(workflowId, TENANT).then(
      ({ state }) => Object(state).step === step,
      () => false,
    )

  /** The month end of a cycle that is named after its path. */
  async function monthEnd(
    name: string,
    more: Partial<MonthEndInput>,
    prepare: () => void,
    act: (workflowId: string) => Promise<void> = async () => {},
  ): Promise<string> {
    clear(model)
    const cycleEndsAt = soon(1500)
    model.cycles.push({ key: name, endsAt: cycleEndsAt, closedAt: null })
    prepare()
    const workflowId = monthEndId(TENANT, name)
    const sizes = { pageSize: 1, parallel: 2, perRun: 100 }
    const input = { tenantId: TENANT, cycleKey: name, cycleEndsAt, closeAfter: 'PT1S', ...sizes, ...more }
    const { runId } = await workflowClient.start({ type: 'month-end-reprovision', workflowId, input })
    await act(workflowId)
    await record(`month-end-reprovision-${name}`, workflowId)
    return runId.slice(0, 8)
  }

  const run = await monthEnd('closed', {}, () => {
    for (const id of [1, 2, 3]) model.sims.set(id, aSim({ change: MOVE }))
    model.sims.set(4, aSim({ change: UNASSIGN }))
    model.sims.set(5, aSim(SUSPENDED))
  })
  for (const [name, batch] of [
    ['opened', 'move:0'],
    ['renewed', 'renew:4'],
  ] as const) {
    await record(`month-end-batch-${name}`, monthEndBatchId(TENANT, 'closed', run, batch))
  }
  await monthEnd('empty', {}, () => {})
  await monthEnd('continued', { perRun: 1, parallel: 1 }, () => {
    for (let id = 1; id <= 10; id++) model.sims.set(id, aSim({ change: MOVE }))
  })
  await monthEnd(
    'retried',
    { closeAfter: 'PT20S' },
    () => {
      model.sims.set(1, aSim({ change: MOVE }))
      model.failing.set('provision', 'carrier_rejected')
    },
    async (workflowId) => {
      await until('step close', stepIs(workflowId, 'close'))
      model.failing.clear()
      await workflowClient.update(workflowId, 'retryFailedChanges', {}, 'first')
    },
  )
  await monthEnd(
    'renewed-again',
    {},
    () => {
      model.sims.set(1, aSim({ ...SUSPENDED, change: UNASSIGN }))
      model.pending.add('unassign')
      model.failing.set('unassign', 'carrier_rejected')
    },
    async (workflowId) => {
      await until('step settle', stepIs(workflowId, 'settle'))
      model.pending.clear()
    },
  )
  await monthEnd(
    'cancelled',
    {},
    () => {
      model.sims.set(1, aSim({ change: MOVE }))
      model.pending.add('provision')
    },
    async (workflowId) => {
      await until('step settle', stepIs(workflowId, 'settle'))
      await workflowClient.cancel(workflowId)
    },
  )
  const [requested, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await monthEnd(
    'cancelled-while-beginning',
    { perRun: 1, parallel: 1 },
    () => {
      for (let id = 1; id <= 6; id++) model.sims.set(id, aSim({ change: MOVE }))
      model.before = async (line) => {
        if (!line.endsWith('/changes/apply')) return
        requested.resolve()
        await letGo.promise
      }
    },
    async (workflowId) => {
      await requested.promise
      await workflowClient.cancel(workflowId)
      letGo.resolve()
    },
  )
  await monthEnd(
    'cancelled-before-the-close',
    { closeAfter: 'PT1H' },
    () => {},
    async (workflowId) => {
      await until('step close', stepIs(workflowId, 'close'))
      await workflowClient.cancel(workflowId)
    },
  )
  await monthEnd('incomplete', {}, () => {
    for (const id of [1, 2]) model.sims.set(id, aSim({ change: MOVE }))
    model.refusedBatches.add('move/0')
  })

  const timer = { tenantId: TENANT, billingCycle: 'PT5M' }
  const runTimer = async (name: string) => {
    await workflowClient.start({ type: 'month-end-timer', workflowId: monthEndTimerId(TENANT), input: timer })
    await record(`month-end-timer-${name}`, monthEndTimerId(TENANT))
  }
  clear(model)
  await runTimer('failed')
  const ended = Math.floor(Date.now() / 300_000) * 300_000
  const cycles = [2, 1].map((n) => ended - n * 300_000)
  model.cycles = cycles.map((startsAt) => ({
    key: new Date(startsAt).toISOString().replaceAll(/[-:]/g, '').slice(0, 13).concat('Z'),
    endsAt: new Date(startsAt + 300_000).toISOString(),
    closedAt: null,
  }))
  await runTimer('caught-up')
}

/** What the time-skipping server lacks: search attributes, lists and Schedules. Also a server that is down. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { registerSearchAttributes } from '../../adapters/temporal/add-search-attributes.ts'
import { openWorkflowClient } from '../../adapters/temporal/client.ts'
import { queryOf } from '../../adapters/temporal/list-workflows.ts'
import { scheduleOf } from '../../adapters/temporal/schedule-calls.ts'
import { monthEndId, monthEndScheduleId, monthEndTimerId, provisionAndActivateId } from '../../domain/temporal/ids.ts'
import { type Cycle, cycleAt, previousCycle } from '../../domain/time/cycle.ts'
import { userCacheDir } from '../../stack/downloads.ts'
import { freePort } from '../../stack/free-port.ts'
import { findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { startTemporalWorker } from '../../worker/start-temporal-worker.ts'
import { soon, untilInstant } from '../setup/soon.ts'
import { workflowBundle } from '../setup/workflow-bundle.ts'
import { useServerHarness } from './development-server.ts'
import { aSim, aSuspension, TENANT } from './model/service.ts'

describe('openWorkflowClient', () => {
  const harness = useServerHarness()
  const page = { page: 1, pageSize: 100 }
  /** Runs provision-and-activate of a SIM to its end. */
  const provision = async (simId: number) => {
    const workflowId = provisionAndActivateId(TENANT, simId)
    const input = { tenantId: TENANT, simId }
    await harness.workflowClient.start({ type: 'provision-and-activate', workflowId, input })
    await harness.ended(workflowId)
    return workflowId
  }

  test('lists workflows by type, status, SIM, pool and cycle', async () => {
    for (const simId of [101, 102]) {
      harness.model.sims.set(simId, aSim({ status: 0 }))
      await provision(simId)
    }
    const suspension = aSuspension(101, 'list')
    await harness.workflowClient.signalWithStart(suspension)

    const list = async (filter: object) => {
      const { items } = await harness.workflowClient.list({ tenantId: TENANT, ...filter }, page)
      return items.map(({ workflowId }) => workflowId)
    }
    // Lists lag a little.
    await soon(async () => {
      expect(await list({})).toHaveLength(3)
      expect(await list({ type: 'provision-and-activate', status: 'completed' })).toEqual(
        [102, 101].map((id) => provisionAndActivateId(TENANT, id)),
      )
    })
    expect(await list({ simId: 101, status: 'running' })).toEqual([suspension.workflowId])
    expect(await list({ cycle: 'list' })).toEqual([suspension.workflowId])
    expect(await list({ poolId: 101 })).toEqual([])
    expect(await harness.workflowClient.list({ tenantId: 'other' }, page)).toEqual({ items: [], totalItems: 0 })
    const second = await harness.workflowClient.list(
      { tenantId: TENANT, type: 'provision-and-activate' },
      { page: 2, pageSize: 1 },
    )
    const workflowId = provisionAndActivateId(TENANT, 101)
    const run = { workflowId, state: 'activated', result: { outcome: 'activated' }, input: { simId: 101 } }
    expect(second).toMatchObject({ totalItems: 2, items: [run] })
    await harness.workflowClient.cancel(suspension.workflowId)
  })

  test('starts a workflow at most once by signalWithStart', async () => {
    harness.model.sims.set(103, aSim())
    const start = aSuspension(103, 'once')

    const first = await harness.workflowClient.signalWithStart(start)
    const second = await harness.workflowClient.signalWithStart(start)
    expect(first).toMatchObject({ started: true, status: 'running' })
    expect(second).toEqual({ ...first, started: false })

    await harness.workflowClient.update(start.workflowId, 'resume', {}, 'once')
    expect(await harness.ended(start.workflowId)).toMatchObject({ status: 'completed', result: { outcome: 'resumed' } })
    const third = await harness.workflowClient.signalWithStart(start)
    expect(third).toEqual({ ...first, started: false, status: 'completed' })
  })

  test('fails on ended, unknown and other tenants’ workflows', async () => {
    harness.model.sims.set(104, aSim())
    const id = await provision(104)

    await expect(harness.workflowClient.signal(id, 'cleared')).rejects.toMatchObject({ code: 'workflow_not_running' })
    await expect(harness.workflowClient.cancel('nothing')).rejects.toMatchObject({ code: 'workflow_not_found' })
    await expect(harness.workflowClient.describe(id, 'other')).rejects.toMatchObject({ code: 'workflow_not_found' })
  })

  test('makes Schedules that close missed cycles in order', async () => {
    const left = 60_000 - (Date.now() % 60_000)
    if (left < 10_000) await untilInstant(Date.now() + left)
    const running = cycleAt('PT1M', Date.now())
    const before = previousCycle('PT1M', previousCycle('PT1M', running))
    const missed = [before, ...[1, 2, 3].map((n) => cycleAt('PT1M', before.startsAt + n * 60_000))]
    const keys = missed.map(({ key }) => key)
    // The first was not closed, the second never opened. The next two end while no worker runs.
    const opened = missed.filter((_, n) => n !== 1)
    const row = ({ key, endsAt }: Cycle) => ({ key, endsAt: new Date(endsAt).toISOString(), closedAt: null })
    harness.model.cycles = opened.map(row)
    harness.model.missing = missed.map(row)
    const schedule = { tenantId: TENANT, billingCycle: 'PT1M' }
    const comeBack = await harness.sendWorkerAway()

    expect(await harness.workflowClient.ensureSchedule(schedule)).toBe('made')
    expect(await harness.workflowClient.ensureSchedule(schedule)).toBe('kept')
    expect(await harness.workflowClient.describeSchedule(TENANT)).toMatchObject({ paused: false })
    await untilInstant((missed.at(-1)?.endsAt ?? 0) + 1000)
    expect(harness.model.closed).toEqual([])
    await comeBack()

    await soon(() => expect(harness.model.closed.map(({ key }) => key)).toEqual(keys))
    for (const key of keys) expect(await harness.ended(monthEndId(TENANT, key))).toMatchObject({ status: 'completed' })
    const completed = keys.map((cycle) => ({ cycle, status: 'completed' }))
    await soon(async () => {
      const timers = await harness.workflowClient.list(
        { tenantId: TENANT, type: 'month-end-timer', status: 'completed' },
        page,
      )
      const results = timers.items.map(({ result }) => result).reverse()
      expect(results).toEqual([{ cycles: completed.slice(0, 3) }, { cycles: completed.slice(3) }])
    })
    await harness.workflowClient.pauseSchedule(TENANT, 'shown')
    const isShown = (wanted: object) =>
      soon(async () => expect(await harness.workflowClient.describeSchedule(TENANT)).toMatchObject(wanted))
    await isShown({ paused: true, note: 'shown' })
    await harness.workflowClient.resumeSchedule(TENANT, 'goes on')
    await isShown({ paused: false })
    await harness.workflowClient.pauseSchedule(TENANT, 'end of the test')
    await expect(harness.workflowClient.pauseSchedule('nobody', '')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('starts late Schedules at once, others at their boundary', async () => {
    const schedule = (tenantId: string) => ({ tenantId, billingCycle: 'P1M' })
    expect(await harness.workflowClient.ensureSchedule(schedule('ontime'))).toBe('made')
    expect(await harness.workflowClient.ensureSchedule({ ...schedule('late'), isLate: true })).toBe('made')

    const timersOf = async (tenantId: string) =>
      (await harness.workflowClient.list({ tenantId, type: 'month-end-timer' }, { page: 1, pageSize: 10 })).items
    await soon(async () => expect(await timersOf('late')).toMatchObject([{ input: schedule('late') }]))
    expect(await timersOf('ontime')).toEqual([])
    for (const { workflowId } of await timersOf('late')) await harness.workflowClient.cancel(workflowId)
  })

  describe('ensureSchedule', () => {
    const DAY_MS = 86_400_000
    const read = (tenantId: string) => harness.schedules.getHandle(monthEndScheduleId(tenantId)).describe()

    test('updates one of an earlier version, and keeps it paused', async () => {
      const tenantId = 'earlier'
      const input = { tenantId, billingCycle: 'P1M' }
      await harness.schedules.create({
        scheduleId: monthEndScheduleId(tenantId),
        spec: { calendars: [{ dayOfMonth: 1, hour: 0, minute: 0, second: 0 }], timezone: 'UTC' },
        policies: { overlap: 'BUFFER_ALL', catchupWindow: 30 * DAY_MS },
        action: {
          type: 'startWorkflow',
          workflowType: 'month-end-timer',
          workflowId: monthEndTimerId(tenantId),
          taskQueue: 'elsewhere',
          args: [input],
        },
        state: { paused: true, note: 'for a migration' },
      })

      expect(await harness.workflowClient.ensureSchedule(input)).toBe('changed')
      expect(await harness.workflowClient.ensureSchedule(input)).toBe('kept')
      expect(await harness.workflowClient.ensureSchedule({ ...input, isLate: true })).toBe('kept')
      expect(await read(tenantId)).toMatchObject({
        spec: { jitter: 600_000, calendars: [{ dayOfMonth: [{ start: 1, end: 1 }] }] },
        policies: { catchupWindow: 400 * DAY_MS },
        action: { taskQueue: 'simherd', args: [input], memo: { input } },
        state: { paused: true, note: 'for a migration' },
      })
    })

    test.each(['P7D', 'PT6H', 'PT5M'])('leaves a correct Schedule unchanged: %s', async (billingCycle) => {
      const schedule = { tenantId: `kept-${billingCycle}`, billingCycle }
      expect(await harness.workflowClient.ensureSchedule(schedule)).toBe('made')
      const before = await read(schedule.tenantId)

      expect(await harness.workflowClient.ensureSchedule(schedule)).toBe('kept')
      expect((await read(schedule.tenantId)).info.lastUpdatedAt).toEqual(before.info.lastUpdatedAt)
      await harness.workflowClient.pauseSchedule(schedule.tenantId, 'end of the test')
    })

    test('spreads tenants’ month ends over ten minutes', async () => {
      const tenants = Array.from({ length: 12 }, (_, n) => `apart-${n}`)
      for (const tenantId of tenants) await harness.workflowClient.ensureSchedule({ tenantId, billingCycle: 'P1M' })

      const starts = await Promise.all(
        tenants.map(async (id) => (await harness.workflowClient.describeSchedule(id)).nextAt),
      )
      const late = starts.map((start) => Date.parse(start ?? '') - Date.parse(`${start?.slice(0, 7)}-01T00:00:00Z`))
      for (const ms of late) expect(ms).toBeGreaterThanOrEqual(0)
      for (const ms of late) expect(ms).toBeLessThanOrEqual(600_000)
      expect(new Set(late).size).toBeGreaterThan(6)
    })
  })

  test('registers search attributes again without a failure', async () => {
    const register = () => registerSearchAttributes(harness.address, harness.namespace)
    await Promise.all([register(), register()])
    await expect(register()).resolves.toBeUndefined()
  })
})

test('reports an absent Temporal as `unavailable` until it comes', async () => {
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  const workflowClient = openWorkflowClient({ address, namespace: 'default' })
  const worker = startTemporalWorker({
    address,
    namespace: 'default',
    serviceUrl: 'http://x',
    internalUrl: 'http://x',
    key: '',
    workflows: await workflowBundle(),
    log: pino({ level: 'silent' }),
  })
  await expect(workflowClient.check()).rejects.toMatchObject({ code: 'unavailable' })
  expect(worker.isRunning()).toBe(false)

  const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress: () => undefined })
  const server = await startTemporal({ program, port })
  try {
    await soon(() => expect(worker.isRunning()).toBe(true))
    await expect(workflowClient.check()).resolves.toBeUndefined()
  } finally {
    await worker.shutdown()
    await workflowClient.close()
    await server.stop()
  }
})

describe('scheduleOf', () => {
  test('ends months on the 1st at midnight UTC', () => {
    const { spec, catchupMs } = scheduleOf('P1M')
    const only = (value: number) => [{ start: value, end: value, step: 1 }]
    expect(spec).toMatchObject({ intervals: [], jitter: 600_000, timezone: 'UTC' })
    expect(spec.calendars).toMatchObject([{ dayOfMonth: only(1), hour: only(0), minute: only(0), second: only(0) }])
    expect(catchupMs).toBeGreaterThan(366 * 86_400_000)
  })

  test('ends fixed durations at their multiples since 1970', () => {
    const every = (ms: number, jitter: number) => ({
      calendars: [],
      intervals: [{ every: ms, offset: 0 }],
      jitter,
      timezone: 'UTC',
    })
    expect(scheduleOf('PT5M')).toEqual({ spec: every(300_000, 0), catchupMs: 150_000_000 })
    expect(scheduleOf('P1D').spec).toEqual(every(86_400_000, 600_000))
  })
})

test('escapes quotes in a list filter', () => {
  expect(queryOf({ tenantId: "a' OR '1'='1", poolId: 3 })).toBe(
    "SimherdTenant = 'a\\' OR \\'1\\'=\\'1' AND ExecutionStatus != 'ContinuedAsNew' AND PoolId = 3",
  )
})

/** Rounds of enforce-pool on a model of the service: cases that are hard to reach on the real service, and the cost. */
import { beforeEach, describe, expect, test } from 'vitest'
import { ServiceError } from '../../../domain/errors.ts'
import type { EnforcePoolInput } from '../../../domain/temporal/enforce-pool.ts'
import { enforcePoolId, suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { EnforcePoolSignal } from '../../../domain/temporal/signals.ts'
import { startOf } from '../../../domain/temporal/start.ts'
import { retryOf } from '../../../service/workflows/retry-of.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { activitiesIn, tasksIn, untilLast } from '../events.ts'
import { useSkippingHarness } from '../harness.ts'
import { aSim, TENANT } from '../model/service.ts'

const HOUR = 3_600_000
const POOL = 7

describeInSkippedTime('enforce-pool', (path) => {
  const harness = useSkippingHarness(path)
  let n = 0
  let cycleKey = ''
  let input: EnforcePoolInput
  beforeEach(async () => {
    n += 1
    cycleKey = `p${n}`
    const cycleEndsAt = new Date((await harness.env.currentTimeMs()) + HOUR).toISOString()
    harness.model.cycles.push({ key: cycleKey, endsAt: cycleEndsAt, closedAt: null })
    const rule = { rule: 'pool-overage', ruleFile: 'r.json', target: 'largestExcess', grace: 'PT0S' } as const
    input = { tenantId: TENANT, poolId: POOL, cycleKey, cycleEndsAt, ...rule, until: 'renewal' }
  })

  const id = () => enforcePoolId(TENANT, POOL, cycleKey)
  const send = (signal: EnforcePoolSignal) => {
    const start = { do: 'signalWithStart', type: 'enforce-pool', workflowId: id() } as const
    return harness.workflowClient.signalWithStart({ ...start, input, signal })
  }
  const suspended = (simId: number) =>
    harness.untilState(suspendOnOverageId(TENANT, simId, cycleKey), { phase: 'suspended' })
  const over = (...simIds: number[]) => {
    for (const simId of simIds) harness.model.sims.set(simId, aSim())
    harness.model.pool.rows = simIds.map((simId) => ({ simId, usageBytes: 20, shareBytes: 10, excessBytes: 10 }))
  }

  /** Waits until two SIMs are Active again. */
  const untilBack = () => soon(() => expect([...harness.model.sims.values()].map((sim) => sim.status)).toEqual([1, 1]))
  const suspend = async (...simIds: number[]) => {
    over(...simIds)
    await send('overLimit')
    await Promise.all(simIds.map(suspended))
  }

  test('arms picked SIMs and brings them back when cleared', async () => {
    await suspend(1, 2)
    await send('cleared')

    await untilBack()
    const steps = [
      { step: 'overLimit/1', outcome: 'over: 2 SIMs armed, none held' },
      { step: 'cleared/1', outcome: '2 SIMs told' },
    ]
    expect(await harness.untilState(id(), { over: false })).toMatchObject({ armed: 2, rounds: 1, held: 0, steps })
  })

  describe('started again', () => {
    /** A stopped run after it has suspended two SIMs. */
    async function stopped(how: 'cancel' | 'terminate') {
      await suspend(1, 2)
      const run = harness.handleOf(id())
      await run[how]()
      await expect(run.result()).rejects.toThrow()
    }
    const startAgain = async () =>
      harness.workflowClient.startAgain(retryOf(await harness.workflowClient.describe(id(), TENANT)), 'again')
    test.each(['cancel', 'terminate'] as const)('brings back those that it had armed: after a %s', async (how) => {
      await stopped(how)
      harness.model.permits = 'held'
      await startAgain()
      expect(await harness.untilState(id(), { rounds: 1 })).toMatchObject({ armed: 2, over: true })
      await harness.workflowClient.signal(id(), 'cleared')

      await untilBack()
    })

    test('brings them back at once where the pool is under its limit meanwhile', async () => {
      await stopped('cancel')
      harness.model.pool.over = false
      await startAgain()

      await untilBack()
      const told = { step: 'overLimit/1', outcome: 'under: 2 SIMs told' }
      await soon(async () =>
        expect(await harness.untilState(id(), { rounds: 1 })).toMatchObject({ armed: 2, over: false, steps: [told] }),
      )
    })

    test('leaves alone a pool that has armed nobody', async () => {
      over(1)
      harness.model.pool.over = false
      await send('overLimit')

      await harness.untilState(id(), { rounds: 1 })
      expect(harness.model.calls('/armed-sims')).toBe(0)
    })
  })

  test('names no SIM in its history', async () => {
    await suspend(1001, 1002)
    await send('cleared')
    await harness.untilState(id(), { over: false })

    const history = JSON.stringify(await harness.handleOf(id()).fetchHistory())
    const payloads = [...history.matchAll(/"data":"([^"]*)"/g)].map(([, data = '']) => Buffer.from(data, 'base64'))
    const texts = payloads.join(' ')
    expect(texts).toContain('pool-overage')
    expect(texts).not.toMatch(/100[12]\b/)
  })

  test('picks again on each overLimit until the cycle ends', async () => {
    await suspend(1)
    over(1, 2)
    const workflowId = suspendOnOverageId(TENANT, 1, cycleKey)
    harness.model.sims.set(1, aSim({ status: 2, suspension: { cause: 'watchdog', workflowId, until: 'renewal' } }))
    await send('overLimit')
    await suspended(2)

    expect(await harness.handleOf(id()).result()).toMatchObject({ armed: 2, rounds: 2, over: true })
    expect(await send('overLimit')).toMatchObject({ started: false, status: 'completed' })
  })

  test('retries a round while its key is refused', async () => {
    over(1)
    harness.model.key = 'another'
    await send('overLimit')
    await soon(() => expect(harness.model.calls('/enforcement')).toBeGreaterThan(0))
    harness.model.key = 'key'
    // Attempts are half a minute apart.
    await harness.leap(31_000)

    await suspended(1)
    expect(await harness.untilState(id(), { over: true, rounds: 1 })).toMatchObject({ armed: 1 })
  })

  test('makes the next round after one fails', async () => {
    over(1)
    harness.model.before = async (line) => {
      if (line.startsWith('GET /internal/pools/')) throw new ServiceError('invalid_request', 'as the test wants it')
    }
    await send('overLimit')
    const failed = { step: 'overLimit/0', outcome: 'failed: invalid_request: as the test wants it' }
    await soon(async () =>
      expect(await harness.workflowClient.describe(id(), TENANT)).toMatchObject({ state: { steps: [failed] } }),
    )
    harness.model.before = async () => {}
    await send('overLimit')

    await suspended(1)
    expect(await harness.untilState(id(), { over: true, rounds: 1 })).toMatchObject({ armed: 1 })
  })

  test('arms nobody outside Enforce mode', async () => {
    over(1)
    harness.model.mode = 1
    await send('overLimit')

    await harness.untilState(id(), { rounds: 1 })
    expect(harness.model.calls('/arm')).toBe(0)
    expect(harness.model.calls('/permits')).toBe(0)
  })

  test('reports once that it cannot cover the overage', async () => {
    over(1)
    await send('overLimit')
    await harness.untilState(id(), { rounds: 1, tooLittle: true })
    await send('overLimit')
    await harness.untilState(id(), { rounds: 2, tooLittle: true })
    await suspended(1)

    const logged = harness.model.actions.filter(({ action }) => action === 'tooLittleToPick')
    expect(logged).toMatchObject([{ poolId: POOL, cycle: cycleKey, rule: 'pool-overage', counter: 0 }])
    expect(logged[0]?.['detail']).toContain('0.001 MB over')
  })

  test('leaves suspended SIMs suspended on standDown', async () => {
    await suspend(1)
    await send('standDown')

    const lastStep = { step: 'standDown/1', outcome: '1 SIM told' }
    await soon(async () =>
      expect(Reflect.get(await harness.untilState(id(), { over: true }), 'steps').at(-1)).toMatchObject(lastStep),
    )
    await suspended(1)
    expect(harness.model.sims.get(1)?.status).toBe(2)
  })

  test('asks the guard for a thousand SIMs a request', async () => {
    harness.model.pool.overageBytes = 1_000_000
    over(...Array.from({ length: 1200 }, (_, i) => i + 1))
    harness.model.permits = 'held'
    await send('overLimit')
    await harness.untilState(id(), { held: 1200, holdId: 7 })
    expect(harness.model.calls('/permits')).toBe(2)
    expect(harness.model.calls('/arm')).toBe(0)
  })

  test.each([
    ['guardReleased', 'granted', { held: 0, holdId: null, armed: 2 }, [1, 2]],
    ['guardDiscarded', 'discarded', { held: 0, holdId: null, armed: 0 }, []],
  ] as const)('picks again when signalled %s', async (signal, permits, wanted, sims) => {
    over(1, 2)
    harness.model.permits = 'held'
    await send('overLimit')
    await harness.untilState(id(), { rounds: 1, held: 2, holdId: 7 })
    expect(harness.model.calls('/arm')).toBe(0)
    harness.model.permits = permits
    await send(signal)

    expect(await harness.untilState(id(), { rounds: 2 })).toMatchObject(wanted)
    await Promise.all(sims.map(suspended))
  })

  test('heeds cleared when a guard decision comes with it', async () => {
    await suspend(1, 2)
    // Both signals come while the next round waits for the guard.
    const requested = Promise.withResolvers<void>()
    const permit = Promise.withResolvers<'granted'>()
    harness.model.permits = () => {
      requested.resolve()
      return permit.promise
    }
    await send('overLimit')
    await requested.promise
    await harness.workflowClient.signal(id(), 'cleared')
    await harness.workflowClient.signal(id(), 'guardReleased')
    permit.resolve('granted')

    await untilBack()
  })

  test('arms nobody once the cycle has ended', async () => {
    over(1)
    harness.model.permits = () => Promise.reject(new ServiceError('sim_state_conflict', 'the cycle has ended'))
    await send('overLimit')

    expect(await harness.untilState(id(), { rounds: 1 })).toMatchObject({ over: false, armed: 0 })
  })

  test('keeps its state when it continues as new, and takes the count of the service', async () => {
    over(1, 2)
    const carried = {
      state: { armed: 5, rounds: 41, over: true, tooLittle: true, held: 3, holdId: 9 },
      timeline: { steps: [], waitsFor: null },
      next: 'decided',
      toldTooLittle: true,
    }
    const { taskQueue, typedSearchAttributes } = startOf(id(), input)
    await harness.env.client.workflow.start('enforce-pool', {
      workflowId: id(),
      taskQueue,
      typedSearchAttributes: [...typedSearchAttributes],
      args: [input, carried],
    })

    expect(await harness.untilState(id(), { rounds: 42 })).toMatchObject({ armed: 2, held: 0, holdId: null })
    await Promise.all([1, 2].map(suspended))
    expect(harness.model.actions.filter(({ action }) => action === 'tooLittleToPick')).toEqual([])
  })

  test('takes one activity and two workflow tasks a round', async () => {
    harness.model.pool.overageBytes = 30
    await suspend(1, 2, 3)
    const history = await untilLast(harness.handleOf(id()), 'timerStarted')

    expect([activitiesIn(history).length, tasksIn(history)]).toEqual([1, 2])
  })
})

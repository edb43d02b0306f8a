/** The number of activities and workflow tasks on a workflow's normal path, counted in its history. */
import { describe, expect, test } from 'vitest'
import { monthEndId, monthEndTimerId, provisionInBulkId } from '../../../domain/temporal/ids.ts'
import { cycleAt, previousCycle } from '../../../domain/time/cycle.ts'
import { useServerHarness } from '../development-server.ts'
import { activitiesIn, tasksIn } from '../events.ts'
import { aSim, TENANT } from '../model/service.ts'
import { aBatchSim } from './batch-model.ts'

describe('a workflow on its normal path', () => {
  const harness = useServerHarness()

  /** Sends no query before the end: on this server a query can cost a workflow task too. */
  const roundTrips = async (workflowId: string) => {
    const handle = harness.temporal.getHandle(workflowId)
    await handle.result()
    const history = await handle.fetchHistory()
    const timers = (history.events ?? []).filter((event) => event.timerFiredEventAttributes).length
    return { activities: activitiesIn(history), tasks: tasksIn(history), timers }
  }

  test('takes four activities and seven tasks for a batch', async () => {
    harness.model.batch.push(aBatchSim(0, 1))
    harness.model.sims.set(1, aSim({ status: 0 }))
    const workflowId = provisionInBulkId(TENANT, 'one')
    const input = { tenantId: TENANT, batchId: 'one', parallel: 10, pageSize: 10, perRun: 100 }
    await harness.workflowClient.start({ type: 'provision-in-bulk', workflowId, input })

    const { activities, tasks, timers } = await roundTrips(workflowId)
    expect([...new Set(activities)]).toEqual(['readBatch', 'pageOfBatch', 'noteBatch', 'endBatch'])
    // A longer batch reports its progress every two seconds, each time with a timer and `noteBatch`.
    expect(activities.length).toBeLessThanOrEqual(4 + timers)
    expect(tasks).toBeGreaterThanOrEqual(7)
    expect(tasks).toBeLessThanOrEqual(7 + 2 * timers)
  })

  test('takes two activities a cycle for the timer, and looks', async () => {
    const { key, endsAt } = previousCycle('P1M', cycleAt('P1M', Date.now()))
    harness.model.cycles = [{ key, endsAt: new Date(endsAt).toISOString(), closedAt: null }]
    const workflowId = monthEndTimerId(TENANT)
    const input = { tenantId: TENANT, billingCycle: 'P1M' }
    await harness.workflowClient.start({ type: 'month-end-timer', workflowId, input })

    const { activities, tasks, timers } = await roundTrips(workflowId)
    // Each look comes after a pause, twice as long as the one before.
    expect(activities).toEqual(['listMissed', 'startMonthEnd', ...Array(timers).fill('lookAtWorkflow')])
    expect(timers).toBeGreaterThan(0)
    expect(tasks).toBe(3 + 2 * timers)
  })

  test('takes four activities and five tasks for an empty cycle', async () => {
    const endsAt = new Date(Date.now() - 1000).toISOString()
    harness.model.cycles = [{ key: 'empty', endsAt, closedAt: null }]
    const workflowId = monthEndId(TENANT, 'empty')
    const input = { tenantId: TENANT, cycleKey: 'empty', cycleEndsAt: endsAt, closeAfter: 'PT0S' }
    await harness.workflowClient.start({ type: 'month-end-reprovision', workflowId, input })

    expect(await roundTrips(workflowId)).toEqual({
      activities: ['lookAtMonthEnd', 'renewCycle', 'listBatches', 'closeCycle'],
      tasks: 5,
      timers: 0,
    })
  })
})

import { ApplicationFailure } from '@temporalio/activity'
import { ActivityCancellationDetails } from '@temporalio/common'
import { MockActivityEnvironment } from '@temporalio/testing'
import { DefaultLogger } from '@temporalio/worker'
import { expect, test } from 'vitest'
import type { EndedActivity, FailingActivity } from '../../../domain/workflows/trouble.ts'
import { reportTroubles } from '../../../worker/report-troubles.ts'

const NOON = Date.UTC(2026, 10, 20, 12)
const PLACE = { workflowId: 'provision-and-activate:t1:7', activityId: '4' }
const POLICY = { initialInterval: 1000, backoffCoefficient: 2, maximumInterval: 60_000 }

/** An attempt of an activity with these reports. */
function anAttempt(attempt: number) {
  const failed: FailingActivity[] = []
  const ended: EndedActivity[] = []
  const reports = { failed: (one: FailingActivity) => failed.push(one), ended: (one: EndedActivity) => ended.push(one) }
  const workflowExecution = { workflowId: PLACE.workflowId, runId: 'run' }
  const scheduled = { activityType: 'openTicket', scheduledTimestampMs: NOON - 60_000, retryPolicy: POLICY }
  const environment = new MockActivityEnvironment(
    { attempt, workflowExecution, activityId: PLACE.activityId, ...scheduled },
    { interceptors: [reportTroubles(reports, () => NOON)], logger: new DefaultLogger('ERROR') },
  )
  return { failed, ended, environment }
}

const away = (more: { nextRetryDelay?: number; nonRetryable?: boolean } = {}) =>
  ApplicationFailure.create({ type: 'unavailable', message: 'it is away', ...more })

test.each([
  [1, {}, false],
  [2, { nextRetryDelay: 130_000 }, false],
  [3, {}, true],
  [4, {}, false],
  [4, { nextRetryDelay: 120_000 }, false],
  [4, { nextRetryDelay: 130_000 }, true],
  [5, {}, true],
  [9, {}, false],
  [10, {}, true],
])('of a failed attempt %i (%o) there is a report: %s', async (attempt, more, isReported) => {
  const { failed, ended, environment } = anAttempt(attempt)
  const failure = away(more)

  await expect(environment.run(() => Promise.reject(failure))).rejects.toBe(failure)
  expect([failed.length, ended.length]).toEqual([isReported ? 1 : 0, 0])
})

test('a report names the activity, its last failure, and the times', async () => {
  const { failed, environment } = anAttempt(3)
  await expect(environment.run(() => Promise.reject(new TypeError(`\0${'x'.repeat(5000)}`)))).rejects.toThrow()

  expect(failed).toEqual([
    {
      ...PLACE,
      activity: 'openTicket',
      attempt: 3,
      code: 'internal_error',
      detail: expect.stringMatching(/^\uFFFDx+…x+$/),
      since: '2026-11-20T11:59:00.000Z',
      failedAt: '2026-11-20T12:00:00.000Z',
      nextAttemptAt: '2026-11-20T12:00:04.000Z',
    },
  ])
  expect(Buffer.byteLength(failed[0]?.detail ?? '')).toBeLessThanOrEqual(1000)
})

test.each([
  ['an early success', 3, () => Promise.resolve(), false],
  ['a success after reports', 4, () => Promise.resolve(), true],
  ['a final failure after reports', 5, () => Promise.reject(away({ nonRetryable: true })), true],
])('%s at attempt %i', async (_, attempt, work, isReported) => {
  const { failed, ended, environment } = anAttempt(attempt)
  await environment.run(work).catch(() => undefined)

  expect([failed, ended]).toEqual([[], isReported ? [PLACE] : []])
})

test.each([
  ['a cancel ends it', { cancelRequested: true }, [PLACE]],
  ['the end of a worker does not', { workerShutdown: true }, []],
])('%s', async (_, details, expected) => {
  const { failed, ended, environment } = anAttempt(5)
  const work = environment.run(() => environment.context.cancelled)
  environment.cancel('CANCELLED', new ActivityCancellationDetails(details))
  await work.catch(() => undefined)

  expect([failed, ended]).toEqual([[], expected])
})

import { describe, expect, test } from 'vitest'
import { isRetrying, progressOf } from '../../../domain/workflows/run-view.ts'
import type { WorkflowPending } from '../../../domain/workflows/workflow.ts'

describe('progressOf', () => {
  const pace = { ratePerSecond: 0, estimatedEndAt: null }

  test('counts an undo, a batch by outcomes, and a month end by steps', () => {
    const counts = { waiting: 3, running: 1, activated: 4, alreadyActive: 1, compensated: 2, cancelled: 0, failed: 1 }

    expect(progressOf({ done: 3, failed: 1, left: 2 })).toEqual([
      { step: null, ended: 4, failed: 1, total: 6, ...pace },
    ])
    expect(progressOf({ counts, left: 4, ratePerSecond: 2, estimatedEndAt: '2026-11-20T12:00:00Z' })).toEqual([
      { step: null, ended: 8, failed: 3, total: 12, ratePerSecond: 2, estimatedEndAt: '2026-11-20T12:00:00Z' },
    ])
    expect(
      progressOf({ step: 'move', progress: { unassign: { done: 1, failed: 0, left: 0 }, move: { left: 2 } } }),
    ).toEqual([
      { step: 'unassign', ended: 1, failed: 0, total: 1, ...pace },
      { step: 'move', ended: 0, failed: 0, total: 2, ...pace },
    ])
  })

  test.each([null, 'suspended', { phase: 'suspended' }])('counts nothing in %j', (state) => {
    expect(progressOf(state)).toEqual([])
  })
})

describe('isRetrying', () => {
  const running = {
    status: 'running',
    workers: 1,
    workflowId: 'w',
    runId: 'r',
    task: null,
    activities: [],
    children: [],
  }
  const task = (attempt: number) => ({ attempt, scheduledAt: null, lastFailure: null })
  const times = { scheduledAt: null, startedAt: null, heartbeatAt: null, nextAttemptAt: null, lastFailure: null }
  const activity = (attempt: number) => ({ activityId: '1', type: 'a', status: 'running', attempt, ...times }) as const

  test.each<[boolean, string, Partial<WorkflowPending>]>([
    [true, 'an activity at its second attempt', { activities: [activity(1), activity(2)] }],
    [true, 'code that fails on a worker', { task: task(2) }],
    [false, 'first attempts', { task: task(1), activities: [activity(1)] }],
    [false, 'an ended run', { status: 'cancelled', activities: [activity(3)] }],
  ])('is %s for %s', (is, _, pending) => {
    expect(isRetrying({ ...running, status: 'running', ...pending })).toBe(is)
  })
})

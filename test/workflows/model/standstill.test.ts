import proto from '@temporalio/proto'
import { describe, expect, test } from 'vitest'
import { type Happened, type OpenRun, standstillOf } from './standstill.ts'

const { EventType } = proto.temporal.api.enums.v1
const NOW = Date.UTC(2026, 10, 10)

const run = (events: readonly (keyof typeof EventType | Happened)[], more: Partial<OpenRun> = {}): OpenRun => ({
  workflowId: 'w',
  activities: 0,
  isOver: false,
  events: events.map((event, n) => (typeof event === 'string' ? { id: n + 1, type: EventType[event] } : event)),
  ...more,
})
const SCHEDULED = 'EVENT_TYPE_WORKFLOW_TASK_SCHEDULED'
const STARTED = 'EVENT_TYPE_WORKFLOW_TASK_STARTED'
const DONE = 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED'
const SIGNALED = 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED'
const timer = (dueAt: number): Happened => ({ id: 4, type: EventType.EVENT_TYPE_TIMER_STARTED, timerId: 't', dueAt })
const fired: Happened = { id: 5, type: EventType.EVENT_TYPE_TIMER_FIRED, timerId: 't' }
const waits = run([SCHEDULED, STARTED, DONE, timer(NOW + 1000)])

describe('standstillOf', () => {
  test.each<[string, OpenRun[], boolean, string]>([
    ['a task that is not handed out', [run([SCHEDULED])], false, 'w workflow task scheduled at event 1'],
    ['a task that is lost', [run([SCHEDULED, STARTED]), waits], false, 'w workflow task started at event 2; w timer t'],
    ['a signal without a task', [run([SCHEDULED, STARTED, DONE, SIGNALED])], false, 'w no workflow task after event 4'],
    ['a timer that has fired', [run([DONE, timer(NOW), fired])], false, 'w no workflow task after event 5'],
    ['a timer that is overdue', [run([DONE, timer(NOW - 60_000)])], false, 'w timer t due at 2026-11-09T23:59:00.000Z'],
    ['time that does not leap', [waits], true, 'w timer t due at 2026-11-10T00:00:01.000Z'],
    ['a run that is over', [run([SCHEDULED, STARTED], { isOver: true })], true, 'w workflow task started at event 2'],
  ])('is %s', (_, runs, isSkipping, words) => {
    expect(standstillOf(runs, isSkipping, NOW)).toContain(words)
  })

  test.each<[string, OpenRun[], boolean]>([
    ['an activity in flight', [run([SCHEDULED, STARTED, DONE], { activities: 1 }), waits], true],
    ['a task that is tried again', [run([SCHEDULED, STARTED, 'EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT'])], true],
    ['a timer, while nobody lets time leap', [waits], false],
    ['a run that waits for a signal, while nobody lets time leap', [run([SCHEDULED, STARTED, DONE])], false],
    ['a run that is over, while nobody lets time leap', [run([SCHEDULED, STARTED], { isOver: true })], false],
    ['a test that does nothing', [], false],
  ])('is not %s', (_, runs, isSkipping) => {
    expect(standstillOf(runs, isSkipping, NOW)).toBeUndefined()
  })
})

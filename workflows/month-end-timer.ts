/**
 * Started by a tenant's Schedule when a billing cycle ends. Makes the service start the month end of each cycle that
 * has ended and is not closed, under its fixed id. Waits for each before the next.
 *
 * The Schedule runs one timer at a time, and the others wait. So cycles missed in a downtime are made up in order.
 * Cycles that a paused Schedule has skipped come first, even those that were never opened.
 */
import { ApplicationFailure, continueAsNew, workflowInfo } from '@temporalio/workflow'
import type { MonthEndTimerInput } from '../domain/temporal/month-end-timer.ts'
import type { Timeline } from '../domain/temporal/timeline.ts'
import { cycleAt, previousCycle } from '../domain/time/cycle.ts'
import { short, waiting } from './run/activities.ts'
import { answerState, openTimeline, showState } from './run/timeline.ts'

export interface TimerResult {
  /** How the month end of each cycle ended, in the order they ran: the last 100. */
  readonly cycles: readonly CycleEnd[]
}
interface CycleEnd {
  readonly cycle: string
  readonly status: string
}

/** How often to check on the month end. It waits hours for its close, so every half minute is enough. */
const WAITS = { pollMin: 'PT1S', pollMax: 'PT30S' } as const
const MOST_CYCLES = 100

/**
 * The instant that the Schedule meant, in epoch milliseconds. After a downtime it is in the past. If the timer was
 * started by hand, it is now.
 */
function scheduledAt(): number {
  const pairs = workflowInfo().typedSearchAttributes.getAll()
  const found = pairs.find(({ key }) => key.name === 'TemporalScheduledStartTime')?.value
  return found instanceof Date ? found.getTime() : Date.now()
}

/** @throws ApplicationFailure `month_end_failed` after the last cycle, if a month end did not complete */
export async function monthEndTimer(input: MonthEndTimerInput): Promise<TimerResult> {
  const { tenantId, billingCycle, carried } = input
  const cycles: CycleEnd[] = [...(carried?.cycles ?? [])]
  const failed: string[] = [...(carried?.failed ?? [])]
  const timeline = openTimeline()
  answerState((): TimerResult & Timeline => ({ cycles: [...cycles], ...timeline.read() }))
  const through = previousCycle(billingCycle, cycleAt(billingCycle, scheduledAt())).key
  const left = [...(carried?.left ?? (await short.listMissed({ tenantId, billingCycle, through })))]
  for (let cycle = left.shift(); cycle !== undefined; cycle = left.shift()) {
    showState(cycle)
    const workflowId = await short.startMonthEnd({ tenantId, cycleKey: cycle })
    const why = left.length === 0 ? 'it is the last' : `${left.length} more cycle(s) come after it`
    timeline.waits({ what: workflowId, until: null, why })
    const status = await waiting.awaitWorkflow({ tenantId, workflowId, waits: WAITS })
    timeline.done(cycle, status)
    cycles.push({ cycle, status })
    if (cycles.length > MOST_CYCLES) cycles.shift()
    if (status !== 'completed') failed.push(cycle)
    if (left.length > 0 && workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof monthEndTimer>({ tenantId, billingCycle, carried: { left, cycles, failed } })
    }
  }
  timeline.waits(null)
  if (failed.length > 0) {
    const message = `the month end of ${failed.join(', ')} did not complete: look at its workflow and start it again`
    throw ApplicationFailure.nonRetryable(message, 'month_end_failed', { cycles })
  }
  return { cycles }
}

/**
 * Started by a tenant's Schedule when a billing cycle ends. Makes the service start the month end of each cycle that
 * ended and is not closed, under its fixed id. Waits for each before the next.
 *
 * The Schedule runs one timer at a time, and the others wait. So cycles missed in a downtime are made up in order.
 * Cycles that a paused Schedule has skipped come first, even those that were never opened.
 */

import { ApplicationFailure, continueAsNew, sleep, workflowInfo } from '@temporalio/workflow'
import { counted } from '../domain/quantity.ts'
import { monthEndId } from '../domain/temporal/ids.ts'
import type { MonthEndTimerCarried, MonthEndTimerInput } from '../domain/temporal/month-end-reprovision.ts'
import type { Timeline } from '../domain/temporal/timeline.ts'
import { backoffMs } from '../domain/time/backoff.ts'
import { cycleAt, previousCycle } from '../domain/time/cycle.ts'
import { short } from './run/activities.ts'
import { answerState, openTimeline, showState } from './run/timeline.ts'

export interface TimerResult {
  /** How the month end of each cycle ended, in the order they ran: the last 100. */
  readonly cycles: readonly CycleEnd[]
}
type CycleEnd = MonthEndTimerCarried['cycles'][number]

/** Pauses between two looks at a month end, in milliseconds. It waits hours for its close. */
const LOOKS = { firstMs: 1000, longestMs: 300_000 }
const MOST_CYCLES = 100

/** The instant that the Schedule meant, in epoch milliseconds: now, if the timer was started by hand. */
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
  let begun = carried?.begun === true
  for (let cycle = left.shift(); cycle !== undefined; cycle = left.shift()) {
    showState(cycle)
    const workflowId = begun ? monthEndId(tenantId, cycle) : await short.startMonthEnd({ tenantId, cycleKey: cycle })
    begun = false
    const why = left.length === 0 ? 'it is the last' : `${counted(left.length, 'more cycle')} to come after it`
    timeline.waits(workflowId, why)
    const status = await endOf({ tenantId, workflowId })
    if (status === null) {
      const still = { left: [cycle, ...left], cycles, failed, begun: true }
      return await continueAsNew<typeof monthEndTimer>({ tenantId, billingCycle, carried: still })
    }
    timeline.done(cycle, status)
    cycles.push({ cycle, status })
    if (cycles.length > MOST_CYCLES) cycles.shift()
    if (status !== 'completed') failed.push(cycle)
    if (left.length > 0 && workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof monthEndTimer>({ tenantId, billingCycle, carried: { left, cycles, failed } })
    }
  }
  timeline.goesOn()
  if (failed.length > 0) {
    const message = `the month end of ${failed.join(', ')} did not complete: look at its workflow and start it again`
    throw ApplicationFailure.nonRetryable(message, 'month_end_failed', { cycles })
  }
  return { cycles }
}

/** Looks at a workflow until it has ended. @returns its final status; null once this run's history is long */
async function endOf(ref: { readonly tenantId: string; readonly workflowId: string }): Promise<string | null> {
  for (let looks = 1; ; looks++) {
    await sleep(backoffMs(looks, LOOKS))
    const status = await short.lookAtWorkflow(ref)
    if (status !== 'running') return status
    if (workflowInfo().continueAsNewSuggested) return null
  }
}

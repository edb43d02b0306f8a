/**
 * What a tenant's Schedule starts when a billing cycle ends: has the service start the month end of
 * the cycle that has just ended, under its fixed id, and waits for it.
 *
 * The Schedule runs one timer at a time and keeps the others waiting, so cycles missed in a downtime are
 * made up in order; cycles that a paused Schedule left unclosed come first.
 */
import { ApplicationFailure, workflowInfo } from '@temporalio/workflow'
import { cycleAt, previousCycle } from '../domain/cycle.ts'
import type { MonthEndTimerInput } from '../domain/lifecycle.ts'
import { short, waiting } from './calls.ts'
import { answerState, showState } from './visibility.ts'

export interface TimerResult {
  /** How the month end of each cycle ended, in the order they ran. */
  readonly cycles: readonly { readonly cycle: string; readonly status: string }[]
}

/** The month end waits hours for its close: a look every half minute is enough. */
const WAITS = { pollMin: 'PT1S', pollMax: 'PT30S' } as const

/** The instant the Schedule meant, which is earlier than now after a downtime; now when started by hand. */
function scheduledAt(): number {
  const pairs = workflowInfo().typedSearchAttributes.getAll()
  const found = pairs.find(({ key }) => key.name === 'TemporalScheduledStartTime')?.value
  return found instanceof Date ? found.getTime() : Date.now()
}

export async function monthEndTimer({ tenantId, billingCycle }: MonthEndTimerInput): Promise<TimerResult> {
  const cycles: { cycle: string; status: string }[] = []
  answerState(() => ({ cycles }))
  const ended = previousCycle(billingCycle, cycleAt(billingCycle, scheduledAt()))
  const unclosed = await short.listUnclosed({ tenantId, by: new Date(ended.endsAt).toISOString() })
  for (const cycleKey of [...unclosed.filter((key) => key !== ended.key), ended.key]) {
    showState(cycleKey, `the month end of cycle ${cycleKey} runs`)
    const workflowId = await short.startMonthEnd({ tenantId, cycleKey })
    const status = await waiting.awaitWorkflow({ tenantId, workflowId, waits: WAITS })
    cycles.push({ cycle: cycleKey, status })
  }
  const failed = cycles.filter(({ status }) => status !== 'completed').map(({ cycle }) => cycle)
  if (failed.length > 0) {
    const message = `the month end of ${failed.join(', ')} did not complete: look at its workflow and start it again`
    throw ApplicationFailure.nonRetryable(message, 'month_end_failed', { cycles })
  }
  return { cycles }
}

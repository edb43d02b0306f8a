/**
 * Ends one tenant's billing cycle and begins the next.
 *
 *   cycle ends ─▶ unassign ─▶ move ─▶ renew ─▶ settle ─▶ closeAfter passes ─▶ close
 *                                                ▲── retryFailedChanges ──┘
 *
 * Begins everything in batches, each a child workflow. Waits for no ticket before all are opened, because SIMs must
 * come back even if the carrier is away. History and memory stay bounded, however large the estate.
 *
 * Safe to run twice: the service stores the begun changes. After a cancel nothing more is begun; open tickets go on.
 */
import { ApplicationFailure, allHandlersFinished, condition, defineUpdate, setHandler } from '@temporalio/workflow'
import type {
  MonthEndInput,
  MonthEndResult,
  MonthEndUpdates,
  RetryFailedResult,
} from '../domain/temporal/month-end-reprovision.ts'
import { begunText } from './month-end-batch.ts'
import { beginRun, enter, type MonthEndRun, stateOf } from './month-end-reprovision/run.ts'
import { awaitBoundary, close, openChanges, renew, settle } from './month-end-reprovision/steps.ts'
import { long, stepKey } from './run/activities.ts'
import { endCancelled, heedingCancel } from './run/cancellation.ts'
import { answerState } from './run/timeline.ts'

export async function monthEndReprovision(input: MonthEndInput): Promise<MonthEndResult> {
  const { run, result } = await heedingCancel(async (cancel) => {
    const run = beginRun(input, cancel)
    answerState(() => stateOf(run))
    takeRetries(run)
    return { run, result: await live(run) }
  })
  run.timeline.goesOn()
  if (result === null) {
    endCancelled(stateOf(run).progress, 'cancelled; what is opened goes on, the rest stays queued')
  }
  enter(run, 'done')
  return result
}

/** @returns null if it was cancelled */
async function live(run: MonthEndRun): Promise<MonthEndResult | null> {
  while (!run.cancel.requested) {
    switch (run.step) {
      case 'waiting':
        await awaitBoundary(run)
        break
      case 'unassign':
      case 'move':
        await openChanges(run, run.step)
        break
      case 'renew':
        await renew(run)
        break
      case 'settle':
        await settle(run)
        break
      case 'close':
      case 'done': {
        const result = await close(run)
        if (result !== null) return result
      }
    }
  }
  await condition(allHandlersFinished)
  return null
}

type RetryUpdate = MonthEndUpdates['retryFailedChanges']

/** Opens tickets again for failed changes. Until the close they take effect at this boundary. */
function takeRetries(run: MonthEndRun): void {
  const retry = async (_: RetryUpdate): Promise<RetryFailedResult> => {
    run.retries += 1
    const step = `retry/${run.retries}`
    const { tenantId, cycleKey } = run.input
    const answer = await long.retryFailedChanges({ tenantId, cycleKey, key: stepKey(step) })
    run.retried ||= answer.opened > 0
    run.timeline.done(step, begunText(answer))
    return answer
  }
  const validator = (_: RetryUpdate) => {
    const refuse = (why: string) => {
      throw ApplicationFailure.nonRetryable(why, 'update_refused')
    }
    const { cycleKey } = run.input
    if (run.step === 'waiting') refuse(`cycle ${cycleKey} has not ended: nothing has failed yet`)
    if (run.cancel.requested) refuse('the month end is being cancelled: start it again')
    if (run.closing) refuse(`cycle ${cycleKey} is being closed: what failed waits for the next month end`)
  }
  setHandler(defineUpdate<RetryFailedResult, [RetryUpdate]>('retryFailedChanges'), retry, { validator })
}

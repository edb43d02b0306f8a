/** Turns a cancel request into a flag that the workflow checks, instead of an error at each wait. */
import { CancellationScope, CancelledFailure, upsertMemo } from '@temporalio/workflow'

export interface Cancel {
  readonly requested: boolean
}

/**
 * Runs a workflow's body shielded from cancellation, and sets `requested` when one is requested.
 *
 * @param body decides when to stop, to finish begun work
 * @param onCancel called when a cancel is requested
 */
export async function heedingCancel<T>(body: (cancel: Cancel) => Promise<T>, onCancel?: () => void): Promise<T> {
  const cancel = { requested: false }
  CancellationScope.current().cancelRequested.catch(() => {
    cancel.requested = true
    onCancel?.()
  })
  return await CancellationScope.nonCancellable(() => body(cancel))
}

/** Ends the workflow as cancelled. Temporal keeps no result of such a run, so the result goes into the memo. */
export function endCancelled(result: object, message: string): never {
  upsertMemo({ result })
  throw new CancelledFailure(message)
}

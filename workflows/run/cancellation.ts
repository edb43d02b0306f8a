/** Turns a cancel request into a flag that the workflow checks, instead of an error at each wait. */
import { CancellationScope, CancelledFailure, upsertMemo } from '@temporalio/workflow'

export interface Cancel {
  readonly requested: boolean
}

/** Runs a body shielded from cancellation, which only sets `requested`: the body decides when to stop. */
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

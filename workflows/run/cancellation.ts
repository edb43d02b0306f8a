/** A cancel request as a fact that the workflow looks at, instead of an error at whatever it waits for. */
import { CancellationScope, CancelledFailure, condition, isCancellation, upsertMemo } from '@temporalio/workflow'

export interface Cancel {
  readonly requested: boolean
}

/**
 * Runs a workflow's body out of reach of cancellation, and tells it when one is asked for.
 *
 * @param body decides itself when to stop, so that what has been begun is ended in order
 */
export async function heedingCancel<T>(body: (cancel: Cancel) => Promise<T>, onCancel?: () => void): Promise<T> {
  const cancel = { requested: false }
  CancellationScope.current().cancelRequested.catch(() => {
    cancel.requested = true
    onCancel?.()
  })
  return await CancellationScope.nonCancellable(() => body(cancel))
}

/** Waits for something that a cancel ends early. @returns null where it has */
export async function unlessCancelled<T>(cancel: Cancel, wait: () => Promise<T>): Promise<T | null> {
  const scope = new CancellationScope()
  let pending = true
  const ended = scope.run(wait).finally(() => {
    pending = false
  })
  // Whatever it ends with is taken below.
  ended.catch(() => {})
  await condition(() => !pending || cancel.requested)
  if (pending) scope.cancel()
  try {
    return await ended
  } catch (error) {
    if (cancel.requested && isCancellation(error)) return null
    throw error
  }
}

/** Ends the workflow as cancelled. Temporal keeps no result of such a run: it goes into the memo. */
export function endCancelled(result: object, message: string): never {
  upsertMemo({ result })
  throw new CancelledFailure(message)
}

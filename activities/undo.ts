/** Activities that undo the suspensions of one rule. */
import { heartbeat } from '@temporalio/activity'
import { idempotent } from '../adapters/rest/client.ts'
import type { SuspensionToUndo, UndoPage, UndoQuery } from '../domain/enforcement/undo.ts'
import { withConcurrency } from '../domain/temporal/with-concurrency.ts'
import { bodyOf, finalRefusal, type ServiceClient } from './client.ts'
import { NOT_RUNNING } from './enforcement.ts'

export interface ResumeInput {
  readonly tenantId: string
  readonly suspensions: readonly SuspensionToUndo[]
  /** Idempotency key of the step; for each SIM, its id is appended. */
  readonly key: string
}
/** Outcomes of the SIMs of a page. A SIM in neither list is handled by its workflow. */
export interface ResumeResult {
  /** Suspended SIMs without a running workflow. */
  readonly orphans: readonly number[]
  readonly failures: readonly { readonly simId: number; readonly code: string; readonly detail: string }[]
}

/** Requests under way at once. A request waits until a worker has handled its update. */
const AT_ONCE = 10

export const undoActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /**
   * Reads a page of the SIMs to bring back, by SIM id. Changes nothing: the list has to reach the history first.
   * Otherwise a worker's death in between would lose the SIMs about to be suspended.
   */
  takeUndoPage({ tenantId, ...query }: UndoQuery & { readonly tenantId: string }): Promise<UndoPage> {
    return bodyOf(clientOf(tenantId).internal.GET('/internal/enforcement/suspensions', { params: { query } }))
  },

  /** Has the watchdog pass the SIMs over, and sends `resume` to the workflow of each. Safe to run twice. */
  async resumeSims({ tenantId, suspensions, key }: ResumeInput): Promise<ResumeResult> {
    const client = clientOf(tenantId)
    const simIds = suspensions.map(({ simId }) => simId)
    await bodyOf(client.internal.POST('/internal/enforcement/pass-over', { body: { simIds } }))
    const orphans: number[] = []
    const failures: { simId: number; code: string; detail: string }[] = []
    await withConcurrency(suspensions, AT_ONCE, async ({ simId, workflowId, suspended }) => {
      heartbeat()
      const refused = await resume(client, workflowId, `${key}/${simId}`)
      if (refused === null) return
      if (!NOT_RUNNING.has(refused.code)) failures.push({ simId, ...refused })
      else if (suspended) orphans.push(simId)
    })
    const byId = (a: { readonly simId: number }, b: { readonly simId: number }) => a.simId - b.simId
    return { orphans: orphans.toSorted((a, b) => a - b), failures: failures.toSorted(byId) }
  },
})

/** Sends the update `resume`. @returns why it is refused for good; null if it is accepted */
async function resume(
  client: ServiceClient,
  workflowId: string,
  key: string,
): Promise<ReturnType<typeof finalRefusal> | null> {
  try {
    const params = { path: { workflowId, name: 'resume' as const }, ...idempotent(key) }
    await bodyOf(client.internal.POST('/internal/workflows/{workflowId}/updates/{name}', { params, body: {} }))
    return null
  } catch (error) {
    return finalRefusal(error)
  }
}

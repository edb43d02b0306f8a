/** Activities of undoing what one rule has suspended. */
import { ApplicationFailure, heartbeat } from '@temporalio/activity'
import { idempotent } from '../client/client.ts'
import type { SuspensionToUndo } from '../domain/enforcement/undo.ts'
import { bodyOf, type ServiceClient } from './client.ts'

export interface UndoPageInput {
  readonly tenantId: string
  readonly rule: string
  readonly since: string
  readonly until: string
  readonly afterSimId: number
  readonly limit: number
}
export interface UndoPageFound {
  readonly suspensions: readonly SuspensionToUndo[]
  readonly total: number
  readonly nextAfterSimId: number | null
}

export interface ResumeInput {
  readonly tenantId: string
  readonly suspensions: readonly SuspensionToUndo[]
  /** Idempotency key of the step; each SIM's has its id appended. */
  readonly key: string
}
/** What became of the SIMs of a page; those that are in neither list are taken care of by their workflows. */
export interface Resumed {
  /** Suspended, and no workflow runs that would bring them back. */
  readonly orphans: readonly number[]
  readonly failures: readonly { readonly simId: number; readonly code: string; readonly detail: string }[]
}

/** Requests under way at once: an update waits for a worker. */
const AT_ONCE = 10

const ENDED: ReadonlySet<string> = new Set(['workflow_not_running', 'workflow_not_found'])

export const undoActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /**
   * One page of what is to be undone, by SIM id; the watchdog leaves them alone from now on. Run again it leaves out those
   * that are not suspended yet: they are refused where they would be, unless their ticket is under way already.
   */
  async takeUndoPage({ tenantId, ...query }: UndoPageInput): Promise<UndoPageFound> {
    const { internal } = clientOf(tenantId)
    const page = await bodyOf(internal.GET('/internal/enforcement/suspensions', { params: { query } }))
    const simIds = page.suspensions.map(({ simId }) => simId)
    if (simIds.length > 0) await bodyOf(internal.POST('/internal/enforcement/pass-over', { body: { simIds } }))
    return page
  },

  /** Asks the workflow of each SIM to bring it back and end. Safe to run twice. */
  async resumeSims({ tenantId, suspensions, key }: ResumeInput): Promise<Resumed> {
    const client = clientOf(tenantId)
    const orphans: number[] = []
    const failures: { simId: number; code: string; detail: string }[] = []
    const rest = suspensions.values()
    const takeNext = async () => {
      for (const { simId, workflowId, suspended } of rest) {
        heartbeat()
        const refused = await resume(client, workflowId, `${key}/${simId}`)
        if (refused === null) continue
        if (!ENDED.has(refused.code)) failures.push({ simId, ...refused })
        else if (suspended) orphans.push(simId)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, takeNext))
    const byId = (a: { readonly simId: number }, b: { readonly simId: number }) => a.simId - b.simId
    return { orphans: orphans.toSorted((a, b) => a - b), failures: failures.toSorted(byId) }
  },
})

/** @returns why it is refused for good; null where it is taken */
async function resume(
  client: ServiceClient,
  workflowId: string,
  key: string,
): Promise<{ readonly code: string; readonly detail: string } | null> {
  try {
    const params = { path: { workflowId, name: 'resume' as const }, ...idempotent(key) }
    await bodyOf(client.internal.POST('/internal/workflows/{workflowId}/updates/{name}', { params, body: {} }))
    return null
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) throw error
    return { code: error.type ?? 'internal_error', detail: error.message }
  }
}

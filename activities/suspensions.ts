/** Activities for the suspension of a workflow: read it, and change its end. */

import type { SuspensionFound } from '../domain/enforcement/suspension-state.ts'
import type { SuspendedUntil } from '../domain/temporal/suspend-on-overage.ts'
import { bodyOf, type ServiceClient, unlessRefused } from './client.ts'
import { STATE_CODES } from './tickets.ts'

interface SimRef {
  readonly tenantId: string
  readonly simId: number
}
interface SuspensionRef extends SimRef {
  readonly workflowId: string
}
/** A run that looks for its suspension, with the cycle and rule that judge the SIM's limit. */
interface SuspensionAsk extends SuspensionRef {
  readonly cycleKey: string
  readonly rule: string | null
}

export const suspensionActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /** Reads the SIM's suspension; null while it has an open ticket. @throws ApplicationFailure `sim_not_found` */
  async lookAtSuspension(ask: SuspensionAsk): Promise<SuspensionFound | null> {
    const { internal } = clientOf(ask.tenantId)
    const query = { cycle: ask.cycleKey, ...(ask.rule === null ? {} : { rule: ask.rule }) }
    const params = { path: { id: ask.simId }, query }
    const { processing, suspension, overLimit } = await bodyOf(
      internal.GET('/internal/sims/{id}/enforcement', { params }),
    )
    if (processing) return null
    return { suspendedBy: whoOf(suspension, ask.workflowId), until: suspension?.until ?? 'manual', overLimit }
  },

  /** Makes enforcement pass the SIM over for the cycle, because a person has acted. Safe to run twice. */
  async passOver({ tenantId, simId, cycleKey: cycle }: SimRef & { readonly cycleKey: string }): Promise<void> {
    const { internal } = clientOf(tenantId)
    await bodyOf(internal.POST('/internal/enforcement/pass-over', { body: { simIds: [simId], cycle } }))
  },

  /** Changes how long a suspension lasts. Safe to run twice. @returns false if it is no longer that workflow's */
  async setSuspensionUntil(ask: SuspensionRef & { readonly until: SuspendedUntil }): Promise<boolean> {
    const { tenantId, simId, ...body } = ask
    const params = { path: { id: simId } }
    const set = bodyOf(clientOf(tenantId).internal.PATCH('/internal/sims/{id}/suspension', { params, body }))
    return (await unlessRefused(STATE_CODES, set)) !== undefined
  },
})

function whoOf(
  suspension: { readonly cause: 'user' | 'watchdog'; readonly workflowId: string | null } | null,
  workflowId: string,
): SuspensionFound['suspendedBy'] {
  if (suspension === null) return 'nobody'
  if (suspension.cause === 'user') return 'a person'
  return suspension.workflowId === workflowId ? 'this' : 'another workflow'
}

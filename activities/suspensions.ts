/** Activities for the suspension of a workflow: read it, and change its end. */

import type { SuspendedUntil } from '../domain/temporal/suspend-on-overage.ts'
import type { SuspensionFound } from '../domain/enforcement/suspension-state.ts'
import { bodyOf, type ServiceClient } from './client.ts'
import { isStateConflict } from './tickets.ts'

export interface SuspensionRef {
  readonly tenantId: string
  readonly simId: number
  readonly workflowId: string
}

export interface PassOverInput {
  readonly tenantId: string
  readonly simId: number
  readonly cycleKey: string
}

/** A run that looks for its suspension, with the cycle and rule that judge the SIM's limit. */
export type SuspensionAsk = SuspensionRef & { readonly cycleKey: string; readonly rule: string | null }

export const suspensionActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /**
   * Reads the SIM's present suspension.
   *
   * @returns null while the SIM has an open ticket
   * @throws ApplicationFailure `sim_not_found`, not retried
   */
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
  async passOver({ tenantId, simId, cycleKey: cycle }: PassOverInput): Promise<void> {
    const { internal } = clientOf(tenantId)
    await bodyOf(internal.POST('/internal/enforcement/pass-over', { body: { simIds: [simId], cycle } }))
  },

  /**
   * Changes how long the SIM stays suspended. Safe to run twice.
   *
   * @returns false if the SIM is no longer suspended by that workflow
   */
  async setSuspensionUntil(ask: SuspensionRef & { readonly until: SuspendedUntil }): Promise<boolean> {
    const { internal } = clientOf(ask.tenantId)
    const { until, workflowId } = ask
    try {
      const params = { path: { id: ask.simId } }
      await bodyOf(internal.PATCH('/internal/sims/{id}/suspension', { params, body: { until, workflowId } }))
      return true
    } catch (error) {
      if (isStateConflict(error)) return false
      throw error
    }
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

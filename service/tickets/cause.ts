/** The author of a ticket, and the reason: a workflow if the request comes from one, else a person. */

import { ServiceError } from '../../domain/errors.ts'
import { workflowTypeOf } from '../../domain/temporal/ids.ts'
import type { Cause } from '../../domain/tickets/ticket.ts'
import { ticketIdOfStep } from '../../domain/tickets/ticket-id-of-step.ts'
import { suspensionStarted } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'

/**
 * The author and reason of a ticket, and the ticket id derived from a workflow's step. A null id leaves it open.
 *
 * @throws ServiceError `invalid_request` for a suspension not started by the service
 */
export async function askedBy(tx: TenantTx): Promise<{ readonly cause: Cause; readonly id: string | null }> {
  return { cause: await causeOfCaller(tx), id: stepTicketId(tx) }
}

/**
 * The id of the ticket that the caller's step asks for. A repeated step gets the same id.
 *
 * @param simId given if the step asks for a ticket on each of many SIMs
 * @returns UUID; null if the caller is no workflow, or the request has no idempotency key
 */
export function stepTicketId({ tenantId, caller }: TenantTx, simId?: number): string | null {
  if (caller === null || caller.workflowId === null || caller.idempotencyKey === undefined) return null
  return ticketIdOfStep(tenantId, simId === undefined ? caller.idempotencyKey : `${caller.idempotencyKey}/sim/${simId}`)
}

/**
 * The cause of a ticket, from its caller. For a suspension the rule, the cycle and `until` are those that its workflow
 * was started with.
 *
 * @throws ServiceError `invalid_request` for a suspension that the service has not started
 */
async function causeOfCaller(tx: TenantTx): Promise<Cause> {
  const workflowId = tx.caller?.workflowId ?? null
  if (workflowId === null) return { by: 'user' }
  if (workflowTypeOf(workflowId) !== 'suspend-on-overage') return { by: 'workflow', workflowId }
  const started = await suspensionStarted(tx, workflowId)
  if (started !== undefined) return { by: 'watchdog', ...started, workflowId }
  throw wrongWorkflow(workflowId, 'a suspension that was started')
}

/** The error for a workflow that may not make this request: `invalid_request`. */
export function wrongWorkflow(workflowId: string, expected: string): ServiceError {
  const detail = `got ${workflowId}; expected ${expected}`
  return new ServiceError('invalid_request', `Simherd-Workflow: ${detail}`, {
    errors: [{ parameter: 'Simherd-Workflow', detail }],
  })
}

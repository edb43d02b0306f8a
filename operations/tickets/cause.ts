/** Who asks for a ticket, and why: a workflow, where the request comes from one, or a person. */

import { ServiceError } from '../../domain/errors.ts'
import { workflowTypeOf } from '../../domain/temporal/ids.ts'
import { ticketIdOfStep } from '../../domain/tickets/id.ts'
import type { Cause } from '../../domain/tickets/ticket.ts'
import { suspensionStarted } from '../../store/outbox.ts'
import type { TenantTx } from '../../store/tenancy.ts'

/** Who asks for a ticket and why, and the id that follows from the step of a workflow; null: any. */
export async function askedBy(tx: TenantTx): Promise<{ readonly cause: Cause; readonly id: string | null }> {
  return { cause: await causeOfCaller(tx), id: stepTicketId(tx) }
}

/**
 * Id of the ticket that the caller's step asks for.
 *
 * @param simId where the step asks for a ticket on each of many SIMs
 * @returns null where no workflow asks, or for no step
 */
export function stepTicketId({ tenantId, caller }: TenantTx, simId?: number): string | null {
  if (caller === null || caller.workflowId === null || caller.idempotencyKey === undefined) return null
  return ticketIdOfStep(tenantId, simId === undefined ? caller.idempotencyKey : `${caller.idempotencyKey}/sim/${simId}`)
}

/**
 * The cause of a ticket, by its caller. A suspension's rule, cycle and end are those it was started with.
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

/** A workflow that cannot be who asks. */
export function wrongWorkflow(workflowId: string, expected: string): ServiceError {
  const detail = `got ${workflowId}; expected ${expected}`
  return new ServiceError('invalid_request', `Simherd-Workflow: ${detail}`, {
    errors: [{ parameter: 'Simherd-Workflow', detail }],
  })
}

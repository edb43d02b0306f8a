/** Activities for tickets: open one, cancel it, read it. */
import { ApplicationFailure } from '@temporalio/activity'
import { idempotent } from '../adapters/rest/client.ts'
import { SimStatus, TicketStatus } from '../domain/codes.ts'
import { COMPLETE, cancelledEnd, type TicketEnd } from '../domain/temporal/ticket-ends.ts'
import type { Cause } from '../domain/tickets/ticket.ts'
import { ticketIdOfStep } from '../domain/tickets/ticket-id-of-step.ts'
import { bodyOf, type ServiceClient, unlessRefused } from './client.ts'

export interface TicketInput {
  readonly tenantId: string
  readonly kind: 'provision' | 'activate' | 'suspend' | 'unassign'
  readonly simId: number
  /** Idempotency key of the step. */
  readonly key: string
  readonly poolId?: number
  readonly tariffId?: number
  /** The requester, for readers of the history. The service uses the calling workflow's id. */
  readonly cause?: Cause
  /** The boundary at which the change takes effect, ISO 8601. */
  readonly effectiveAt?: string
}

export interface TicketRef {
  readonly tenantId: string
  readonly ticketId: string
}

/** Codes of tickets refused by the SIM's state: it is in the target state already, or in a wrong one. */
export const STATE_CODES: ReadonlySet<string> = new Set(['sim_state_conflict', 'sim_already_assigned'])

/** Requests a ticket, at an internal endpoint if the specification has none. @throws ApplicationFailure if refused */
export function postTicket(client: ServiceClient, ask: TicketInput): Promise<{ readonly id: string }> {
  const { kind, simId, poolId, tariffId, effectiveAt } = ask
  const params = idempotent(ask.key)
  const target = { ...(poolId === undefined ? {} : { poolId }), ...(tariffId === undefined ? {} : { tariffId }) }
  switch (kind) {
    case 'provision':
      return bodyOf(client.api.POST('/api/tickets/provision', { params, body: { simId, ...target } }))
    case 'activate':
      return effectiveAt === undefined
        ? bodyOf(client.api.POST('/api/tickets/activate', { params, body: { simId } }))
        : bodyOf(client.internal.POST('/internal/tickets/activate', { params, body: { simId, effectiveAt } }))
    case 'suspend':
      return bodyOf(client.api.POST('/api/tickets/suspend', { params, body: { simId } }))
    case 'unassign':
      return bodyOf(client.internal.POST('/internal/tickets/unassign', { params, body: { simId } }))
  }
}

const TARGET = {
  activate: SimStatus.Active,
  suspend: SimStatus.Suspended,
  unassign: SimStatus.Unprovisioned,
} as const

/** Whether the SIM has no open ticket and is already in the ticket's target state. */
async function isAlreadySo(client: ServiceClient, ask: TicketInput): Promise<boolean> {
  const params = { path: { idOrIccid: String(ask.simId) } }
  const sim = await bodyOf(client.api.GET('/api/sims/{idOrIccid}', { params }))
  if (sim.processingTicket) return false
  const { kind, poolId = sim.poolId, tariffId = sim.tariffId } = ask
  if (kind !== 'provision') return sim.status === TARGET[kind]
  return sim.status !== SimStatus.Unprovisioned && sim.poolId === poolId && sim.tariffId === tariffId
}

/** Reads the end of a ticket with a final status; null while the ticket is open. */
async function endOf(client: ServiceClient, id: string, status: TicketStatus): Promise<TicketEnd | null> {
  switch (status) {
    case TicketStatus.Pending:
    case TicketStatus.Processing:
      return null
    case TicketStatus.Complete:
      return COMPLETE
    case TicketStatus.Cancelled:
      return cancelledEnd(id)
    case TicketStatus.Failed: {
      const detail = await bodyOf(client.internal.GET('/internal/tickets/{id}', { params: { path: { id } } }))
      return {
        status: 'failed',
        code: detail.failureCode ?? 'ticket_failed',
        detail: detail.failureText ?? `ticket ${id} failed after ${detail.attempts} attempts`,
      }
    }
  }
}

/** Finds the ticket of a step, opened by an earlier attempt or before a reset. @returns undefined if there is none */
export async function ticketOfStep(
  client: ServiceClient,
  { tenantId, key }: Pick<TicketInput, 'tenantId' | 'key'>,
): Promise<string | undefined> {
  const params = { path: { id: ticketIdOfStep(tenantId, key) } }
  const ticket = bodyOf(client.api.GET('/api/tickets/{id}', { params }))
  return (await unlessRefused(new Set(['ticket_not_found']), ticket))?.id
}

/**
 * Opens a ticket. Safe to run twice, however late: the step has one ticket; its id follows from the step's key.
 *
 * @returns the ticket's id; null if the SIM is already in the ticket's target state
 * @throws ApplicationFailure `sim_state_conflict`, `sim_already_assigned` and others; these are not retried
 */
export async function openTicket(
  client: ServiceClient,
  ask: TicketInput,
): Promise<{ readonly ticketId: string | null }> {
  try {
    return { ticketId: (await postTicket(client, ask)).id }
  } catch (error) {
    const isConflict = error instanceof ApplicationFailure && STATE_CODES.has(error.type ?? '')
    if (isConflict && (await isAlreadySo(client, ask))) return { ticketId: null }
    throw error
  }
}

/** Cancels a Pending ticket. Safe to run twice. @returns false if another has ended it, or it is no longer Pending */
export async function cancelTicket(client: ServiceClient, id: string): Promise<boolean> {
  const cancelled = bodyOf(client.api.DELETE('/api/tickets/{id}', { params: { path: { id } } }))
  return (await unlessRefused(new Set(['ticket_not_pending']), cancelled)) !== undefined
}

export const ticketActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  openTicket: (ask: TicketInput) => openTicket(clientOf(ask.tenantId), ask),

  /** @returns whether this workflow has cancelled the ticket; see {@link cancelTicket} */
  cancelTicket: ({ tenantId, ticketId }: TicketRef) => cancelTicket(clientOf(tenantId), ticketId),

  /** Reads a ticket once. @returns how it ended; null while it is open */
  async lookAtTicket({ tenantId, ticketId: id }: TicketRef): Promise<TicketEnd | null> {
    const client = clientOf(tenantId)
    const { status } = await bodyOf(client.api.GET('/api/tickets/{id}', { params: { path: { id } } }))
    return await endOf(client, id, status)
  },
})

/** Opening and cancelling tickets. One transaction each; executing them is execute-tickets.ts. */
import { TariffType, TicketStatus, type TicketType } from '../domain/codes.ts'
import { type ErrorCode, ServiceError } from '../domain/errors.ts'
import type { Cause, Ticket } from '../domain/ticket.ts'
import { type Ask, type Line, lineAfter, mayOpen } from '../domain/ticket-decisions.ts'
import { noteChange } from '../store/audit.ts'
import { lockLine } from '../store/lines.ts'
import { holdPool } from '../store/pools.ts'
import { findTariff } from '../store/tariffs.ts'
import type { TenantTx } from '../store/tenancy.ts'
import { endTicket, findTicket, insertTicket, openTickets, toTicket } from '../store/tickets.ts'
import { tellTicketsCancelled } from './tell-ticket.ts'

export interface OpenTicketRequest {
  readonly simId: number
  readonly type: TicketType
  readonly poolId?: number | null
  readonly tariffId?: number | null
  readonly unassign?: boolean
  readonly tag?: string | null
  readonly message?: string | null
  readonly cause: Cause
  /** Takes effect at this instant, whenever the ticket completes: changes at a cycle's boundary. */
  readonly effectiveAt?: Date | null
}

/**
 * Opens a ticket on a SIM: Pending, behind the SIM's other open tickets.
 *
 * Judged against the state the SIM will have after the tickets before it.
 *
 * @returns the ticket's id (UUID)
 * @throws ServiceError `sim_not_found`, `pool_not_found`, `tariff_not_found`, `sim_already_assigned`,
 *   `sim_state_conflict`, `tariff_inactive`, `tariff_needs_pool`
 */
export async function openTicket(tx: TenantTx, request: OpenTicketRequest): Promise<string> {
  const line = await lockLine(tx, request.simId)
  if (line === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${request.simId}.`)
  const ask = {
    type: request.type,
    poolId: request.poolId ?? null,
    tariffId: request.tariffId ?? null,
    unassign: request.unassign ?? false,
    cause: request.cause,
  }
  const before = await openTickets(tx, request.simId)
  const conflict = conflictOf(line, before, ask)
  if (conflict !== undefined) throw new ServiceError(conflict.code, conflict.detail)
  if (ask.poolId !== null || ask.tariffId !== null) {
    await checkAssignment(tx, lineAfter(before.reduce(lineAfter, line), ask), ask.tariffId)
  }
  const { simId, tag = null, message = null, effectiveAt = null } = request
  const id = await insertTicket(tx, { ...ask, simId, tag, message, effectiveAt })
  const { type, poolId, tariffId, unassign } = ask
  await noteChange(tx, {
    subject: 'ticket',
    id,
    before: null,
    after: { simId, type, poolId, tariffId, unassign, tag, effectiveAt },
  })
  return id
}

/** Why a ticket may not be opened on a SIM behind these open tickets, in words that name the SIM. */
export function conflictOf(
  line: Line & { readonly simId: number },
  before: readonly Ask[],
  ask: Ask,
): { readonly code: ErrorCode; readonly detail: string } | undefined {
  const conflict = mayOpen(line, before, ask)
  return conflict && { ...conflict, detail: `SIM ${line.simId}: ${conflict.detail}${waitingFor(before.length)}.` }
}

const waitingFor = (count: number) => (count === 0 ? '' : `, after the ${count} open ticket(s) before this one`)

/**
 * Whether a SIM may belong to this pool with this own tariff. The pool is not deleted until the transaction ends.
 *
 * @param newTariffId the tariff to assign; null where the SIM keeps its own: it may have become inactive since
 */
export async function checkAssignment(
  tx: TenantTx,
  after: Pick<Line, 'poolId' | 'tariffId'>,
  newTariffId: number | null,
): Promise<void> {
  if (after.poolId !== null && !(await holdPool(tx, after.poolId))) {
    throw new ServiceError('pool_not_found', `There is no pool ${after.poolId}.`)
  }
  if (newTariffId === null) return
  const tariff = await findTariff(tx, newTariffId)
  if (tariff === undefined) throw new ServiceError('tariff_not_found', `There is no tariff ${newTariffId}.`)
  if (!tariff.isActive) {
    throw new ServiceError('tariff_inactive', `Tariff ${newTariffId} (${tariff.displayName}) takes no new assignments.`)
  }
  if (after.poolId === null && tariff.type !== TariffType.Standard) {
    throw new ServiceError(
      'tariff_needs_pool',
      `Tariff ${newTariffId} (${tariff.displayName}) is for pools; a SIM outside a pool takes a Standard tariff.`,
    )
  }
}

/**
 * Cancels a ticket that is still Pending; an event says so.
 *
 * @returns the ticket, Cancelled
 * @throws ServiceError `ticket_not_found`, `ticket_not_pending`
 */
export async function cancelTicket(tx: TenantTx, id: string): Promise<Ticket> {
  const seen = await findTicket(tx, id)
  if (seen === undefined) throw new ServiceError('ticket_not_found', `There is no ticket ${id}.`)
  await lockLine(tx, seen.simId)
  const ticket = await findTicket(tx, id)
  if (ticket?.status !== TicketStatus.Pending) {
    throw new ServiceError('ticket_not_pending', `Ticket ${id} cannot be cancelled any more: only a pending one can.`)
  }
  await endTicket(tx, ticket, TicketStatus.Cancelled, null)
  await tellTicketsCancelled(tx, [ticket])
  const status = { before: { status: ticket.status }, after: { status: TicketStatus.Cancelled } }
  await noteChange(tx, { subject: 'ticket', id, ...status })
  return toTicket({ ...ticket, status: TicketStatus.Cancelled })
}

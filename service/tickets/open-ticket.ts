/** Opens and cancels tickets, each in the caller's transaction. execute-tickets.ts executes them. */
import { randomUUID } from 'node:crypto'
import { TicketStatus, type TicketType } from '../../domain/codes.ts'
import { type ErrorCode, ServiceError } from '../../domain/errors.ts'
import { mayOpen, type SimState, stateAfter, type TicketRequest } from '../../domain/tickets/decisions.ts'
import type { Cause, Ticket } from '../../domain/tickets/ticket.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockPoolTariff } from '../pools/rows/pools.ts'
import { type AssignmentPlace, assignmentConflict, placeConflict } from '../sims/assignment-conflict.ts'
import { lockSim } from '../sims/rows/sim-state.ts'
import { findTariff } from '../tariffs/rows/tariffs.ts'
import { endTickets } from './end-tickets.ts'
import { findTicket, insertTicket, openTickets, type TicketRecord, toTicket } from './rows/tickets.ts'
import { mustFitQuota, type TicketQuota } from './ticket-quota.ts'

export interface OpenTicketRequest {
  /** UUID that follows from the caller's step. A repeated request with it returns the same ticket. */
  readonly id?: string | null
  readonly simId: number
  readonly type: TicketType
  readonly poolId?: number | null
  readonly tariffId?: number | null
  readonly unassign?: boolean
  readonly tag?: string | null
  readonly message?: string | null
  readonly cause: Cause
  /** The instant at which the ticket takes effect, whenever it completes. Used for changes at a cycle's boundary. */
  readonly effectiveAt?: Date | null
}

/**
 * Opens a ticket on a SIM: Pending, behind the SIM's other open tickets.
 *
 * It is checked against the state that the SIM will have after those tickets. Idempotent per `request.id`.
 *
 * @param quota how many tickets persons may have open; no limit if left out
 * @returns the ticket's id (UUID)
 * @throws ServiceError `sim_not_found`, `pool_not_found`, `tariff_not_found`, `sim_already_assigned`,
 *   `idempotency_key_reused`, `sim_state_conflict`, `quota_exceeded`, `tariff_inactive`, `tariff_needs_pool`,
 *   `tariff_has_no_effect`
 */
export async function openTicket(tx: TenantTx, request: OpenTicketRequest, quota?: TicketQuota): Promise<string> {
  const sim = await lockSim(tx, request.simId)
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${request.simId}.`)
  const known = request.id == null ? undefined : await findTicket(tx, request.id)
  if (known !== undefined) return askedBefore(known, request)
  const ask = {
    type: request.type,
    poolId: request.poolId ?? null,
    tariffId: request.tariffId ?? null,
    unassign: request.unassign ?? false,
    cause: request.cause,
  }
  const before = await openTickets(tx, request.simId)
  const conflict = conflictOf(sim, before, ask)
  if (conflict !== undefined) throw new ServiceError(conflict.code, conflict.detail)
  if (quota !== undefined && ask.cause.by === 'user') await mustFitQuota(tx, quota, request, before)
  if (ask.poolId !== null || ask.tariffId !== null) {
    const after = stateAfter(before.reduce(stateAfter, sim), ask)
    await (ask.cause.by === 'month-end' ? checkPlace : checkAssignment)(tx, after, ask.tariffId)
  }
  const { simId, tag = null, message = null, effectiveAt = null } = request
  const id = await insertTicket(tx, { ...ask, id: request.id ?? randomUUID(), simId, tag, message, effectiveAt })
  const { type, poolId, tariffId, unassign } = ask
  await noteChange(tx, {
    subject: 'ticket',
    id,
    before: null,
    after: { simId, type, poolId, tariffId, unassign, tag, effectiveAt },
  })
  return id
}

/** The ticket that this step opened before, regardless of later changes to it and to the SIM. */
function askedBefore({ id, simId, type, unassign }: TicketRecord, request: OpenTicketRequest): string {
  if (simId === request.simId && type === request.type && unassign === (request.unassign ?? false)) return id
  const detail = `Ticket ${id} of SIM ${simId} is this step's: another ticket takes a key of its own.`
  throw new ServiceError('idempotency_key_reused', detail)
}

/** Why something is not possible: the error code for the caller, and the reason in words. */
export interface TicketConflict {
  readonly code: ErrorCode
  readonly detail: string
}

/** Why a ticket may not be opened on a SIM behind these open tickets; undefined if it may. The text names the SIM. */
export function conflictOf(
  sim: SimState & { readonly simId: number },
  before: readonly TicketRequest[],
  ask: TicketRequest,
): TicketConflict | undefined {
  const conflict = mayOpen(sim, before, ask)
  return conflict && { ...conflict, detail: `SIM ${sim.simId}: ${conflict.detail}${waitingFor(before.length)}.` }
}

const waitingFor = (count: number) => (count === 0 ? '' : `, after the ${count} open ticket(s) before this one`)

/**
 * Checks whether a caller may request this pool and own tariff for a SIM. Locks the pool, so that it is not deleted
 * until the transaction ends.
 *
 * @param newTariffId the tariff to assign; null if the SIM keeps its own, which may have become inactive since
 * @throws ServiceError `pool_not_found`, `tariff_not_found`, `tariff_inactive`, `tariff_needs_pool`,
 *   `tariff_has_no_effect`
 */
export const checkAssignment = (tx: TenantTx, after: AssignmentPlace, newTariffId: number | null): Promise<void> =>
  check(tx, after, newTariffId, assignmentConflict)

/**
 * Like {@link checkAssignment}, for a change that was requested earlier. A tariff without effect is not refused.
 *
 * @throws ServiceError `pool_not_found`, `tariff_not_found`, `tariff_inactive`, `tariff_needs_pool`
 */
export const checkPlace = (tx: TenantTx, after: AssignmentPlace, newTariffId: number | null): Promise<void> =>
  check(tx, after, newTariffId, placeConflict)

async function check(
  tx: TenantTx,
  after: AssignmentPlace,
  newTariffId: number | null,
  why: typeof placeConflict,
): Promise<void> {
  const pool = after.poolId === null ? null : await lockPoolTariff(tx, after.poolId)
  const tariff = newTariffId === null ? undefined : await findTariff(tx, newTariffId)
  const conflict = why(after, newTariffId, { pool, tariff })
  if (conflict !== undefined) throw new ServiceError(conflict.code, conflict.detail)
}

/**
 * Cancels a Pending ticket, and records an event. If the calling workflow has cancelled it before, returns it again.
 *
 * @returns the ticket, Cancelled
 * @throws ServiceError `ticket_not_found`, `ticket_not_pending`
 */
export async function cancelTicket(tx: TenantTx, id: string): Promise<Ticket> {
  const seen = await findTicket(tx, id)
  if (seen === undefined) throw new ServiceError('ticket_not_found', `There is no ticket ${id}.`)
  await lockSim(tx, seen.simId)
  const ticket = await findTicket(tx, id)
  if (ticket !== undefined && wasWithdrawn(tx, ticket)) return toTicket(ticket)
  if (ticket?.status !== TicketStatus.Pending) {
    throw new ServiceError('ticket_not_pending', `Ticket ${id} cannot be cancelled any more: only a pending one can.`)
  }
  await endTickets(tx, [{ ticket, failure: null, isCancelled: true }])
  const status = { before: { status: ticket.status }, after: { status: TicketStatus.Cancelled } }
  await noteChange(tx, { subject: 'ticket', id, ...status })
  return toTicket({ ...ticket, status: TicketStatus.Cancelled })
}

/** Whether the calling workflow has cancelled this ticket before. */
const wasWithdrawn = ({ caller }: TenantTx, { withdrawnBy }: TicketRecord): boolean =>
  withdrawnBy !== null && withdrawnBy === caller?.workflowId

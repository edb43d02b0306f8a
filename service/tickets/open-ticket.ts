/** Opens and cancels tickets, each in the caller's transaction. execute-tickets.ts executes them. */

import { randomUUID } from 'node:crypto'
import { SimStatus, TicketStatus, TicketType } from '../../domain/codes.ts'
import { type ErrorCode, ServiceError } from '../../domain/errors.ts'
import { counted } from '../../domain/quantity.ts'
import { mayOpen, type SimState, stateAfter, type TicketRequest } from '../../domain/tickets/decisions.ts'
import type { Cause, Ticket } from '../../domain/tickets/ticket.ts'
import { noteChange } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockPoolTariff } from '../pools/rows/pools.ts'
import { type AssignmentPlace, assignmentConflict, placeConflict } from '../sims/assignment-conflict.ts'
import { lockSim } from '../sims/rows/sim-state.ts'
import { findTariff } from '../tariffs/rows/tariffs.ts'
import { endTickets } from './end-tickets.ts'
import { countedTickets, findTicket, insertTickets, openTickets, type TicketRecord, toTicket } from './rows/tickets.ts'

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
  mustBePossible(conflictOf(sim, before, ask))
  if (quota !== undefined && ask.cause.by === 'user') await mustFitQuota(tx, quota, request, before)
  if (ask.poolId !== null || ask.tariffId !== null) {
    const after = stateAfter(before.reduce(stateAfter, sim), ask)
    const refuse = ask.cause.by === 'month-end' ? placeRefusal : assignmentRefusal
    mustBePossible(await refuse(tx, after, ask.tariffId))
  }
  const { simId, tag = null, message = null, effectiveAt = null } = request
  const id = request.id ?? randomUUID()
  await insertTickets(tx, [{ id, simId }], { ...ask, tag, message, effectiveAt, bulkId: null })
  const { cause: _, ...asked } = ask
  await noteChange(tx, { subject: 'ticket', id, before: null, after: { simId, ...asked, tag, effectiveAt } })
  return id
}

/**
 * How many tickets may be open: Pending or Processing. All tenants share the carrier, and one must not use all of it.
 *
 * Only tickets that persons ask for count. The watchdog, workflows and month ends open one at a time on a SIM, and must
 * not wait behind a tenant's flood. Bulk runs belong to the operator.
 */
export interface TicketQuota {
  readonly perSim: number
  /** How many of a SIM's open tickets may be SMS. */
  readonly smsPerSim: number
  readonly perTenant: number
}

/**
 * Checks that one more ticket is within the quotas. Call with the SIM locked: then the quota of the SIM is exact. The
 * quota of the tenant is not: concurrent requests may exceed it by their number.
 *
 * @param before the SIM's open tickets
 * @throws ServiceError `quota_exceeded`
 */
async function mustFitQuota(
  tx: TenantTx,
  quota: TicketQuota,
  { simId, type }: { readonly simId: number; readonly type: TicketType },
  before: readonly TicketRecord[],
): Promise<void> {
  const counted = before.filter(({ counts }) => counts)
  const sms = counted.filter((ticket) => ticket.type === TicketType['Send SMS'])
  if (type === TicketType['Send SMS'] && sms.length >= quota.smsPerSim) {
    throw exceeded(`SIM ${simId} has ${sms.length} open SMS tickets, and ${quota.smsPerSim} is the quota of a SIM`, ONE)
  }
  if (counted.length >= quota.perSim) {
    throw exceeded(`SIM ${simId} has ${counted.length} open tickets, and ${quota.perSim} is the quota of a SIM`, ONE)
  }
  const open = await countedTickets(tx, quota.perTenant)
  if (open < quota.perTenant) return
  throw exceeded(`This tenant has ${open} open tickets, and ${quota.perTenant} is the quota of a tenant`, SOME)
}

const ONE = 'when one has ended, or cancel one'
const SOME = 'when some have ended, or cancel some'
const exceeded = (what: string, when: string) => new ServiceError('quota_exceeded', `${what}. Try again ${when}.`)

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

const waitingFor = (count: number) => (count === 0 ? '' : `, after ${counted(count, 'open ticket')} before this one`)

/**
 * Why a SIM cannot be made Active in a pool and tariff; undefined if it can. A provisioned SIM must be there already,
 * and must not be suspended by a person. Does not check the pool and the tariff themselves. Pure.
 */
export function activationConflict(
  sim: SimState & { readonly simId: number },
  asked: Pick<SimState, 'poolId' | 'tariffId'>,
): TicketConflict | undefined {
  if (sim.status === SimStatus.Unprovisioned) return undefined
  if (sim.poolId !== asked.poolId || sim.tariffId !== asked.tariffId) {
    const there = `pool ${sim.poolId ?? 'none'}, tariff ${sim.tariffId ?? 'none'}`
    return { code: 'sim_already_assigned', detail: `SIM ${sim.simId} is provisioned elsewhere: ${there}.` }
  }
  if (sim.suspendedBy === null) return undefined
  return { code: 'sim_state_conflict', detail: `SIM ${sim.simId} was suspended by the ${sim.suspendedBy}.` }
}

/**
 * Why a caller may not request this pool and own tariff for a SIM; undefined if it may. Locks the pool, so that it is not
 * deleted until the transaction ends.
 *
 * @param newTariffId the tariff to assign; null if the SIM keeps its own, which may have become inactive since
 */
export const assignmentRefusal = (
  tx: TenantTx,
  after: AssignmentPlace,
  newTariffId: number | null,
): Promise<TicketConflict | undefined> => refusal(tx, after, newTariffId, assignmentConflict)

/** Like {@link assignmentRefusal}, for a change that was requested earlier. A tariff without effect is not refused. */
export const placeRefusal = (
  tx: TenantTx,
  after: AssignmentPlace,
  newTariffId: number | null,
): Promise<TicketConflict | undefined> => refusal(tx, after, newTariffId, placeConflict)

async function refusal(
  tx: TenantTx,
  after: AssignmentPlace,
  newTariffId: number | null,
  why: typeof placeConflict,
): Promise<TicketConflict | undefined> {
  const pool = after.poolId === null ? null : await lockPoolTariff(tx, after.poolId)
  const tariff = newTariffId === null ? undefined : await findTariff(tx, newTariffId)
  return why(after, newTariffId, { pool, tariff })
}

/**
 * As {@link assignmentRefusal}.
 *
 * @throws ServiceError `pool_not_found`, `tariff_not_found`, `tariff_inactive`, `tariff_needs_pool`,
 *   `tariff_has_no_effect`
 */
export async function checkAssignment(tx: TenantTx, after: AssignmentPlace, newTariffId: number | null): Promise<void> {
  mustBePossible(await assignmentRefusal(tx, after, newTariffId))
}

/** @throws ServiceError with the code of the conflict, if there is one */
export function mustBePossible(conflict: TicketConflict | undefined): void {
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

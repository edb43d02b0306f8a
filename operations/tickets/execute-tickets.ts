/**
 * Executes the tickets of a SIM, one at a time and the oldest first, until none is due.
 *
 *   claim (commit Processing with a lease) → send the carrier a request with the ticket's id → commit the end → next
 *
 * Safe to run twice and concurrently. The SIM's row lock orders the claims. The lease keeps other workers off during
 * the request. The carrier recognises the ticket's id. If a worker dies, its lease runs out.
 */

import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { type CarrierOperation, decide } from '../../domain/tickets/decisions.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { CarrierError, type CarrierRequest, type Network } from '../../network/network.ts'
import { poolName } from '../../store/estate/pools.ts'
import { lockSim } from '../../store/estate/sim-state.ts'
import { tariffName } from '../../store/estate/tariffs.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import {
  endTicket,
  findTicket,
  oldestOpenTicket,
  postpone,
  startAttempt,
  type TicketFailure,
  type TicketRecord,
} from '../../store/tickets/tickets.ts'
import { currentCycle } from '../../store/usage/cycles.ts'
import { applyTicket } from './apply-ticket.ts'
import { noteMonthEnd } from './change-outcome.ts'
import { dropChangesOfIdle } from './idle-changes.ts'
import { recordTicketEvent } from './ticket-events.ts'

/** How tickets are tried. Times are in milliseconds. */
export interface TicketOptions {
  readonly leaseMs: number
  readonly retryMinMs: number
  readonly retryMaxMs: number
  readonly attempts: number
  /** How long after its creation an SMS or a refresh is still retried. Later it would serve no purpose. */
  readonly patienceMs: number
}

type Claim =
  | { readonly do: 'stop' }
  | { readonly do: 'again' }
  | { readonly do: 'ask'; readonly ticket: TicketRecord; readonly request: CarrierRequest }

/**
 * Executes the open tickets of one SIM.
 *
 * @param network the carrier. It gets at most one request an attempt, always with the ticket's id.
 * @throws whatever the network throws that is no `CarrierError`; the lease then runs out
 */
export async function executeTickets(
  store: Store,
  network: Network,
  options: TicketOptions,
  tenantId: string,
  simId: number,
): Promise<void> {
  // In a transaction of its own: opening a cycle marks everything due, and must not wait while the SIM is locked.
  await inTenant(store, tenantId, currentCycle)
  for (;;) {
    const claim = await inTenant(store, tenantId, (tx) => claimNext(tx, simId, options))
    if (claim.do === 'stop') return
    if (claim.do === 'again') continue
    const failure = await ask(network, claim.request, options.leaseMs)
    await inTenant(store, tenantId, (tx) => finish(tx, claim.ticket, failure, options))
    if (failure?.retryable === true) return
  }
}

async function claimNext(tx: TenantTx, simId: number, options: TicketOptions): Promise<Claim> {
  const sim = await lockSim(tx, simId)
  const ticket = sim && (await oldestOpenTicket(tx, simId))
  if (sim === undefined || ticket === undefined) return { do: 'stop' }
  const busy = ticket.leaseUntil !== null && ticket.leaseUntil > tx.now
  if (busy || ticket.nextAttemptAt > tx.now) return { do: 'stop' }
  const decision = decide(sim, ticket)
  switch (decision.do) {
    case 'refuse':
      // A request to open such a ticket may get other codes. When its turn comes, "no longer possible" has just this
      // one.
      await end(tx, ticket, { code: 'sim_state_conflict', text: decision.detail })
      return { do: 'again' }
    case 'nothing':
      await end(tx, ticket, null)
      await dropChangesOfIdle(tx, [simId])
      return { do: 'again' }
    case 'record':
      await applyTicket(tx, sim, ticket)
      await end(tx, ticket, null)
      return { do: 'again' }
    case 'carrier': {
      await startAttempt(tx, ticket, new Date(tx.now.getTime() + options.leaseMs))
      return { do: 'ask', ticket, request: await requestOf(tx, sim.iccid, decision.operation, ticket) }
    }
  }
}

async function requestOf(
  tx: TenantTx,
  iccid: string,
  operation: CarrierOperation,
  ticket: TicketRecord,
): Promise<CarrierRequest> {
  const pool = ticket.poolId === null ? undefined : await poolName(tx, ticket.poolId)
  const tariff = ticket.tariffId === null ? undefined : await tariffName(tx, ticket.tariffId)
  return {
    ticketId: ticket.id,
    operation,
    iccid,
    ...(pool === undefined ? {} : { pool }),
    ...(tariff === undefined ? {} : { tariff }),
    ...(ticket.message === null ? {} : { message: ticket.message }),
  }
}

/** @returns why the carrier did not do it; undefined if it did */
async function ask(network: Network, request: CarrierRequest, leaseMs: number): Promise<CarrierError | undefined> {
  try {
    // Leave time to commit the outcome within the lease.
    await network.perform(request, { signal: AbortSignal.timeout(Math.floor(leaseMs * 0.8)) })
    return undefined
  } catch (error) {
    if (error instanceof CarrierError) return error
    throw error
  }
}

async function finish(
  tx: TenantTx,
  claimed: TicketRecord,
  failure: CarrierError | undefined,
  options: TicketOptions,
): Promise<void> {
  const sim = await lockSim(tx, claimed.simId)
  const ticket = await findTicket(tx, claimed.id)
  // Another worker took over after the lease and was faster. The carrier sent both the same response.
  if (sim === undefined || ticket?.status !== TicketStatus.Processing) return
  if (failure === undefined) {
    await applyTicket(tx, sim, ticket)
    await end(tx, ticket, null)
    return
  }
  const next = new Date(tx.now.getTime() + pauseMs(ticket.attempts, failure, options))
  const mayGoOn = ticket.attempts < options.attempts && !isTooLate(ticket, next, options)
  if (failure.retryable && mayGoOn) await postpone(tx, ticket, next, asFailure(failure))
  else await end(tx, ticket, asFailure(failure))
}

const FOR_NOW: ReadonlySet<TicketType> = new Set([TicketType['Send SMS'], TicketType.Refresh])

const isTooLate = ({ type, createdAt }: TicketRecord, next: Date, { patienceMs }: TicketOptions): boolean =>
  FOR_NOW.has(type) && next.getTime() > createdAt.getTime() + patienceMs

const asFailure = ({ code, plainWords, message }: CarrierError): TicketFailure => ({
  code,
  text: plainWords,
  detail: message,
})

/** Milliseconds until the next attempt. Doubles with each one. If the carrier asks for a longer pause, takes that. */
function pauseMs(attempts: number, failure: CarrierError, options: TicketOptions): number {
  const own = backoffMs(attempts, { firstMs: options.retryMinMs, longestMs: options.retryMaxMs })
  return Math.max(own, failure.retryAfterMs ?? 0)
}

async function end(tx: TenantTx, ticket: TicketRecord, failure: TicketFailure | null): Promise<void> {
  await endTicket(tx, ticket, failure === null ? TicketStatus.Complete : TicketStatus.Failed, failure)
  await noteMonthEnd(tx, ticket, failure)
  await recordTicketEvent(tx, ticket, failure)
  if (failure !== null) await dropChangesOfIdle(tx, [ticket.simId])
}

/**
 * Executes the open tickets of a tenant in batches: of each SIM one at a time, the oldest first, until none is due.
 *
 *   claim up to 50 (commit Processing with a lease) → send the carrier a request with each ticket's id, all at once
 *     → commit together the ends of those that were answered, and claim the next meanwhile, while others are outstanding
 *
 * Safe to run twice and concurrently. The SIMs' row locks order the claims. The lease keeps other workers off during
 * the request. The carrier recognises the ticket's id. If a worker dies, its leases run out. Where a batch cannot be
 * committed, each of its tickets is tried alone, so that one does not hold up the others.
 */

import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { COMPLETE, isRefusal, type TicketEnd } from '../../domain/temporal/ticket-ends.ts'
import { type CarrierOperation, decide } from '../../domain/tickets/decisions.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { CarrierError, type CarrierRequest, type Network } from '../../network/network.ts'
import { isAway, isLockTimeout } from '../../store/away.ts'
import { poolNames } from '../../store/estate/pools.ts'
import { type LockedSim, lockSims, readSimStates } from '../../store/estate/sim-state.ts'
import { tariffNames } from '../../store/estate/tariffs.ts'
import { noteRefused } from '../../store/outbox.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import {
  type DueQuery,
  dueSims,
  endTickets,
  lockDueSims,
  oldestOpenTickets,
  type Postponed,
  postponeTickets,
  processingTickets,
  setDue,
  settleWork,
  startAttempts,
} from '../../store/tickets/batches.ts'
import type { TicketFailure, TicketRecord } from '../../store/tickets/tickets.ts'
import { openRunningCycle } from '../../store/usage/open-in-slices.ts'
import { applyTickets, type Completed } from './apply-tickets.ts'
import { noteMonthEnd } from './change-outcome.ts'
import { dropChangesOfIdle } from './idle-changes.ts'
import { signalEnds } from './signal-ends.ts'
import { recordTicketEvents } from './ticket-events.ts'

/** How tickets are tried. Times are in milliseconds. */
export interface TicketOptions {
  readonly leaseMs: number
  readonly retryMinMs: number
  readonly retryMaxMs: number
  readonly attempts: number
  /** How long after its creation an SMS or a refresh is still retried. Later it would serve no purpose. */
  readonly patienceMs: number
}

/** SIMs in a batch, and requests to the carrier at once. */
const BATCH = 50
/** Batches of a job. Then the tenant goes to the end of the queue, so that it does not hold others up. */
const MOST_BATCHES = 100
/** How long the first answer waits for others, so that they are committed together. Milliseconds. */
const TOGETHER_MS = 20
/** How often to look for new tickets while requests are outstanding. Milliseconds. */
const LOOK_AGAIN_MS = 100

/** A ticket that is claimed, and what to ask the carrier for. */
interface Asked {
  readonly ticket: TicketRecord
  readonly request: CarrierRequest
}
interface Answered {
  readonly ticket: TicketRecord
  /** Why the carrier did not do it; undefined if it did. */
  readonly failure: CarrierError | undefined
}
interface Ended {
  readonly ticket: TicketRecord
  /** Null if it is complete. */
  readonly failure: TicketFailure | null
}

/** What a job works with. */
interface Work {
  readonly store: Store
  readonly tenantId: string
  readonly options: TicketOptions
  /** Of tickets that could not be claimed or ended. They are tried again after their leases. */
  readonly errors: unknown[]
}

/**
 * Executes the open tickets of a tenant, or of one SIM.
 *
 * @param network the carrier. It gets at most one request an attempt, always with the ticket's id.
 * @param simId as jobs of earlier releases name it
 * @throws whatever the network throws that is no `CarrierError`, after the other tickets; the lease then runs out
 */
export async function executeTickets(
  store: Store,
  network: Network,
  options: TicketOptions,
  tenantId: string,
  simId?: number,
): Promise<void> {
  const work: Work = { store, tenantId, options, errors: [] }
  // Before a SIM is locked: opening a cycle goes through the whole estate.
  await openRunningCycle(store, tenantId)
  const outstanding = new Set<Promise<void>>()
  const answered: Answered[] = []
  const start = ({ ticket, request }: Asked) => {
    const asking = ask(network, request, options.leaseMs)
      .then(
        (failure) => void answered.push({ ticket, failure }),
        (error: unknown) => void work.errors.push(error),
      )
      .finally(() => outstanding.delete(asking))
    outstanding.add(asking)
  }
  for (let batches = 0; ; ) {
    const room = batches < MOST_BATCHES ? BATCH - outstanding.size : 0
    const ends = answered.splice(0)
    // The SIMs of those that end are locked, and left out: only when nothing is under way is there reason to wait.
    const query = { limit: room, simId, wait: ends.length === 0 && outstanding.size === 0 }
    const claiming = room > 0 ? claimBatch(work, query) : null
    const claimed = await both(claiming, ends.length > 0 ? endBatch(work, ends) : null)
    if (claimed !== null && claimed.found > 0) batches++
    claimed?.asked.forEach(start)
    if (outstanding.size > 0) await someAnswers(outstanding, answered)
    else if (ends.length === 0 && answered.length === 0 && (claimed === null || claimed.found === 0)) break
    if (batches === MOST_BATCHES && outstanding.size === 0 && answered.length === 0) {
      store.enqueue([{ queue: 'tickets', tenantId }])
      break
    }
  }
  if (work.errors.length > 0) throw work.errors[0]
}

/** Waits for both, also where one of them fails. @returns what the first found */
async function both<T>(one: Promise<T> | null, other: Promise<void> | null): Promise<T | null> {
  const [found, ended] = await Promise.allSettled([one, other])
  if (found.status === 'rejected') throw found.reason
  if (ended.status === 'rejected') throw ended.reason
  return found.value
}

/** Waits for the first answer and those that come soon after it, or until it is time to look for new tickets. */
async function someAnswers(outstanding: ReadonlySet<Promise<void>>, answered: readonly Answered[]): Promise<void> {
  if (answered.length === 0) await Promise.race([...outstanding, pause(LOOK_AGAIN_MS)])
  if (answered.length > 0) await Promise.race([Promise.all(outstanding), pause(TOGETHER_MS)])
}

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

/** Whether the database is away. A SIM that somebody else has locked for too long is no reason to stop. */
const isGone = (error: unknown): boolean => isAway(error) && !isLockTimeout(error)

interface Claimed {
  /** SIMs that were due and could be looked at. */
  readonly found: number
  readonly asked: readonly Asked[]
}

/** Claims the oldest ticket of each SIM that is due. If that fails, claims them one by one. */
async function claimBatch({ store, tenantId, options, errors }: Work, query: DueQuery): Promise<Claimed> {
  try {
    return await inTenant(store, tenantId, (tx) => claimTickets(tx, query, options))
  } catch (error) {
    if (isGone(error)) throw error
  }
  const due = await inTenant(store, tenantId, (tx) => dueSims(tx, query))
  let found = 0
  const asked: Asked[] = []
  for (const simId of due) {
    try {
      const one = await inTenant(store, tenantId, (tx) => claimTickets(tx, { limit: 1, simId, wait: true }, options))
      found += one.found
      asked.push(...one.asked)
    } catch (error) {
      if (isGone(error)) throw error
      errors.push(error)
      if (isLockTimeout(error)) continue
      // So that it is not among the first of each batch.
      const at = new Date(store.clock() + options.leaseMs)
      await inTenant(store, tenantId, (tx) => setDue(tx, [{ simId, at }]))
    }
  }
  return { found, asked }
}

async function claimTickets(tx: TenantTx, query: DueQuery, options: TicketOptions): Promise<Claimed> {
  const sims = await lockDueSims(tx, query)
  if (sims.length === 0) return { found: 0, asked: [] }
  const tickets = await oldestOpenTickets(
    tx,
    sims.map(({ simId }) => simId),
  )
  const without: number[] = []
  const later: { simId: number; at: Date }[] = []
  const ended: Ended[] = []
  const nothing: number[] = []
  const recorded: Completed[] = []
  const asked: { sim: LockedSim; ticket: TicketRecord; operation: CarrierOperation }[] = []
  for (const sim of sims) {
    const { simId } = sim
    const ticket = tickets.get(simId)
    if (ticket === undefined) {
      without.push(simId)
      continue
    }
    const at = new Date(Math.max(ticket.leaseUntil?.getTime() ?? 0, ticket.nextAttemptAt.getTime()))
    if (at > tx.now) {
      later.push({ simId, at })
      continue
    }
    const decision = decide(sim, ticket)
    if (decision.do === 'carrier') {
      asked.push({ sim, ticket, operation: decision.operation })
      continue
    }
    // A request to open a ticket that is refused may get other codes. When its turn comes, "no longer possible" has just
    // this one.
    const isRefused = decision.do === 'refuse'
    ended.push({ ticket, failure: isRefused ? { code: 'sim_state_conflict', text: decision.detail } : null })
    if (decision.do === 'record') recorded.push({ sim, ticket })
    if (decision.do === 'nothing') nothing.push(simId)
  }
  await settleWork(tx, without)
  await setDue(tx, later)
  await applyTickets(tx, recorded)
  await endAll(tx, ended)
  await dropChangesOfIdle(tx, nothing)
  await startAttempts(
    tx,
    asked.map(({ ticket }) => ticket),
    new Date(tx.now.getTime() + options.leaseMs),
  )
  return { found: sims.length, asked: await requestsOf(tx, asked) }
}

async function requestsOf(
  tx: TenantTx,
  asked: readonly { sim: LockedSim; ticket: TicketRecord; operation: CarrierOperation }[],
): Promise<Asked[]> {
  const idsOf = (of: (ticket: TicketRecord) => number | null) => [
    ...new Set(asked.map(({ ticket }) => of(ticket)).filter((id) => id !== null)),
  ]
  const pools = await poolNames(
    tx,
    idsOf(({ poolId }) => poolId),
  )
  const tariffs = await tariffNames(
    tx,
    idsOf(({ tariffId }) => tariffId),
  )
  return asked.map(({ sim, ticket, operation }) => {
    const pool = pools.get(ticket.poolId ?? 0)
    const tariff = tariffs.get(ticket.tariffId ?? 0)
    const request = {
      ticketId: ticket.id,
      operation,
      iccid: sim.iccid,
      ...(pool === undefined ? {} : { pool }),
      ...(tariff === undefined ? {} : { tariff }),
      ...(ticket.message === null ? {} : { message: ticket.message }),
    }
    return { ticket, request }
  })
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

/** Commits what the carrier answered. If that fails, commits each answer alone. */
async function endBatch({ store, tenantId, options, errors }: Work, answered: readonly Answered[]): Promise<void> {
  const commit = (some: readonly Answered[]) => inTenant(store, tenantId, (tx) => finish(tx, some, options))
  try {
    return await commit(answered)
  } catch (error) {
    if (isGone(error)) throw error
    if (answered.length === 1) return void errors.push(error)
  }
  for (const one of answered) {
    try {
      await commit([one])
    } catch (error) {
      if (isGone(error)) throw error
      errors.push(error)
    }
  }
}

async function finish(tx: TenantTx, answered: readonly Answered[], options: TicketOptions): Promise<void> {
  const simIds = answered.map(({ ticket }) => ticket.simId)
  await lockSims(tx, simIds)
  const sims = new Map((await readSimStates(tx, simIds)).map((sim) => [sim.simId, sim]))
  const answers = new Map(answered.map(({ ticket, failure }) => [ticket.id, failure]))
  const completed: Completed[] = []
  const ended: Ended[] = []
  const postponed: Postponed[] = []
  // Where another worker took over after the lease and was faster, the ticket is no longer Processing. The carrier sent
  // both the same response.
  for (const ticket of await processingTickets(tx, [...answers.keys()])) {
    const sim = sims.get(ticket.simId)
    const failure = answers.get(ticket.id)
    if (sim === undefined) continue
    if (failure === undefined) {
      completed.push({ sim, ticket })
      ended.push({ ticket, failure: null })
      continue
    }
    const until = new Date(tx.now.getTime() + pauseMs(ticket.attempts, failure, options))
    const mayGoOn = ticket.attempts < options.attempts && !isTooLate(ticket, until, options)
    if (failure.retryable && mayGoOn) postponed.push({ ticket, until, why: asFailure(failure) })
    else ended.push({ ticket, failure: asFailure(failure) })
  }
  await applyTickets(tx, completed)
  await postponeTickets(tx, postponed)
  await endAll(tx, ended)
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

/** Ends tickets, and tells of it. What they changed is applied before. Call with their SIMs locked. */
async function endAll(tx: TenantTx, ended: readonly Ended[]): Promise<void> {
  if (ended.length === 0) return
  const next = await endTickets(
    tx,
    ended.map(({ ticket, failure }) => {
      return { ticket, status: failure === null ? TicketStatus.Complete : TicketStatus.Failed, failure }
    }),
  )
  await noteRefused(tx, ended.flatMap(refusedRun))
  await noteMonthEnd(tx, ended)
  await recordTicketEvents(tx, ended)
  await signalEnds(
    tx,
    ended.map(({ ticket, failure }) => ({ ...ticket, end: endOf(failure), next: next.get(ticket.simId) ?? null })),
  )
  await dropChangesOfIdle(
    tx,
    ended.filter(({ failure }) => failure !== null).map(({ ticket }) => ticket.simId),
  )
}

/** The workflow that asked for a suspension on the watchdog's behalf, if the carrier has refused it for good. */
const refusedRun = ({ ticket: { type, cause }, failure }: Ended): string[] =>
  type === TicketType.Suspend && cause.by === 'watchdog' && isRefusal(endOf(failure)) ? [cause.workflowId] : []

const endOf = (failure: TicketFailure | null): TicketEnd =>
  failure === null ? COMPLETE : { status: 'failed', code: failure.code, detail: failure.text }

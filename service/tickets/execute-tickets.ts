/**
 * Executes the open tickets of a tenant in batches: of each SIM one at a time, the oldest first, until none is due.
 *
 *   claim up to 50 (commit Processing with a lease) → send the carrier a request with each ticket's id, all at once
 *     → commit the ends of answered ones together, and claim the next while others are outstanding
 *
 * Safe to run twice and concurrently. The SIMs' row locks order the claims. The lease keeps other workers off during
 * the request. The carrier recognises the ticket's id. If a worker dies, its leases run out. If a batch cannot be
 * committed, each of its tickets is tried alone, so that one does not hold up the others.
 *
 * While the carrier refuses our credentials, all workers with the same credentials together claim one ticket at a time,
 * as a probe. Other tickets wait unchanged, and a refused request uses up no attempt.
 */

import { CarrierError, type CarrierRequest, type Network } from '../../adapters/carrier/network.ts'
import { TicketType } from '../../domain/codes.ts'
import { type CarrierRefusal, isRefused } from '../../domain/tickets/carrier-refusal.ts'
import { type CarrierOperation, decide } from '../../domain/tickets/decisions.ts'
import { backoffMs } from '../../domain/time/backoff.ts'
import { isAway, isLockTimeout } from '../../store/away.ts'
import { inPlatform, inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { poolNames } from '../pools/rows/pools.ts'
import { lockSims, readSimStates } from '../sims/rows/sim-state.ts'
import { findTariffs } from '../tariffs/rows/tariffs.ts'
import { openRunningCycle } from '../usage/rows/cycles.ts'
import { applyTickets, type Completion } from './apply-tickets.ts'
import { dropChangesOfIdle, endTickets, type TicketEnding } from './end-tickets.ts'
import { noteProbe, noteRefusedCredentials, noteReplacedCredentials } from './note-credentials.ts'
import {
  type DueQuery,
  dueSims,
  lockDueSims,
  oldestOpenTickets,
  type Postponement,
  postponeTickets,
  processingTickets,
  setDue,
  settleWork,
  startAttempts,
} from './rows/batches.ts'
import { readCarrierRefusals, returnCarrierProbe, takeCarrierProbe } from './rows/carrier-refusals.ts'
import type { TicketFailure, TicketRecord } from './rows/tickets.ts'
import { isAcceptance, sentTogether, type Understood } from './sent-together.ts'

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

/** A claimed ticket, and the request to the carrier. */
interface CarrierCall {
  readonly ticket: TicketRecord
  readonly request: CarrierRequest
}
/** The context of a job. */
interface Work {
  readonly store: Store
  readonly tenantId: string
  readonly options: TicketOptions
  /** Names the credentials used with the carrier. */
  readonly credential: string
  /** Whether the carrier refuses other credentials, perhaps those that ours have replaced. */
  hasOthers: boolean
  /** Of tickets that could not be claimed or ended. They are tried again after their leases. */
  readonly errors: unknown[]
}

/**
 * Executes the open tickets of a tenant.
 *
 * @param network the carrier. It gets at most one request an attempt, always with the ticket's id.
 * @throws any error of the network other than a `CarrierError`, after the other tickets; the lease then runs out
 */
export async function executeTickets(
  store: Store,
  network: Network,
  options: TicketOptions,
  tenantId: string,
): Promise<void> {
  const work: Work = { store, tenantId, options, credential: network.credential, hasOthers: false, errors: [] }
  // Before a SIM is locked: opening a cycle goes through the whole estate.
  await openRunningCycle(store, tenantId)
  const outstanding = new Set<Promise<void>>()
  const answered: Understood[] = []
  /** Answers not understood yet. */
  let held = 0
  const start = ({ asked, isProbe }: TicketClaim) => {
    const sent = sentTogether(asked.length, isProbe)
    for (const { ticket, request } of asked) {
      const asking = ask(network, request, options.leaseMs)
        .then(
          (failure) => ({ ticket, failure }),
          (error: unknown) => {
            work.errors.push(error)
            return null
          },
        )
        .then((answer) => {
          const understood = sent.take(answer)
          held += (answer === null ? 0 : 1) - understood.length
          answered.push(...understood)
        })
        .finally(() => outstanding.delete(asking))
      outstanding.add(asking)
    }
  }
  /** The last look for due SIMs: whether it found fewer than it asked for, and when it was, by `performance.now`. */
  let last = { foundAll: false, at: 0 }
  for (let batches = 0; ; ) {
    const ends = answered.splice(0)
    // Other SIMs are not due yet, and those whose tickets end are locked for that.
    const mayBeMore = ends.length === 0 || !last.foundAll || performance.now() - last.at > LOOK_AGAIN_MS
    const room = mayBeMore && batches < MOST_BATCHES ? BATCH - outstanding.size - held : 0
    // Before the next claim.
    await noteCredentials(work, ends)
    // The SIMs of those that end are locked, and left out: only when nothing is under way is there reason to wait.
    const query = { limit: room, wait: ends.length === 0 && outstanding.size === 0 }
    const claiming = room > 0 ? claimBatch(work, query) : null
    const claimed = await both(claiming, ends.length > 0 ? endBatch(work, ends) : null)
    if (claimed !== null) {
      last = { foundAll: claimed.found < room, at: performance.now() }
      if (claimed.found > 0) batches++
      start(claimed)
    }
    if (outstanding.size > 0) await someAnswers(outstanding, answered)
    else if (ends.length === 0 && answered.length === 0 && (claimed === null || claimed.found === 0)) break
    if (batches === MOST_BATCHES && outstanding.size === 0 && answered.length === 0) {
      store.enqueue([{ queue: 'tickets', tenantId }])
      break
    }
  }
  if (work.errors.length > 0) throw work.errors[0]
}

/** Waits for both, also if one of them fails. @returns the result of the first */
async function both<T>(one: Promise<T> | null, other: Promise<void> | null): Promise<T | null> {
  const [found, ended] = await Promise.allSettled([one, other])
  if (found.status === 'rejected') throw found.reason
  if (ended.status === 'rejected') throw ended.reason
  return found.value
}

/** Waits for the first answer and those that come soon after it, or until it is time to look for new tickets. */
async function someAnswers(outstanding: ReadonlySet<Promise<void>>, answered: readonly Understood[]): Promise<void> {
  if (answered.length === 0) await Promise.race([...outstanding, pause(LOOK_AGAIN_MS)])
  if (answered.length > 0) await Promise.race([Promise.all(outstanding), pause(TOGETHER_MS)])
}

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

/** Whether the database is away. A SIM locked for too long by another transaction is no reason to stop. */
const isGone = (error: unknown): boolean => isAway(error) && !isLockTimeout(error)

interface TicketClaim {
  /** SIMs that were due and could be looked at. */
  readonly found: number
  readonly asked: readonly CarrierCall[]
  readonly isProbe: boolean
  /** Only a probe may be claimed now, and it is due. */
  readonly mayProbe: boolean
}
const NOTHING: TicketClaim = { found: 0, asked: [], isProbe: false, mayProbe: false }

/** Tickets to claim. `isProbe`: one ticket, to see whether the carrier accepts our credentials again. */
type ClaimQuery = DueQuery & { readonly isProbe?: true }

/** Claims the tickets to send now: a batch, or one ticket while the carrier refuses our credentials. */
async function claimBatch(work: Work, query: DueQuery): Promise<TicketClaim> {
  const claimed = await claimAll(work, query)
  return claimed.mayProbe ? claimProbe(work, query) : claimed
}

/** Claims a probe, unless another worker was faster. */
async function claimProbe(work: Work, query: DueQuery): Promise<TicketClaim> {
  const { store, credential, options } = work
  // A worker that dies leaves the probe to others after the lease of its ticket.
  const until = new Date(store.clock() + options.leaseMs)
  if (!(await inPlatform(store, (tx) => takeCarrierProbe(tx, credential, until)))) return NOTHING
  for (;;) {
    const claimed = await claimAll(work, { ...query, limit: 1, isProbe: true })
    if (claimed.asked.length > 0) return claimed
    if (claimed.found > 0) continue
    await inPlatform(store, (tx) => returnCarrierProbe(tx, credential))
    return NOTHING
  }
}

/** Claims the oldest ticket of each due SIM. If that fails, claims them one by one. */
async function claimAll(work: Work, query: ClaimQuery): Promise<TicketClaim> {
  const { store, tenantId, options, errors } = work
  try {
    return await inTenant(store, tenantId, (tx) => claimTickets(tx, query, work))
  } catch (error) {
    if (isGone(error)) throw error
  }
  const due = await inTenant(store, tenantId, (tx) => dueSims(tx, query))
  let found = 0
  const asked: CarrierCall[] = []
  for (const simId of due) {
    try {
      const only = { ...query, limit: 1, simId, wait: true }
      const one = await inTenant(store, tenantId, (tx) => claimTickets(tx, only, work))
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
  return { found, asked, isProbe: query.isProbe === true, mayProbe: false }
}

async function claimTickets(tx: TenantTx, query: ClaimQuery, work: Work): Promise<TicketClaim> {
  const { options, credential } = work
  const { isProbe = false } = query
  const simIds = await lockDueSims(tx, query)
  if (simIds.length === 0) return NOTHING
  const refusals = await readCarrierRefusals(tx)
  const refusal = refusals.get(credential)
  work.hasOthers = [...refusals].some(([other, one]) => other !== credential && isRefused(one))
  if (!isProbe && refusal !== undefined && isRefused(refusal)) {
    return { ...NOTHING, mayProbe: refusal.probeAt <= tx.now }
  }
  // Not in the statement that locks, to read the rows that the locks protect.
  const sims = await readSimStates(tx, simIds)
  const tickets = await oldestOpenTickets(tx, simIds)
  const without: number[] = []
  const later: { simId: number; at: Date }[] = []
  const ended: TicketEnding[] = []
  const nothing: number[] = []
  const recorded: Completion[] = []
  const asked: CarrierTicket[] = []
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
      if (hasWaitedInVain(ticket, refusal, tx.now, options)) ended.push({ ticket, failure: NOT_IN_TIME })
      else asked.push({ sim, ticket, operation: decision.operation })
      continue
    }
    // A request to open a ticket that is refused may get other codes. When its turn comes, "no longer possible" has
    // just this one.
    const isImpossible = decision.do === 'refuse'
    ended.push({ ticket, failure: isImpossible ? { code: 'sim_state_conflict', text: decision.detail } : null })
    if (decision.do === 'record') recorded.push({ sim, ticket })
    if (decision.do === 'nothing') nothing.push(simId)
  }
  await settleWork(tx, without)
  await setDue(tx, later)
  await applyTickets(tx, recorded)
  await endTickets(tx, ended)
  await dropChangesOfIdle(tx, nothing)
  const begun = asked.map(({ ticket }) => ticket)
  await startAttempts(tx, begun, new Date(tx.now.getTime() + options.leaseMs))
  return { found: sims.length, asked: await requestsOf(tx, asked), isProbe, mayProbe: false }
}

/** A ticket that the carrier has to carry out. */
interface CarrierTicket extends Completion {
  readonly operation: CarrierOperation
}

async function requestsOf(tx: TenantTx, asked: readonly CarrierTicket[]): Promise<CarrierCall[]> {
  const idsOf = (name: 'poolId' | 'tariffId') => [...new Set(asked.flatMap(({ ticket }) => ticket[name] ?? []))]
  const pools = await poolNames(tx, idsOf('poolId'))
  const tariffs = await findTariffs(tx, idsOf('tariffId'))
  return asked.map(({ sim, ticket, operation }) => {
    const pool = pools.get(ticket.poolId ?? 0)
    const tariff = tariffs.get(ticket.tariffId ?? 0)?.displayName
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

/** Notes from answers whether the carrier accepts our credentials. */
async function noteCredentials({ store, credential, hasOthers }: Work, answered: readonly Understood[]): Promise<void> {
  const refused = answered.filter((one) => one.isRefused)
  const probe = answered.find((one) => one.isProbe)
  const answer = refused[0]?.failure?.message
  if (answer !== undefined) {
    const isProbe = probe?.isRefused === true
    await noteRefusedCredentials(store, credential, { tickets: refused.length, isProbe, answer })
  } else if (probe !== undefined) await noteProbe(store, credential, isAcceptance(probe))
  else if (hasOthers && answered.some(isAcceptance)) await noteReplacedCredentials(store, credential)
}

/** Commits the carrier's answers. If that fails, commits each answer alone. */
async function endBatch({ store, tenantId, options, errors }: Work, answered: readonly Understood[]): Promise<void> {
  const commit = (some: readonly Understood[]) => inTenant(store, tenantId, (tx) => finish(tx, some, options))
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

async function finish(tx: TenantTx, answered: readonly Understood[], options: TicketOptions): Promise<void> {
  const simIds = answered.map(({ ticket }) => ticket.simId)
  await lockSims(tx, simIds)
  const sims = new Map((await readSimStates(tx, simIds)).map((sim) => [sim.simId, sim]))
  const answers = new Map(answered.map((answer) => [answer.ticket.id, answer]))
  const completed: Completion[] = []
  const ended: TicketEnding[] = []
  const postponed: Postponement[] = []
  // Where another worker took over after the lease and was faster, the ticket is no longer Processing. The carrier sent
  // both the same response.
  for (const ticket of await processingTickets(tx, [...answers.keys()])) {
    const sim = sims.get(ticket.simId)
    const answer = answers.get(ticket.id)
    if (sim === undefined || answer === undefined) continue
    const { failure } = answer
    if (failure === undefined) {
      completed.push({ sim, ticket })
      ended.push({ ticket, failure: null })
      continue
    }
    // A ticket that waits for our credentials is due: it may be the next probe.
    const counts = !answer.isRefused
    const until = counts ? new Date(tx.now.getTime() + pauseMs(ticket.attempts, failure, options)) : tx.now
    const mayGoOn = (!counts || ticket.attempts < options.attempts) && !isTooLate(ticket, until, options)
    if (failure.retryable && mayGoOn) postponed.push({ ticket, until, why: asFailure(failure), counts })
    else ended.push({ ticket, failure: asFailure(failure) })
  }
  await applyTickets(tx, completed)
  await postponeTickets(tx, postponed)
  await endTickets(tx, ended)
}

const FOR_NOW: ReadonlySet<TicketType> = new Set([TicketType['Send SMS'], TicketType.Refresh])

const isTooLate = ({ type, createdAt }: TicketRecord, next: Date, { patienceMs }: TicketOptions): boolean =>
  FOR_NOW.has(type) && next.getTime() > createdAt.getTime() + patienceMs

/** Whether a ticket has waited so long for our credentials that it would serve no purpose. */
const hasWaitedInVain = (
  ticket: TicketRecord,
  refusal: CarrierRefusal | undefined,
  now: Date,
  options: TicketOptions,
): boolean => refusal !== undefined && ticket.createdAt < (refusal.endedAt ?? now) && isTooLate(ticket, now, options)

const NOT_IN_TIME: TicketFailure = { code: 'carrier_unauthorized', text: 'the carrier could not be asked in time' }

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

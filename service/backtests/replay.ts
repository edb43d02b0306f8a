/**
 * Replays a tenant's past by a rule set: its records, in the order in which they were received, go through the
 * service's operations, on temporary tables. Its transactions are read only: PostgreSQL lets them write only those
 * tables.
 */
import type { MailChannel } from '../../adapters/channels/mail/mail-channel.ts'
import { TicketStatus } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { mayOpen } from '../../domain/tickets/decisions.ts'
import { bucketMs } from '../../domain/time/cycle.ts'
import { factsOf } from '../../rules/facts.ts'
import { neededToTell } from '../../rules/facts-needed.ts'
import type { Rule } from '../../rules/rule.ts'
import { notePoolChanged } from '../../store/changed.ts'
import { markDue } from '../../store/due.ts'
import { lookAtAll } from '../../store/shards.ts'
import { type Db, inTenant, readOnly, type TenantTx, withLongTimeout } from '../../store/tenancy.ts'
import { endSilence } from '../alerts/silence-alerts.ts'
import { closeCycle } from '../month-end/close-cycle.ts'
import { rulesInForce } from '../rules/rules-in-force.ts'
import { lockSim } from '../sims/rows/sim-state.ts'
import { applyTickets } from '../tickets/apply-tickets.ts'
import type { TicketRecord } from '../tickets/rows/tickets.ts'
import { countUsage } from '../usage/count-usage.ts'
import { openRunningCycle } from '../usage/rows/cycles.ts'
import type { EvaluationOptions } from '../watchdog/evaluation-options.ts'
import { openPlayer, type PlayedStore } from './open-player.ts'
import { countPast, fillRules, fillTables, type ReplayedRules, type ReplaySpan } from './rows/fill.ts'
import {
  type Between,
  hidePools,
  insertPastTicket,
  movePools,
  moveSilences,
  nextPastAt,
  type PastRecord,
  pastCloses,
  pastSettings,
  pastTickets,
  pastUsage,
} from './rows/past.ts'
import { analyzeTemporaryTables, emptyStage, makeTemporaryTables } from './rows/temporary-tables.ts'
import { setAs } from './set-as.ts'

/** Records in a transaction, as of a delivery. */
const CHUNK = 20_000
const DAY_MS = 86_400_000
/** Facts look back over a week, and over a share of the cycle. The newest usage may be a day old. */
const LOOK_BACK_MS = 8 * DAY_MS
/** Averages look back over 29 days. */
const AVERAGE_BACK_MS = 30 * DAY_MS
/** A replay of more records is refused. */
const MOST_RECORDS = 50_000_000

export interface ReplayQuestion {
  readonly tenantId: string
  readonly billingCycle: string
  /** Start of the first cycle, and end of the last. */
  readonly startsAt: number
  readonly endsAt: number
  readonly rules: ReplayedRules
}

export interface ReplayOptions {
  readonly evaluation: Omit<EvaluationOptions, 'rules'>
  readonly render: MailChannel['render']
  /** Called after each instant: how many of the records are done. @throws an error that ends the replay */
  readonly onProgress?: (done: number, of: number) => Promise<void>
}

/** The records that could not be repeated. */
export interface ReplayGaps {
  /** Usage records that do not count, because an earlier one is missing: a correction would take a total below 0. */
  records: number
  /** Tickets of persons that do not fit the actions of the replayed rules. */
  tickets: number
  /** Changes of settings of SIMs and pools that do not exist. */
  settings: number
}

export interface ReplayResult {
  readonly records: number
  readonly undecided: Readonly<ReplayGaps>
}

/** Accepts each mail at once. */
const send: MailChannel['send'] = async () => ({ outcome: 'delivered', code: null, response: '250 replayed', why: '' })

/**
 * Replays a tenant's past. Afterwards the temporary tables have the results.
 *
 * @param db a single connection, which its maker closes afterwards
 * @throws ServiceError `invalid_request` for too many records
 */
export async function replay(db: Db, question: ReplayQuestion, options: ReplayOptions): Promise<ReplayResult> {
  const { tenantId, billingCycle, startsAt, endsAt, rules } = question
  // The end belongs to the next cycle.
  const [from, until] = [new Date(startsAt), new Date(endsAt - 1)]
  const store: PlayedStore = {
    db,
    now: startsAt,
    clock: () => store.now,
    enqueue: () => undefined,
    isReplay: true,
    slow: true,
  }
  await makeTemporaryTables(db)
  const readRules = rulesInForce()
  const inForce = await inTenant(store, tenantId, async (tx) => {
    await fillRules(tx, rules, from)
    return readRules(tx)
  })
  const lookBackMs = readAverages(inForce.rules, tenantId) ? AVERAGE_BACK_MS : LOOK_BACK_MS
  const usageFrom = new Date(startsAt - Math.max(lookBackMs, endsAt - startsAt))
  const span: ReplaySpan = { from, until, usageFrom, bucketMs: bucketMs(billingCycle) }
  const real = withLongTimeout(readOnly({ ...store, isReplay: false }))
  const of = await inTenant(real, tenantId, async (tx) => {
    const records = await countPast(tx, span)
    if (records > MOST_RECORDS)
      throw new ServiceError(
        'invalid_request',
        `got ${records} usage records, expected ${MOST_RECORDS} at most: take fewer cycles`,
      )
    await fillTables(tx, span)
    return records
  })
  await analyzeTemporaryTables(db)
  const evaluation = { ...options.evaluation, rules: readRules }
  const player = openPlayer(store, tenantId, { evaluation, mailer: { render: options.render, send } })
  const undecided = { records: 0, tickets: 0, settings: 0 }
  const last = { receivedAt: from, recordId: '\u{10FFFF}', at: 0 }
  const again: Again = { store, tenantId, undecided, done: 0, last }
  await begin(again, span)
  await player.work()
  for (;;) {
    const after = new Date(store.now)
    const next = await inTenant(store, tenantId, (tx) => nextPastAt(tx, after))
    if (next === null || next > until) break
    await player.moveTo(next.getTime())
    await doAgain(again, { after, through: next })
    await player.work()
    await options.onProgress?.(again.done, of)
  }
  await player.moveTo(endsAt)
  return { records: of, undecided }
}

function readAverages(rules: readonly Rule[], tenantId: string): boolean {
  const needed = neededToTell(rules, tenantId).sim
  return [...factsOf('sim').values()].some(({ name, over }) => over === 'average' && needed.has(name))
}

interface Again {
  readonly store: PlayedStore
  readonly tenantId: string
  readonly undecided: ReplayGaps
  /** Usage records so far. */
  done: number
  last: Pick<PastRecord, 'receivedAt' | 'recordId' | 'at'>
}

/** Takes back later changes of settings, and opens the cycle. */
async function begin({ store, tenantId, undecided }: Again, { from }: ReplaySpan): Promise<void> {
  const changes = await inTenant(store, tenantId, (tx) => pastSettings(tx, { after: from, through: FOR_EVER }))
  await inTenant(store, tenantId, async (tx) => {
    for (const change of changes.toReversed()) if (!(await setAs(tx, change, change.before))) undecided.settings += 1
    await hidePools(tx, from)
  })
  await openRunningCycle(store, tenantId)
  await inTenant(store, tenantId, lookAtAll)
}

const FOR_EVER = new Date(8.64e15)

/** Repeats the records of a span: SIMs first, then settings, then usage. */
async function doAgain(again: Again, span: Between): Promise<void> {
  const { store, tenantId, undecided } = again
  await inTenant(store, tenantId, async (tx) => {
    for (const id of await movePools(tx, span)) await notePoolChanged(tx, id)
    for (const ticket of await pastTickets(tx, span)) if (!(await endAgain(tx, ticket))) undecided.tickets += 1
    for (const change of await pastSettings(tx, span)) await setAs(tx, change, change.after)
    for (const id of await moveSilences(tx, span)) await endSilence(tx, id)
  })
  await receiveAgain(again, span.through)
  for (const key of await inTenant(store, tenantId, (tx) => pastCloses(tx, span)))
    await inTenant(store, tenantId, (tx) => closeCycle(tx, key))
}

/** Ends a ticket as in the past. @returns whether it fits: a person may have brought back what no rule suspended */
async function endAgain(tx: TenantTx, ticket: TicketRecord): Promise<boolean> {
  const sim = await lockSim(tx, ticket.simId)
  if (sim === undefined) return false
  await insertPastTicket(tx, ticket.id)
  await markDue(tx, [{ kind: 'tenant', id: 0 }])
  if (ticket.status !== TicketStatus.Complete) return true
  if (mayOpen(sim, [], ticket) !== undefined) return false
  await applyTickets(tx, [{ sim, ticket }])
  return true
}

async function receiveAgain(again: Again, through: Date): Promise<void> {
  const { store, tenantId, undecided } = again
  for (;;) {
    const records = await inTenant(store, tenantId, (tx) => pastUsage(tx, through, again.last, CHUNK))
    const last = records.at(-1)
    if (last === undefined) return
    await emptyStage(store.db)
    const results = records.map((record) => ({ record }))
    const { rejected } = await countUsage({ store, tenantId }, results)
    undecided.records += rejected.length
    again.done += records.length
    again.last = last
  }
}

/**
 * Logs which SIMs rules would suspend if they may not: in Monitor mode, at a lower stage, or while enforcement is off.
 * SIMs are picked, passed over and counted by the guard as in earnest; only the ticket is missing.
 *
 * Works off a list after the commit of the evaluation that wrote it. A transaction takes rows off the list and writes
 * their log entries, once for each SIM, rule and cycle. So a worker may die at any moment.
 */
import { LogLevel, WatchdogMode } from '../../domain/codes.ts'
import type { GuardScope } from '../../domain/enforcement/guard.ts'
import { refusalOf } from '../../domain/enforcement/refusal.ts'
import { megabytes } from '../../domain/quantity.ts'
import { toMB } from '../../domain/units.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import { pickFromPool } from '../../rules/alerts/pick-sims.ts'
import { isAway } from '../../store/away.ts'
import { insertLogEntries, knownEntries, type NewLogEntry } from '../../store/log.ts'
import { inTenant, type Store, type TenantTx, withLongTimeout } from '../../store/tenancy.ts'
import { readRoom } from './guard.ts'
import { poolEnforcement } from './read-enforcement.ts'
import { type SimToTake, simsToTake } from './rows/candidates.ts'
import { addCount } from './rows/guard.ts'
import { lockGuard } from './rows/permits.ts'
import { dueWould, postponeWould, stillWould, takeWould, type WouldSuspendRow } from './rows/would.ts'

/** Rows about SIMs in a transaction. A pool has a separate transaction. */
const BATCH = 200
const RETRY_MS = 3_600_000

/** Called when a row fails. It is tried again in an hour; the others go on. */
export type OnFailed = (failed: Subject & { readonly tenantId: string; readonly error: unknown }) => void

/** Works until nothing on the tenant's list is due. @throws if the database is away */
export async function logWould(store: Store, tenantId: string, onFailed?: OnFailed): Promise<void> {
  for (;;) {
    const due = await inTenant(store, tenantId, (tx) => dueWould(tx, BATCH))
    if (due.length === 0) return
    for (const batch of due[0]?.kind === 'pool' ? due.map((one) => [one]) : [due])
      await logBatch(store, tenantId, batch, onFailed)
  }
}

async function logBatch(store: Store, tenantId: string, batch: readonly WouldSuspendRow[], onFailed?: OnFailed) {
  try {
    await inTenant(withLongTimeout(store), tenantId, (tx) => logAll(tx, batch))
  } catch (error) {
    if (isAway(error)) throw error
    const [first, second] = batch
    if (first === undefined) return
    if (second !== undefined) {
      for (const one of batch) await logBatch(store, tenantId, [one], onFailed)
      return
    }
    await inTenant(store, tenantId, (tx) => postponeWould(tx, first, new Date(tx.now.getTime() + RETRY_MS)))
    onFailed?.({ tenantId, kind: first.kind, id: first.id, error })
  }
}

/** A SIM that would be suspended, and why. */
interface Pick {
  readonly simId: number
  /** The finding of the rule. */
  readonly because: WouldSuspendRow
  /** Beyond its share of the pool, for a rule about pools. */
  readonly excessBytes: number | null
}

/** Logs the results for rows of one rule, cycle and kind of subject. */
async function logAll(tx: TenantTx, read: readonly WouldSuspendRow[]): Promise<void> {
  const picked = read[0]?.kind === 'pool' ? await picksOf(tx, read[0]) : null
  // Locks of an evaluation are taken in this order too: the guard's, then rows of the list.
  await lockGuard(tx)
  const firing = await stillWould(tx, await takeWould(tx, read))
  const [first] = firing
  if (first === undefined) return
  const picks: Pick[] = picked ?? firing.map((because) => ({ simId: because.id, because, excessBytes: null }))
  const sims = await toSuspend(tx, first, picks)
  const keys = picks.map(({ simId }) => keyOf(first, simId))
  const known = await knownEntries(tx, keys)
  const fresh = picks.filter(({ simId }) => sims.has(simId) && !known.has(keyOf(first, simId)))
  if (fresh.length === 0) return
  const free = await passing(tx, first, fresh.length)
  const entries = fresh.map((pick, n) => entryOf(pick, sims.get(pick.simId), n < free))
  await insertLogEntries(tx, entries)
}

/** The SIMs that a pool's rule picks. */
async function picksOf(tx: TenantTx, because: WouldSuspendRow): Promise<Pick[]> {
  const pool = await poolEnforcement(tx, because.id, because.cycleKey, because.rule)
  if (!pool.over) return []
  const excess = new Map(pool.rows.map(({ simId, excessBytes }) => [simId, excessBytes]))
  const { targets } = pickFromPool(because.target, pool)
  return targets.map((simId) => ({ simId, because, excessBytes: excess.get(simId) ?? 0 }))
}

/** The SIMs that the last look before a suspension would let through, were the rule allowed to suspend. By id. */
async function toSuspend(tx: TenantTx, { cycleKey }: WouldSuspendRow, picks: readonly Pick[]) {
  const ids = picks.map(({ simId }) => simId)
  const allowed = { mode: WatchdogMode.Enforce, enforcementEnabled: true, overLimit: true, refused: false }
  const sims = (await simsToTake(tx, ids, cycleKey)).filter((sim) => refusalOf({ ...sim, ...allowed }) === null)
  return new Map(sims.map((sim) => [sim.simId, sim]))
}

/** How many the guard would let through. Counts them. Nothing is held: the next hour begins with a new count. */
async function passing(tx: TenantTx, { rule, ruleVersion, kind, id, cycleKey }: WouldSuspendRow, wanted: number) {
  const poolId = kind === 'pool' ? id : null
  const scope: GuardScope = { what: 'suspensions', rule, version: ruleVersion, poolId, cycleKey }
  const { free } = await readRoom(tx, scope, { kind: 'sim', count: wanted }, ['suspensions', 'would'])
  const passed = Math.min(wanted, free)
  if (passed > 0) await addCount(tx, { ...scope, what: 'would' }, passed)
  return passed
}

const keyOf = ({ rule, cycleKey }: WouldSuspendRow, simId: number): string =>
  `${rule}/sim/${simId}/${cycleKey}/wouldSuspend/0`

function entryOf({ simId, because, excessBytes }: Pick, sim: SimToTake | undefined, passes: boolean): NewLogEntry {
  const { rule, ruleVersion, cycleKey, reason } = because
  const outcome = passes ? 'would have been suspended by' : 'would have been held by the guard on'
  const share = excessBytes === null ? '' : `, ${megabytes(toMB(excessBytes))} above its share,`
  return {
    dedupeKey: keyOf(because, simId),
    rule,
    ruleVersion,
    simId,
    poolId: sim?.poolId ?? null,
    level: LogLevel.Warning,
    message: `SIM ${sim?.label ?? simId}${share} ${outcome} rule ${rule}: ${reason.replace(/\.$/, '')}. The watchdog only monitors here.`,
    cycleKey,
    explanation: null,
  }
}

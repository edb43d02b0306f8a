/**
 * Keeps ledger rows in step with a SIM's state. A SIM contributes to the pools in which it was Active, and a move takes
 * its usage along.
 */
import { type RawBuilder, sql } from 'kysely'
import { bucketMs, type Cycle, cycleAt, nextCycle } from '../../../domain/time/cycle.ts'
import { FUTURE_MS } from '../../../domain/usage/usage-record.ts'
import { SUBJECT_CODES } from '../../../domain/watchdog/subject.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { type Seat, settleContributors, theseSims } from './contributors.ts'
import { openSince, tenantSettings } from './cycles.ts'
import { ALL_SIMS, keepAsOpened, openCycle, openedTo } from './open-cycle.ts'
import { addNewRows, changeLedger, lockPools, type Sums, sumsOfPlaces } from './pool-totals.ts'

/** The cycles that a change of a SIM's state concerns. They are locked until the transaction ends. */
export interface HeldCycles {
  /** From the one that contains an instant to the running one, and later open ones. The earliest first. */
  readonly since: readonly Cycle[]
  /** Cycles not begun yet, and the last opened SIM of each. */
  readonly ahead: readonly (Cycle & { readonly openedTo: number })[]
}

/**
 * Locks and opens the cycles from the one that contains an instant to the running one, and locks the next. Until this
 * transaction ends, no such cycle is closed, and no slice of the next is opened. Call before locking pools.
 */
export async function holdCycles(tx: TenantTx, at: Date): Promise<HeldCycles> {
  const { billingCycle, open } = await openSince(tx, at)
  const now = tx.now.getTime()
  const cycles: Cycle[] = []
  let cycle = cycleAt(billingCycle, at.getTime())
  let isAhead = false
  // One more than the begun cycles, and as many as usage may have opened.
  while (!isAhead || cycle.startsAt <= now + FUTURE_MS) {
    isAhead = cycle.startsAt > now
    cycles.push(cycle)
    cycle = nextCycle(billingCycle, cycle)
  }
  const isBegun = ({ startsAt }: Cycle) => startsAt <= now
  for (const one of cycles) if (isBegun(one) && !open.includes(one.key)) await openCycle(tx, one)
  await keepAsOpened(tx, cycles)
  const through = await openedTo(tx, cycles)
  const opened = cycles.map((one) => ({ ...one, openedTo: through.get(one.key) ?? 0 }))
  return {
    since: opened.filter((one) => one.openedTo === ALL_SIMS),
    ahead: opened.filter((one) => !isBegun(one)),
  }
}

/** Ledger rows of a cycle, inserted by a transaction for its new SIMs, and not yet in the pools' totals. */
export interface NewRows {
  readonly cycleKey: string
  readonly sums: readonly Sums[]
}

/**
 * Inserts the ledger rows of SIMs inserted by this transaction, with the usage in `usage_sums`. They contribute. No
 * other transaction sees these rows, so no lock is needed. {@link countRows} then adds them to the pools.
 */
export async function insertRows(tx: TenantTx, cycleKey: string, sims: readonly Seat[]): Promise<NewRows> {
  await sql`
    insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing, bytes, voice_seconds, sms_count)
    select ${cycleKey}, s."simId", s."poolId", s."tariffId", true, coalesce(u.bytes, 0), coalesce(u.voice_seconds, 0),
           coalesce(u.sms_count, 0)
      from jsonb_to_recordset(${JSON.stringify(sims)}::jsonb) as s("simId" bigint, "poolId" integer, "tariffId" integer)
      left join (select sim_id, sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as voice_seconds,
                        sum(sms_count)::bigint as sms_count
                   from usage_sums where cycle_key = ${cycleKey} group by sim_id) u on u.sim_id = s."simId"
     order by s."simId"`.execute(tx.q)
  return { cycleKey, sums: await sumsOfPlaces(tx, cycleKey, sims) }
}

/**
 * Adds new rows of the running cycle to the pools' totals.
 *
 * @param active the SIMs that contribute to later opened cycles too
 */
export async function countRows(tx: TenantTx, rows: NewRows, active: readonly Seat[]): Promise<void> {
  const held = await holdCycles(tx, tx.now)
  const poolIds = rows.sums.map(({ poolId }) => poolId)
  await lockPools(tx, rows.cycleKey, poolIds)
  await addNewRows(tx, rows.cycleKey, rows.sums)
  const simIds = active.map(({ simId }) => simId)
  await settleAhead(tx, held, simIds)
}

/**
 * Brings the ledger rows of SIMs in cycles not begun yet in line with the SIMs' state: in open cycles, and in one being
 * opened in slices that has come past the SIM. Call with the SIMs locked, after every change of their state.
 */
export async function settleAhead(tx: TenantTx, { ahead }: HeldCycles, simIds: readonly number[]): Promise<void> {
  for (const cycle of ahead) {
    const opened = simIds.filter((id) => id <= cycle.openedTo)
    if (opened.length > 0) await settleContributors(tx, cycle, theseSims(opened))
  }
}

/** A SIM's seat since an instant. */
export interface SeatSince extends Seat {
  readonly at: Date
}

/** A SIM that moved to another pool at or after a cycle's boundary. */
export interface Move extends SeatSince {
  /** The old pool; 0: none. */
  readonly from: number
  /** False for an unassigned SIM, which pays nowhere. */
  readonly contributes: boolean
}

/** Changes of SIMs that their ledger rows follow. No SIM is named twice. */
export interface SeatChanges {
  /** SIMs Active there since then. They contribute to every cycle since. */
  readonly active: readonly SeatSince[]
  /** SIMs with this own tariff there since then. It applies to whole rows, in every cycle since. */
  readonly tariffs: readonly SeatSince[]
  /** Records, ledger rows and the pools' buckets since then move to the new pool. */
  readonly moves: readonly Move[]
}

/** Brings ledger rows in step with changes of SIMs, cycle by cycle. Call in the transaction that makes the changes. */
export async function changeSeats(tx: TenantTx, held: HeldCycles, changes: SeatChanges): Promise<void> {
  for (const cycle of held.since) {
    const isSince = ({ at }: SeatSince) => at.getTime() < cycle.endsAt
    await changeSeatsIn(tx, cycle.key, {
      active: changes.active.filter(isSince),
      tariffs: changes.tariffs.filter(isSince),
      moves: changes.moves.filter(({ at }) => at.getTime() <= cycle.startsAt),
    })
  }
  const moves = changes.moves.filter(({ from, poolId }) => from !== poolId)
  if (moves.length === 0) return
  const { billingCycle } = await tenantSettings(tx)
  await moveBuckets(tx, moves, bucketMs(billingCycle))
  await moveRecords(tx, moves)
}

async function changeSeatsIn(tx: TenantTx, key: string, changes: SeatChanges): Promise<void> {
  const { tariffs, moves } = changes
  // A SIM that comes back in its cycle contributes already. No lock of pools is needed to see that: usage changes
  // neither, and the SIMs and the cycle are locked.
  const there = sql`l.contributing and l.tariff_id is not distinct from r."tariffId"`
  const contributing = await simsWhere(tx, key, changes.active, there)
  const active = changes.active.filter(({ simId }) => !contributing.has(simId))
  const left = moves.map(({ simId, from }) => ({ simId, poolId: from }))
  const pools = [...active, ...tariffs, ...moves, ...left].map(({ poolId }) => poolId)
  if (pools.length === 0) return
  await lockPools(tx, key, pools)
  const differing = await simsWhere(tx, key, tariffs, sql`l.tariff_id is distinct from r."tariffId"`)
  const others = tariffs.filter(({ simId }) => differing.has(simId))
  const places = [...active, ...others, ...moves, ...left].map(({ simId, poolId }) => ({ simId, poolId }))
  if (places.length === 0) return
  await changeLedger(tx, key, places, async () => {
    await contribute(tx, key, active)
    await writeOwnTariffs(tx, key, others)
    await moveRows(tx, key, moves)
  })
}

const seats = (given: readonly SeatSince[]) => sql`
  jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as r(
    "simId" bigint, "poolId" integer, "tariffId" integer, at timestamptz, "from" integer, contributes boolean)`

async function contribute(tx: TenantTx, key: string, active: readonly SeatSince[]): Promise<void> {
  if (active.length === 0) return
  await sql`
    insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing)
    select ${key}, "simId", "poolId", "tariffId", true from ${seats(active)} order by "simId"
    on conflict (tenant_id, cycle_key, sim_id, pool_id) do update
      set contributing = true, tariff_id = excluded.tariff_id`.execute(tx.q)
}

/**
 * The seats with their ledger rows `l` of a cycle, in the seat's pool or in another. Seats without a row are left out.
 */
const rowsOf = (key: string, given: readonly SeatSince[], pool = sql`r."poolId"`) => sql`
  ${seats(given)}
  cross join lateral (
    select *, ctid as place from usage_ledger
     where tenant_id = ${mine} and cycle_key = ${key} and sim_id = r."simId" and pool_id = ${pool} limit 1) l`

/** The SIMs of the seats whose ledger row `l` meets a condition. */
async function simsWhere(
  tx: TenantTx,
  key: string,
  given: readonly SeatSince[],
  condition: RawBuilder<unknown>,
): Promise<ReadonlySet<number>> {
  if (given.length === 0) return new Set()
  const { rows } = await sql<{ simId: number }>`
    select r."simId" from ${rowsOf(key, given)} where ${condition}`.execute(tx.q)
  return new Set(rows.map(({ simId }) => simId))
}

/** Writes the tariffs of seats with a ledger row. */
async function writeOwnTariffs(tx: TenantTx, key: string, tariffs: readonly SeatSince[]): Promise<void> {
  if (tariffs.length === 0) return
  await sql`
    insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id)
    select ${key}, "simId", "poolId", "tariffId" from ${seats(tariffs)} order by "simId"
    on conflict (tenant_id, cycle_key, sim_id, pool_id) do update set tariff_id = excluded.tariff_id`.execute(tx.q)
}

/**
 * Moves SIMs' ledger rows of a cycle to another pool, or changes them in place. The pools are locked, so no other
 * transaction changes a row between the search and the deletion.
 */
async function moveRows(tx: TenantTx, key: string, moves: readonly Move[]): Promise<void> {
  if (moves.length === 0) return
  await sql`
    insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing)
    select ${key}, r."simId", r."poolId", r."tariffId", l.contributing and r.contributes
      from ${rowsOf(key, moves)} where r."from" = r."poolId" order by r."simId"
    on conflict (tenant_id, cycle_key, sim_id, pool_id) do update
      set tariff_id = excluded.tariff_id, contributing = excluded.contributing`.execute(tx.q)
  await sql`
    with found as materialized (
      select r."simId" as sim_id, r."poolId" as pool_id, r."tariffId" as tariff_id,
             l.contributing and r.contributes as contributing, l.bytes, l.voice_seconds, l.sms_count, l.sessions, l.place
        from ${rowsOf(key, moves, sql`r."from"`)} where r."from" <> r."poolId"
    ), gone as (
      delete from usage_ledger where ctid = any(array(select place from found))
    )
    insert into usage_ledger as l (cycle_key, sim_id, pool_id, tariff_id, contributing, bytes, voice_seconds, sms_count,
                                   sessions)
    select ${key}, sim_id, pool_id, tariff_id, contributing, bytes, voice_seconds, sms_count, sessions
      from found order by sim_id
    on conflict (tenant_id, cycle_key, sim_id, pool_id) do update
      set tariff_id = excluded.tariff_id, contributing = l.contributing or excluded.contributing,
          bytes = l.bytes + excluded.bytes, voice_seconds = l.voice_seconds + excluded.voice_seconds,
          sms_count = l.sms_count + excluded.sms_count, sessions = l.sessions + excluded.sessions`.execute(tx.q)
}

/** Moves usage between the pools' time buckets, by the records. Call before the records move. */
async function moveBuckets(tx: TenantTx, moves: readonly Move[], widthMs: number): Promise<void> {
  await sql`
    insert into usage_buckets as b (subject_kind, subject_id, starts_at, bytes, voice_seconds, sms_count)
    select ${SUBJECT_CODES.pool}, p.pool_id, u.starts_at, sum(p.sign * u.bytes)::bigint,
           sum(p.sign * u.voice_seconds)::bigint, sum(p.sign * u.sms_count)::bigint
      from (select r."from", r."poolId", u.bytes_up + u.bytes_down as bytes, u.voice_seconds, u.sms_count,
                   date_bin(${widthMs} * interval '1 millisecond', u.at, timestamptz 'epoch') as starts_at
              from ${seats(moves)} join usage_records u on ${recordsOf(moves)}) u
     cross join lateral (values (u."from"::bigint, -1), (u."poolId"::bigint, 1)) as p(pool_id, sign)
     where p.pool_id <> 0
     group by p.pool_id, u.starts_at
     order by p.pool_id, u.starts_at
    on conflict (tenant_id, subject_kind, subject_id, starts_at) do update
      set bytes = b.bytes + excluded.bytes, voice_seconds = b.voice_seconds + excluded.voice_seconds,
          sms_count = b.sms_count + excluded.sms_count`.execute(tx.q)
}

/** A condition: the records `u` of moves since their instants. Names the earliest instant, to skip older partitions. */
const recordsOf = (moves: readonly Move[]): RawBuilder<unknown> => {
  const earliest = new Date(Math.min(...moves.map(({ at }) => at.getTime())))
  return sql`u.at >= ${earliest} and u.sim_id = r."simId" and u.pool_id = r."from" and u.at >= r.at
       and u.sim_id = any(${moves.map(({ simId }) => simId)}::bigint[])`
}

async function moveRecords(tx: TenantTx, moves: readonly Move[]): Promise<void> {
  await sql`
    update usage_records u set pool_id = r."poolId" from ${seats(moves)} where ${recordsOf(moves)}`.execute(tx.q)
}

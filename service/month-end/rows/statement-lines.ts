/**
 * The lines of a cycle's statement, calculated from its ledger, and the changes since they were stated. A close writes
 * the lines part by part; a plan adds them up from the same select.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { EMPTY_CAPACITY, OVERAGE_BYTES } from '../../usage/rows/figures.ts'
import { ALL_SIMS } from '../../usage/rows/open-cycle.ts'

/** A part of a ledger: whole pools, or some SIMs of one unshared pool. */
export interface StatementPart {
  /** 0: outside pools. */
  readonly poolIds: readonly number[]
  /** Only SIMs with a higher id than `after`, up to `through`, and not the pool's own line. */
  readonly sims?: { readonly after: number; readonly through: number }
}

/** Columns of a line, without its kind. */
const COLUMNS = sql`pool_id, pool_name, sim_id, iccid, tag, tariff_id, bytes, voice_seconds, sms_count,
  limit_bytes, overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro`

/**
 * Selects the present lines of a cycle, one for each SIM and each pool, unsorted. Money in micro-units.
 *
 * Fees are those of the governing tariff. A SIM pays the monthly fee for every ledger row that contributes: the SIM was
 * Active in it. A pool that existed in the cycle pays for its bucket, whether used or not. Products are exact; `div(2a
 * + b, 2b)` rounds half up.
 *
 * The overage of shared pools is divided here, to the byte. The select locks and changes nothing.
 *
 * @param part omitted: all
 */
export function linesNow(tx: TenantTx, cycle: Cycle, part?: StatementPart): RawBuilder<unknown> {
  const among = (column: RawBuilder<unknown>) => (part === undefined ? sql`` : sql`and ${inPools(column, part)}`)
  // Rows of a part are looked up one by one (`limit 1`): a join would read all SIMs of the estate for it.
  const ofSims =
    part === undefined
      ? sql`join sims s on s.id = f.sim_id`
      : sql`cross join lateral (select iccid, tag from sims where id = f.sim_id limit 1) s`
  const poolsNow = sql`
    union all
    select 'pool', p.id, p.name, null, null, null, p.tariff_id, coalesce(u.bytes, 0), coalesce(u.voice_seconds, 0),
           coalesce(u.sms_count, 0),
           greatest(${EMPTY_CAPACITY}, coalesce(u.limit_bytes, 0)),
           coalesce(u.overage_bytes, 0), t.fixed_bucket_cost, 0, 0, 0
      from pools p
      join tariffs t on t.id = p.tariff_id
      left join pools_used u on u.pool_id = p.id
     where p.tenant_id = ${mine} ${among(sql`p.id`)}
       and (u.bytes > 0 or u.voice_seconds > 0 or u.sms_count > 0 or u.contributing
            or t.fixed_bucket_cost > 0 and p.created_at < ${new Date(cycle.endsAt)}
               and (p.deleted_at is null or p.deleted_at > ${new Date(cycle.startsAt)}))`
  return sql`
    with places as materialized (
      select * from overage_places(
        ${cycle.key},
        array(select pool_id from pool_cycles
               where tenant_id = ${mine} and cycle_key = ${cycle.key} and pool_id <> 0 ${among(sql`pool_id`)}),
        null)
    ), figures as (
      -- A full join is never run as nested loops. Each of the places has ledger rows.
      select f.pool_id, f.sim_id, f.governing_tariff_id, f.contributing, f.bytes, f.voice_seconds, f.sms_count,
             f.limit_bytes, ${OVERAGE_BYTES} as overage_bytes
        from (select * from ledger_figures
               where tenant_id = ${mine} and cycle_key = (select ${cycle.key}::text) ${among(sql`pool_id`)}
                     ${simsOf(part, sql`sim_id`)}) f
        full join places o on o.pool_id = f.pool_id
       where coalesce(f.sim_id, 0) > 0
    ), pools_used as (
      select pool_id, sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as voice_seconds,
             sum(sms_count)::bigint as sms_count, sum(limit_bytes)::bigint as limit_bytes,
             sum(overage_bytes)::bigint as overage_bytes, bool_or(contributing) as contributing
        from figures group by pool_id
    )
    select 'sim' as kind, f.pool_id, coalesce(p.name, '') as pool_name, f.sim_id, s.iccid, s.tag, t.id as tariff_id,
           f.bytes, f.voice_seconds, f.sms_count, f.limit_bytes, f.overage_bytes,
           case when f.contributing then coalesce(t.sim_monthly_fee, 0) else 0 end as fee_micro,
           f.sms_count * coalesce(t.sms_fee, 0) as sms_micro,
           div(2 * f.voice_seconds::numeric * coalesce(t.voice_fee, 0) + 60, 120)::bigint as voice_micro,
           div(2 * f.overage_bytes::numeric * coalesce(t.overage_fee_per_gb, 0) + 1000000000, 2000000000)::bigint
             as overage_micro
      from figures f
      ${ofSims}
      left join pools p on p.id = f.pool_id
      left join tariffs t on t.id = f.governing_tariff_id ${part?.sims === undefined ? poolsNow : sql``}`
}

const inPools = (column: RawBuilder<unknown>, { poolIds }: StatementPart) =>
  sql`${column} = any(${[...poolIds]}::integer[])`
const simsOf = (part: StatementPart | undefined, column: RawBuilder<unknown>) =>
  part?.sims === undefined
    ? sql``
    : sql`and ${column} > ${part.sims.after}::bigint and ${column} <= ${part.sims.through}::bigint`

/**
 * Selects how the charges of a part of a closed cycle now differ from all statements so far, by pool and SIM. A changed
 * share of a SIM alone makes no line, because a share costs nothing.
 */
export const differences = (tx: TenantTx, cycle: Cycle, part: StatementPart): RawBuilder<unknown> => sql`
  select pool_id, coalesce(max(pool_name) filter (where is_now), max(pool_name)) as pool_name, sim_id,
         max(iccid) as iccid, coalesce(max(tag) filter (where is_now), max(tag)) as tag,
         coalesce(max(tariff_id) filter (where is_now), max(tariff_id)) as tariff_id,
         sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as voice_seconds, sum(sms_count)::bigint as sms_count,
         sum(limit_bytes)::bigint as limit_bytes, sum(overage_bytes)::bigint as overage_bytes,
         sum(fee_micro)::bigint as fee_micro, sum(sms_micro)::bigint as sms_micro,
         sum(voice_micro)::bigint as voice_micro, sum(overage_micro)::bigint as overage_micro
    from (select true as is_now, ${COLUMNS} from (${linesNow(tx, cycle, part)}) l
          union all
          select false, pool_id, pool_name, sim_id, iccid, tag, tariff_id, -bytes, -voice_seconds, -sms_count, -limit_bytes,
                 -overage_bytes, -fee_micro, -sms_micro, -voice_micro, -overage_micro
            from statements
           where tenant_id = ${mine} and ${inPools(sql`pool_id`, part)} ${simsOf(part, sql`sim_id`)}
             and (cycle_key = ${cycle.key} and kind in ('sim', 'pool') or adjusts = ${cycle.key})) both_sides
   group by pool_id, sim_id
  having sum(bytes) <> 0 or sum(voice_seconds) <> 0 or sum(sms_count) <> 0 or sum(overage_bytes) <> 0
      or sum(fee_micro) <> 0 or sum(sms_micro) <> 0 or sum(voice_micro) <> 0 or sum(overage_micro) <> 0
      or sim_id is null and sum(limit_bytes) <> 0`

interface Insertion {
  /** Key of the statement's cycle. */
  readonly closing: string
  /** Key of the cycle that the lines are about. */
  readonly ledger: string
  readonly part: StatementPart
  /** Id reserved for the pool's own line. */
  readonly lineId?: number | null
}

/**
 * Inserts lines, and adds them to the sums of the statement's parts. Every pool of the part gets a row of sums, even
 * without lines: the row has the version of its usage at which the pool was stated.
 */
async function insertLines(
  tx: TenantTx,
  { closing, ledger, part, lineId = null }: Insertion,
  lines: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    with written as (
      insert into statements (cycle_key, kind, adjusts, ${COLUMNS}) ${lines}
       order by pool_id, sim_id nulls first
      returning pool_id, pool_name, sim_id, bytes, voice_seconds, sms_count, limit_bytes, overage_bytes,
                fee_micro + sms_micro + voice_micro + overage_micro as micro
    ), sums as (
      select pool_id, max(pool_name) as pool_name, count(*) as lines, sum(bytes) filter (where sim_id is not null) as bytes,
             sum(voice_seconds) filter (where sim_id is not null) as voice_seconds,
             sum(sms_count) filter (where sim_id is not null) as sms_count,
             coalesce(max(limit_bytes) filter (where sim_id is null), sum(limit_bytes)) as limit_bytes,
             sum(overage_bytes) filter (where sim_id is not null) as overage_bytes, sum(micro) as micro
        from written group by pool_id
    )
    insert into statement_parts as p (cycle_key, adjusts, pool_id, pool_name, usage_version, lines, bytes, voice_seconds,
                                      sms_count, limit_bytes, overage_bytes, charge_micro, line_id)
    select ${closing}, ${closing === ledger ? '' : ledger}, c.pool_id, coalesce(s.pool_name, ''), c.usage_version,
           coalesce(s.lines, 0), coalesce(s.bytes, 0), coalesce(s.voice_seconds, 0), coalesce(s.sms_count, 0),
           coalesce(s.limit_bytes, 0), coalesce(s.overage_bytes, 0), coalesce(s.micro, 0), ${lineId}::bigint
      from pool_cycles c
      left join sums s on s.pool_id = c.pool_id
     where c.tenant_id = ${mine} and c.cycle_key = ${ledger} and ${inPools(sql`c.pool_id`, part)}
     order by c.pool_id
    on conflict (tenant_id, cycle_key, adjusts, pool_id) do update
      set lines = p.lines + excluded.lines, bytes = p.bytes + excluded.bytes,
          voice_seconds = p.voice_seconds + excluded.voice_seconds, sms_count = p.sms_count + excluded.sms_count,
          limit_bytes = p.limit_bytes + excluded.limit_bytes, overage_bytes = p.overage_bytes + excluded.overage_bytes,
          charge_micro = p.charge_micro + excluded.charge_micro`.execute(tx.q)
}

/**
 * Writes a part of a cycle's own lines, pools by id, each pool before its SIMs. Call with the pools locked.
 *
 * If a pool is written in several parts, its own line is written with the last SIMs, as the sum of the lines of all its
 * SIMs. Its id was drawn before theirs, so it is read before them.
 */
export async function writeLines(tx: TenantTx, cycle: Cycle, part: StatementPart): Promise<void> {
  const [poolId] = part.poolIds
  const cut = part.sims !== undefined && poolId !== undefined && poolId !== 0 ? { ...part.sims, poolId } : undefined
  await insertLines(
    tx,
    { closing: cycle.key, ledger: cycle.key, part, lineId: cut?.after === 0 ? await nextLineId(tx) : null },
    sql`select ${cycle.key}, kind, null, ${COLUMNS} from (${linesNow(tx, cycle, part)}) l`,
  )
  if (cut?.through === ALL_SIMS) await writeOwnLine(tx, cycle, cut.poolId)
}

async function nextLineId(tx: TenantTx): Promise<number | null> {
  const { rows } = await sql<{ id: number }>`
    select nextval(pg_get_serial_sequence('statements', 'id')) as id`.execute(tx.q)
  return rows[0]?.id ?? null
}

/** Writes the own line of a pool after the lines of its SIMs. */
async function writeOwnLine(tx: TenantTx, cycle: Cycle, poolId: number): Promise<void> {
  await sql`
    with written as (
      insert into statements (id, cycle_key, kind, ${COLUMNS}) overriding system value
      select s.line_id, s.cycle_key, 'pool', p.id, p.name, null, null, null, t.id, s.bytes, s.voice_seconds, s.sms_count,
             s.limit_bytes, s.overage_bytes, t.fixed_bucket_cost, 0, 0, 0
        from statement_parts s
        join pools p on p.id = s.pool_id
        join tariffs t on t.id = p.tariff_id
       where s.tenant_id = ${mine} and s.cycle_key = ${cycle.key} and s.adjusts = '' and s.pool_id = ${poolId}
      returning pool_id, pool_name, fee_micro
    )
    update statement_parts s
       set pool_name = w.pool_name, lines = s.lines + 1, charge_micro = s.charge_micro + w.fee_micro
      from written w
     where s.tenant_id = ${mine} and s.cycle_key = ${cycle.key} and s.adjusts = '' and s.pool_id = w.pool_id`.execute(
    tx.q,
  )
}

/**
 * Writes the changes of a part of an earlier cycle into the statement of the cycle being closed. Call with the pools
 * locked.
 *
 * @param closing key of the cycle being closed
 * @param cycle the earlier cycle
 */
export const writeAdjustments = (tx: TenantTx, closing: string, cycle: Cycle, part: StatementPart): Promise<void> =>
  insertLines(
    tx,
    { closing, ledger: cycle.key, part },
    sql`select ${closing}, 'adjustment', ${cycle.key}, ${COLUMNS} from (${differences(tx, cycle, part)}) d`,
  )

/** Number of a statement's lines, and the sum of their charges in micro-units. */
export interface StatementSum {
  readonly lines: number
  readonly totalMicro: number
}

/** Finishes a statement: writes the sums of its parts, and an `empty` line if it has no lines. */
export async function writeTotals(tx: TenantTx, cycleKey: string): Promise<StatementSum> {
  const { rows } = await sql<StatementSum>`
    insert into statement_totals (cycle_key, lines, total_micro)
    select ${cycleKey}, coalesce(sum(lines), 0), coalesce(sum(charge_micro), 0)
      from statement_parts where tenant_id = ${mine} and cycle_key = ${cycleKey}
    returning lines, total_micro as "totalMicro"`.execute(tx.q)
  const [totals] = rows
  if (totals === undefined) throw new Error(`the totals of ${cycleKey} were not written`)
  if (totals.lines > 0) return totals
  await sql`
    insert into statements (cycle_key, kind, pool_id, pool_name, bytes, voice_seconds, sms_count, limit_bytes,
                            overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro)
    values (${cycleKey}, 'empty', 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0)`.execute(tx.q)
  return totals
}

/**
 * The lines of a cycle's statement, calculated from its ledger, and what has changed since they were stated. A close
 * writes the lines and a plan adds them up, both from the same select.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { TenantTx } from '../tenancy.ts'

/** Columns of a line, without its kind. */
const COLUMNS = sql`pool_id, pool_name, sim_id, iccid, tariff_id, bytes, voice_seconds, sms_count, limit_bytes,
  overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro`

/**
 * Selects the lines of a cycle as they stand now, one for each SIM and each pool, unsorted. Money in micro-units.
 *
 * Fees are those of the governing tariff. A SIM pays the monthly fee for every ledger row in which it was Active. A
 * pool that existed in the cycle pays for its bucket, whether used or not. Products are exact; `div(2a + b, 2b)` rounds
 * half up.
 *
 * The overage of shared pools is divided here, to the byte. The select locks and changes nothing.
 *
 * @param poolIds only these pools (0: outside pools); omitted: all
 */
export function linesNow(tx: TenantTx, cycle: Cycle, poolIds?: readonly number[]): RawBuilder<unknown> {
  const among = (column: RawBuilder<unknown>) =>
    poolIds === undefined ? sql`` : sql`and ${column} = any(${[...poolIds]}::integer[])`
  return sql`
    with figures as (
      select f.pool_id, f.sim_id, f.governing_tariff_id, f.contributing, f.bytes, f.voice_seconds, f.sms_count,
             f.limit_bytes,
             case when f.is_shared then coalesce(d.overage_bytes, 0) else f.excess_bytes end as overage_bytes
        from ledger_figures f
        left join divided_overage(
               ${cycle.key}, array(select pool_id from pool_cycles
                                    where tenant_id = ${tx.tenantId} and cycle_key = ${cycle.key} ${among(sql`pool_id`)})) d
          on d.pool_id = f.pool_id and d.sim_id = f.sim_id
       where f.tenant_id = ${tx.tenantId} and f.cycle_key = ${cycle.key} ${among(sql`f.pool_id`)}
    ), pools_used as (
      select pool_id, sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as voice_seconds,
             sum(sms_count)::bigint as sms_count, sum(limit_bytes)::bigint as limit_bytes,
             sum(overage_bytes)::bigint as overage_bytes, bool_or(contributing) as contributing
        from figures group by pool_id
    )
    select 'sim' as kind, f.pool_id, coalesce(p.name, '') as pool_name, f.sim_id, s.iccid, t.id as tariff_id, f.bytes,
           f.voice_seconds, f.sms_count, f.limit_bytes, f.overage_bytes,
           case when f.contributing then coalesce(t.sim_monthly_fee, 0) else 0 end as fee_micro,
           f.sms_count * coalesce(t.sms_fee, 0) as sms_micro,
           div(2 * f.voice_seconds::numeric * coalesce(t.voice_fee, 0) + 60, 120)::bigint as voice_micro,
           div(2 * f.overage_bytes::numeric * coalesce(t.overage_fee_per_gb, 0) + 1000000000, 2000000000)::bigint
             as overage_micro
      from figures f
      join sims s on s.id = f.sim_id
      left join pools p on p.id = f.pool_id
      left join tariffs t on t.id = f.governing_tariff_id
    union all
    select 'pool', p.id, p.name, null, null, p.tariff_id, coalesce(u.bytes, 0), coalesce(u.voice_seconds, 0),
           coalesce(u.sms_count, 0), case when t.type = 2 then t.allowance_bytes else coalesce(u.limit_bytes, 0) end,
           coalesce(u.overage_bytes, 0), t.fixed_bucket_cost, 0, 0, 0
      from pools p
      join tariffs t on t.id = p.tariff_id
      left join pools_used u on u.pool_id = p.id
     where p.tenant_id = ${tx.tenantId} ${among(sql`p.id`)}
       and (u.bytes > 0 or u.voice_seconds > 0 or u.sms_count > 0 or u.contributing
            or t.fixed_bucket_cost > 0 and p.created_at < ${new Date(cycle.endsAt)}
               and (p.deleted_at is null or p.deleted_at > ${new Date(cycle.startsAt)}))`
}

/**
 * Selects how the charges of a closed cycle's pools now differ from all statements so far, by pool and SIM. A changed
 * share of a SIM makes no line by itself, because a share costs nothing.
 */
export const differences = (tx: TenantTx, cycle: Cycle, poolIds: readonly number[]): RawBuilder<unknown> => sql`
  select pool_id, coalesce(max(pool_name) filter (where is_now), max(pool_name)) as pool_name, sim_id,
         max(iccid) as iccid, coalesce(max(tariff_id) filter (where is_now), max(tariff_id)) as tariff_id,
         sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as voice_seconds, sum(sms_count)::bigint as sms_count,
         sum(limit_bytes)::bigint as limit_bytes, sum(overage_bytes)::bigint as overage_bytes,
         sum(fee_micro)::bigint as fee_micro, sum(sms_micro)::bigint as sms_micro,
         sum(voice_micro)::bigint as voice_micro, sum(overage_micro)::bigint as overage_micro
    from (select true as is_now, ${COLUMNS} from (${linesNow(tx, cycle, poolIds)}) l
          union all
          select false, pool_id, pool_name, sim_id, iccid, tariff_id, -bytes, -voice_seconds, -sms_count, -limit_bytes,
                 -overage_bytes, -fee_micro, -sms_micro, -voice_micro, -overage_micro
            from statements
           where tenant_id = ${tx.tenantId} and pool_id = any(${[...poolIds]}::integer[])
             and (cycle_key = ${cycle.key} and kind in ('sim', 'pool') or adjusts = ${cycle.key})) both_sides
   group by pool_id, sim_id
  having sum(bytes) <> 0 or sum(voice_seconds) <> 0 or sum(sms_count) <> 0 or sum(overage_bytes) <> 0
      or sum(fee_micro) <> 0 or sum(sms_micro) <> 0 or sum(voice_micro) <> 0 or sum(overage_micro) <> 0
      or sim_id is null and sum(limit_bytes) <> 0`

/** Number of lines that were written, and the sum of their charges in micro-units. */
export interface Written {
  readonly lines: number
  readonly totalMicro: number
}

const written = (insert: RawBuilder<unknown>) => sql<Written>`
  with written as (
    ${insert} returning fee_micro + sms_micro + voice_micro + overage_micro as micro
  )
  select count(*)::integer as lines, coalesce(sum(micro), 0)::bigint as "totalMicro" from written`

/** Writes a cycle's own lines, pools by id, each pool before its SIMs. */
export async function writeLines(tx: TenantTx, cycle: Cycle): Promise<Written> {
  const { rows } = await written(sql`
    insert into statements (cycle_key, kind, ${COLUMNS})
    select ${cycle.key}, kind, ${COLUMNS} from (${linesNow(tx, cycle)}) l
     order by pool_id, sim_id nulls first`).execute(tx.q)
  return rows[0] ?? { lines: 0, totalMicro: 0 }
}

/**
 * Writes the changes of an earlier cycle into the statement of the cycle that is being closed. Call with the pools
 * locked.
 *
 * @param closing key of the cycle that is being closed
 * @param cycle the earlier cycle
 */
export async function writeAdjustments(
  tx: TenantTx,
  closing: string,
  cycle: Cycle,
  poolIds: readonly number[],
): Promise<Written> {
  const { rows } = await written(sql`
    insert into statements (cycle_key, kind, adjusts, ${COLUMNS})
    select ${closing}, 'adjustment', ${cycle.key}, ${COLUMNS} from (${differences(tx, cycle, poolIds)}) d
     order by pool_id, sim_id nulls first`).execute(tx.q)
  return rows[0] ?? { lines: 0, totalMicro: 0 }
}

/** Finishes a statement: writes its totals, and an `empty` line if it has no other. */
export async function writeTotals(tx: TenantTx, cycleKey: string, { lines, totalMicro }: Written): Promise<void> {
  if (lines === 0) {
    await sql`
      insert into statements (cycle_key, kind, pool_id, pool_name, bytes, voice_seconds, sms_count, limit_bytes,
                              overage_bytes, fee_micro, sms_micro, voice_micro, overage_micro)
      values (${cycleKey}, 'empty', 0, '', 0, 0, 0, 0, 0, 0, 0, 0, 0)`.execute(tx.q)
  }
  await sql`
    insert into statement_totals (cycle_key, lines, total_micro) values (${cycleKey}, ${lines}, ${totalMicro})`.execute(
    tx.q,
  )
}

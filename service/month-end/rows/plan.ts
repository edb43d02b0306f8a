/** The sums behind the plan of a month end. Only reads, takes no locks, and adds up in the database, not in memory. */
import { type RawBuilder, sql } from 'kysely'
import type { PlannedPool } from '../../../domain/month-end/plan.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { differences, linesNow, type StatementSum } from './statement-lines.ts'

/** Sums of a pool's statement lines. Money in micro-units of the currency. */
export interface PoolCharges extends Readonly<Omit<PlannedPool, 'nextLimitBytes' | 'totalMicro'>> {
  /** Of overage at the end of the cycle, by the share of it that is known. */
  readonly forecastOverageMicro: number
}

const stated = (tx: TenantTx, cycleKey: string) => sql`
  select * from statements
   where tenant_id = ${mine} and cycle_key = ${cycleKey} and kind in ('sim', 'pool')`

/**
 * Sums the lines of a cycle by pool.
 *
 * Overage is forecast as if usage went on as it did: of a shared pool by the usage of all its SIMs, elsewhere by that
 * of each. A share of 1 adds nothing to the charges so far.
 *
 * @param closed true: the lines of its statement; false: the lines that a statement would have now
 * @param share part of the cycle with known usage, above 0 and at most 1
 */
export async function poolCharges(tx: TenantTx, cycle: Cycle, closed: boolean, share = 1): Promise<PoolCharges[]> {
  const atEnd = sql`floor(l.bytes / ${share}::numeric)`
  const charge = (bytes: RawBuilder<unknown>) =>
    sql`div(2 * greatest(0, ${bytes}) * coalesce(t.overage_fee_per_gb, 0) + 1000000000, 2000000000)`
  const isShared = sql`coalesce(t.type, 0) <> 0`
  const { rows } = await sql<PoolCharges>`
    select pool_id as "poolId", max(pool_name) as "poolName", count(*)::integer as lines,
           coalesce(sum(bytes) filter (where kind = 'sim'), 0)::bigint as "usageBytes",
           coalesce(sum(voice_seconds) filter (where kind = 'sim'), 0)::bigint as "voiceSeconds",
           coalesce(sum(sms_count) filter (where kind = 'sim'), 0)::bigint as "smsCount",
           coalesce(max(limit_bytes) filter (where kind = 'pool'), sum(limit_bytes))::bigint as "limitBytes",
           coalesce(sum(overage_bytes) filter (where kind = 'sim'), 0)::bigint as "overageBytes",
           sum(fee_micro)::bigint as "feeMicro", sum(sms_micro)::bigint as "smsMicro",
           sum(voice_micro)::bigint as "voiceMicro", sum(overage_micro)::bigint as "overageMicro",
           sum(case when l.kind = 'sim' and not ${isShared}
                    then ${charge(sql`greatest(l.overage_bytes, ${atEnd} - l.limit_bytes)`)}
                    when l.kind = 'sim' then l.overage_micro
                    when ${isShared} then ${charge(sql`${atEnd} - l.limit_bytes`)} - ${charge(sql`l.bytes - l.limit_bytes`)}
                    else 0 end)::bigint as "forecastOverageMicro"
      from (${closed ? stated(tx, cycle.key) : linesNow(tx, cycle)}) l
      left join tariffs t on t.id = l.tariff_id
     group by pool_id
     order by pool_id`.execute(tx.q)
  return rows
}

/** The adjustment of a closed cycle, if it were made now: number of lines, and money in micro-units. */
export async function adjustmentNow(tx: TenantTx, cycle: Cycle, poolIds: readonly number[]): Promise<StatementSum> {
  const { rows } = await sql<StatementSum>`
    select count(*)::integer as lines,
           coalesce(sum(fee_micro + sms_micro + voice_micro + overage_micro), 0)::bigint as "totalMicro"
      from (${differences(tx, cycle, { poolIds })}) d`.execute(tx.q)
  return rows[0] ?? { lines: 0, totalMicro: 0 }
}

/** A pool and its tariff. */
export interface PlainPool {
  readonly poolId: number
  readonly poolName: string
  readonly tariffId: number
}

/** Reads all pools by id, without deleted ones. */
export async function plainPools(tx: TenantTx): Promise<PlainPool[]> {
  const { rows } = await sql<PlainPool>`
    select id as "poolId", name as "poolName", tariff_id as "tariffId" from pools
     where tenant_id = ${mine} and deleted_at is null order by id`.execute(tx.q)
  return rows
}

/**
 * Does work, then rolls back all writes and locks. Jobs and work for the end of the transaction are dropped.
 *
 * @returns the work's result
 */
export async function takenBack<T>(tx: TenantTx, work: (tx: TenantTx) => Promise<T>): Promise<T> {
  await sql`savepoint taken_back`.execute(tx.q)
  const result = await work({ ...tx, enqueue: () => undefined, atEnd: () => undefined })
  await sql`rollback to savepoint taken_back`.execute(tx.q)
  return result
}

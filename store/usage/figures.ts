/**
 * Limit, usage, remaining and overage of pools and SIMs in a cycle, each read in one statement and so of one moment.
 * Nothing is locked or written.
 */
import { sql } from 'kysely'
import type { TenantTx } from '../tenancy.ts'

export interface Figures {
  readonly limitBytes: number
  readonly usageBytes: number
  readonly remainingBytes: number
  readonly overageBytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
}
/** Of a subject without a ledger row. */
export const NO_FIGURES: Figures = {
  limitBytes: 0,
  usageBytes: 0,
  remainingBytes: 0,
  overageBytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
}
export type SimFigures = Figures
export type PoolFigures = Figures

/**
 * Ledger rows of a shared pool up to which a SIM's overage is exact. In larger pools it is rounded down, so the SIMs'
 * overage may add up to less than the pool's, by less than a byte a SIM.
 */
const EXACT_ROWS = 10_000
/** For reads of whole pools. */
export const ALL_ROWS = 2_147_483_646

/** Figures of pools, by id. A pool's sums include SIMs that left it during the cycle. */
export async function poolFigures(
  tx: TenantTx,
  cycleKey: string,
  poolIds: readonly number[],
): Promise<Map<number, PoolFigures>> {
  // A pool without totals in this cycle still has its capacity.
  const { rows } = await sql<PoolFigures & { poolId: number }>`
    select ids.id as "poolId",
           coalesce(f.limit_bytes, case when t.type = 2 then t.allowance_bytes else 0 end) as "limitBytes",
           coalesce(f.bytes, 0) as "usageBytes",
           coalesce(f.remaining_bytes, case when t.type = 2 then t.allowance_bytes else 0 end) as "remainingBytes",
           coalesce(f.overage_bytes, 0) as "overageBytes", coalesce(f.voice_seconds, 0) as "voiceSeconds",
           coalesce(f.sms_count, 0) as "smsCount"
      from unnest(${[...poolIds]}::integer[]) as ids(id)
      left join pools p on p.id = ids.id
      left join tariffs t on t.id = p.tariff_id
      left join pool_figures f
        on f.tenant_id = ${tx.tenantId} and f.cycle_key = ${cycleKey} and f.pool_id = ids.id`.execute(tx.q)
  return new Map(rows.map(({ poolId, ...figures }) => [poolId, figures]))
}

/**
 * Figures of SIMs, by id: sums over a SIM's ledger rows of the cycle. A SIM without rows is left out.
 *
 * @param exactRows ledger rows of a shared pool up to which the SIMs' overage adds up to the pool's
 */
export async function simFigures(
  tx: TenantTx,
  cycleKey: string,
  simIds: readonly number[],
  exactRows = EXACT_ROWS,
): Promise<Map<number, SimFigures>> {
  if (simIds.length === 0) return new Map()
  const { rows } = await sql<SimFigures & { simId: number }>`
    with mine as (
      select f.sim_id, f.pool_id, f.bytes, f.limit_bytes, f.voice_seconds, f.sms_count, f.is_shared, f.excess_bytes,
             p.overage_bytes::numeric as overage, greatest(1, p.excess_bytes)::numeric as total
        from ledger_figures f
        left join pool_figures p
          on f.is_shared and p.tenant_id = f.tenant_id and p.cycle_key = f.cycle_key and p.pool_id = f.pool_id
       where f.tenant_id = ${tx.tenantId} and f.cycle_key = ${cycleKey} and f.sim_id = any(${[...simIds]}::bigint[])
    ), places as materialized (
      select * from overage_places(
        ${cycleKey}, array(select distinct pool_id from mine where overage > 0 and excess_bytes > 0), ${exactRows})
    ), divided as (
      select m.sim_id, m.bytes, m.limit_bytes, m.voice_seconds, m.sms_count,
             case when not coalesce(m.is_shared, false) then m.excess_bytes
                  else (div(m.overage * m.excess_bytes, m.total)
                        + case when (mod(m.overage * m.excess_bytes, m.total), -m.sim_id) >= (l.remainder, -l.sim_id)
                               then 1 else 0 end)::bigint end as overage_bytes
        from mine m left join places l on l.pool_id = m.pool_id
    )
    select sim_id as "simId", sum(limit_bytes)::bigint as "limitBytes", sum(bytes)::bigint as "usageBytes",
           sum(greatest(0, limit_bytes - bytes))::bigint as "remainingBytes",
           sum(overage_bytes)::bigint as "overageBytes", sum(voice_seconds)::bigint as "voiceSeconds",
           sum(sms_count)::bigint as "smsCount"
      from divided group by sim_id`.execute(tx.q)
  return new Map(rows.map(({ simId, ...figures }) => [simId, figures]))
}

/**
 * Limit, usage, remaining and overage of pools and SIMs in a cycle, always of one usage version:
 * divisions that are due are made first.
 */
import { sql } from 'kysely'
import { ensurePools } from './cycles.ts'
import type { TenantTx } from './tenancy.ts'

export interface Figures {
  readonly limitBytes: number
  readonly usageBytes: number
  readonly remainingBytes: number
  readonly overageBytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
}
export type SimFigures = Figures
export type PoolFigures = Figures

/** Divides the overage of the given pools where usage has changed since the last time. */
export async function divideOverage(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<void> {
  if (poolIds.length === 0) return
  await sql`select divide_overage(${cycleKey}, ${[...poolIds]}::integer[])`.execute(tx.q)
}

/** Figures of pools by id; SIMs that left during the cycle are part of their pool's sums. */
export async function poolFigures(
  tx: TenantTx,
  cycleKey: string,
  poolIds: readonly number[],
): Promise<Map<number, PoolFigures>> {
  await ensurePools(tx, cycleKey, poolIds)
  await divideOverage(tx, cycleKey, poolIds)
  const { rows } = await sql<PoolFigures & { poolId: number }>`
    select ids.id as "poolId",
           coalesce(pc.limit_bytes, 0) as "limitBytes", coalesce(pc.bytes, 0) as "usageBytes",
           coalesce(pc.remaining_bytes, 0) as "remainingBytes", coalesce(pc.overage_bytes, 0) as "overageBytes",
           coalesce(pc.voice_seconds, 0) as "voiceSeconds", coalesce(pc.sms_count, 0) as "smsCount"
      from unnest(${[...poolIds]}::integer[]) as ids(id)
      left join pool_cycles pc
        on pc.tenant_id = ${tx.tenantId} and pc.cycle_key = ${cycleKey} and pc.pool_id = ids.id`.execute(tx.q)
  return new Map(rows.map(({ poolId, ...figures }) => [poolId, figures]))
}

/** Figures of SIMs by id: sums over the SIM's ledger rows of the cycle. A SIM without rows is left out. */
export async function simFigures(
  tx: TenantTx,
  cycleKey: string,
  simIds: readonly number[],
): Promise<Map<number, SimFigures>> {
  if (simIds.length === 0) return new Map()
  // Rows outside shared pools have what they need in themselves.
  const pools = await sql<{ pool_id: number }>`
    select distinct l.pool_id
      from usage_ledger l
      join pools p on p.id = l.pool_id
      join tariffs t on t.id = p.tariff_id
     where l.tenant_id = ${tx.tenantId} and l.cycle_key = ${cycleKey} and l.sim_id = any(${[...simIds]}::bigint[])
       and t.type <> 0`.execute(tx.q)
  await divideOverage(
    tx,
    cycleKey,
    pools.rows.map((row) => row.pool_id),
  )
  const { rows } = await sql<SimFigures & { simId: number }>`
    select sim_id as "simId", sum(limit_bytes)::bigint as "limitBytes", sum(bytes)::bigint as "usageBytes",
           sum(greatest(0, limit_bytes - bytes))::bigint as "remainingBytes",
           sum(overage_bytes)::bigint as "overageBytes",
           sum(voice_seconds)::bigint as "voiceSeconds", sum(sms_count)::bigint as "smsCount"
      from ledger_figures
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and sim_id = any(${[...simIds]}::bigint[])
     group by sim_id`.execute(tx.q)
  return new Map(rows.map(({ simId, ...figures }) => [simId, figures]))
}

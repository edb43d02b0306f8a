/**
 * Limit, usage, remaining and overage of pools and SIMs in a cycle, always at one usage version. Overage that is not
 * yet divided among the SIMs is divided first.
 */
import { sql } from 'kysely'
import type { TenantTx } from '../tenancy.ts'
import { lockPools } from './pool-totals.ts'

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

/** Divides the overage of those given pools whose usage has changed since the last division. */
export async function divideOverage(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<void> {
  if (poolIds.length === 0) return
  await sql`select divide_overage(${cycleKey}, ${[...poolIds]}::integer[])`.execute(tx.q)
}

/**
 * Reads figures. If a division is due for some of them, locks and divides their pools and reads again. The lock keeps
 * usage from being counted between division and reading; otherwise the figures would mix two versions.
 */
async function ofOneVersion<Row extends { readonly stale: boolean; readonly poolIds: readonly number[] }>(
  tx: TenantTx,
  cycleKey: string,
  read: () => Promise<Row[]>,
): Promise<Row[]> {
  const rows = await read()
  if (!rows.some(({ stale }) => stale)) return rows
  const poolIds = rows.flatMap((row) => row.poolIds)
  await lockPools(tx, cycleKey, poolIds)
  await divideOverage(tx, cycleKey, poolIds)
  return read()
}

/** Figures of pools, by id. A pool's sums include SIMs that left it during the cycle. */
export async function poolFigures(
  tx: TenantTx,
  cycleKey: string,
  poolIds: readonly number[],
): Promise<Map<number, PoolFigures>> {
  const rows = await ofOneVersion(tx, cycleKey, async () => {
    // A pool without totals in this cycle still has its capacity. It counts as stale, so that its totals are made.
    const { rows } = await sql<PoolFigures & { poolIds: [number]; stale: boolean }>`
      select array[ids.id] as "poolIds", coalesce(pc.divided_version < pc.usage_version, true) as stale,
             coalesce(pc.limit_bytes, 0) as "limitBytes", coalesce(pc.bytes, 0) as "usageBytes",
             coalesce(pc.remaining_bytes, 0) as "remainingBytes", coalesce(pc.overage_bytes, 0) as "overageBytes",
             coalesce(pc.voice_seconds, 0) as "voiceSeconds", coalesce(pc.sms_count, 0) as "smsCount"
        from unnest(${[...poolIds]}::integer[]) as ids(id)
        left join pool_cycles pc
          on pc.tenant_id = ${tx.tenantId} and pc.cycle_key = ${cycleKey} and pc.pool_id = ids.id`.execute(tx.q)
    return rows
  })
  return new Map(rows.map(({ poolIds: [poolId], stale: _, ...figures }) => [poolId, figures]))
}

/** Figures of SIMs, by id: sums over a SIM's ledger rows of the cycle. A SIM without rows is left out. */
export async function simFigures(
  tx: TenantTx,
  cycleKey: string,
  simIds: readonly number[],
): Promise<Map<number, SimFigures>> {
  if (simIds.length === 0) return new Map()
  const rows = await ofOneVersion(tx, cycleKey, async () => {
    // A row that a Standard tariff governs shares no allowance, so it needs no division.
    const { rows } = await sql<SimFigures & { simId: number; poolIds: number[]; stale: boolean }>`
      select f.sim_id as "simId", sum(f.limit_bytes)::bigint as "limitBytes", sum(f.bytes)::bigint as "usageBytes",
             sum(greatest(0, f.limit_bytes - f.bytes))::bigint as "remainingBytes",
             sum(f.overage_bytes)::bigint as "overageBytes",
             sum(f.voice_seconds)::bigint as "voiceSeconds", sum(f.sms_count)::bigint as "smsCount",
             coalesce(array_agg(f.pool_id) filter (where f.governing_type <> 0), '{}') as "poolIds",
             coalesce(bool_or(pc.divided_version < pc.usage_version) filter (where f.governing_type <> 0), false) as stale
        from ledger_figures f
        left join pool_cycles pc
          on pc.tenant_id = f.tenant_id and pc.cycle_key = f.cycle_key and pc.pool_id = f.pool_id
       where f.tenant_id = ${tx.tenantId} and f.cycle_key = ${cycleKey} and f.sim_id = any(${[...simIds]}::bigint[])
       group by f.sim_id`.execute(tx.q)
    return rows
  })
  return new Map(rows.map(({ simId, poolIds: _, stale: __, ...figures }) => [simId, figures]))
}

/** Opening a billing cycle, and who contributes to it. */

import { type RawBuilder, sql } from 'kysely'
import type { Cycle } from '../../domain/time/cycle.ts'
import { markAllDue, markDue } from '../due.ts'
import type { TenantTx } from '../tenancy.ts'
import { lockPools, sumPools } from './pool-totals.ts'
import { restating } from './restatements.ts'

/**
 * Selects the SIMs that are Active in a cycle or resume at its start. One row for each pool that a SIM is in meanwhile,
 * with its last own tariff there.
 *
 * @param among a condition on `sim_id`, to select some of them
 */
export function contributors({ key, ...cycle }: Cycle, among: RawBuilder<unknown> = sql``): RawBuilder<unknown> {
  const startsAt = new Date(cycle.startsAt)
  const endsAt = new Date(cycle.endsAt)
  return sql`
    select distinct on (m.sim_id, m.pool_id) m.sim_id, m.pool_id, m.tariff_id
      from (select sim_id, from_at, coalesce(to_at, 'infinity') as to_at from active_spans
             where from_at < ${endsAt} and (to_at is null or to_at > ${startsAt}) ${among}
            union all
            select sim_id, ${startsAt}, 'infinity' from suspensions
             where closed_at is null and cause = 'watchdog' and until = 'renewal' and cycle_key < ${key} ${among}) a
      join memberships m on m.sim_id = a.sim_id
       and m.from_at < ${endsAt} and coalesce(m.to_at, 'infinity') > ${startsAt}
       and m.from_at < a.to_at and coalesce(m.to_at, 'infinity') > a.from_at
     order by m.sim_id, m.pool_id, m.from_at desc`
}

/**
 * Opens a cycle. Writes a ledger row for every SIM that is Active in it or resumes at its start. The SIM then
 * contributes from the first moment. Totals the pools, and marks every subject due, because cycle-bound facts start
 * from zero. Does nothing if the cycle has been opened before.
 *
 * @returns whether this call opened it
 */
export async function openCycle(tx: TenantTx, cycle: Cycle): Promise<boolean> {
  const known = await sql`select 1 from cycles where tenant_id = ${tx.tenantId} and key = ${cycle.key}`.execute(tx.q)
  if (known.rows.length > 0) return false
  const startsAt = new Date(cycle.startsAt)
  const endsAt = new Date(cycle.endsAt)
  const { rows } = await sql`
    insert into cycles (key, starts_at, ends_at, opened_at)
    values (${cycle.key}, ${startsAt}, ${endsAt}, ${tx.now})
    on conflict do nothing
    returning 1`.execute(tx.q)
  if (rows.length === 0) return false
  await sql`
    insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing)
    select ${cycle.key}, sim_id, pool_id, tariff_id, true from (${contributors(cycle)}) c
     order by sim_id, pool_id
    on conflict (tenant_id, cycle_key, sim_id, pool_id) do update
      set contributing = true, tariff_id = excluded.tariff_id`.execute(tx.q)
  await sumPools(tx, cycle.key, await totalPools(tx, cycle.key))
  await markAllDue(tx, tx.now)
  return true
}

/**
 * Corrects who contributes to a cycle, to match what opening it now would write. The cycle may have been opened before
 * it began, or while a ticket that started before it was still running. Call with the cycle locked alone.
 */
export async function settleContributors(tx: TenantTx, cycle: Cycle): Promise<void> {
  const { key } = cycle
  const { rows } = await sql<{ simId: number; poolId: number; tariffId: number | null; comes: boolean }>`
    select coalesce(c.sim_id, l.sim_id) as "simId", coalesce(c.pool_id, l.pool_id) as "poolId",
           c.tariff_id as "tariffId", l.sim_id is null as comes
      from (${contributors(cycle)}) c
      full join (select sim_id, pool_id from usage_ledger
                  where tenant_id = ${tx.tenantId} and cycle_key = ${key} and contributing) l
        on l.sim_id = c.sim_id and l.pool_id = c.pool_id
     where c.sim_id is null or l.sim_id is null`.execute(tx.q)
  if (rows.length === 0) return
  const changes = sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(
    "simId" bigint, "poolId" integer, "tariffId" integer, comes boolean)`
  const poolIds = rows.map(({ poolId }) => poolId)
  await lockPools(tx, key, poolIds)
  // An existing row keeps its own tariff, which tickets maintain.
  await sql`
    insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing)
    select ${key}, "simId", "poolId", "tariffId", true from ${changes}
     where comes order by "simId", "poolId"
    on conflict (tenant_id, cycle_key, sim_id, pool_id) do update set contributing = true`.execute(tx.q)
  const left = sql`
    l.tenant_id = ${tx.tenantId} and l.cycle_key = ${key} and l.sim_id = r."simId" and l.pool_id = r."poolId"
    and not r.comes`
  await sql`
    delete from usage_ledger l using ${changes}
     where ${left} and l.bytes = 0 and l.voice_seconds = 0 and l.sms_count = 0`.execute(tx.q)
  await sql`update usage_ledger l set contributing = false from ${changes} where ${left}`.execute(tx.q)
  await restating(
    tx,
    sql`
      update pool_cycles p
         set contributing = p.contributing + r.delta, usage_version = p.usage_version + 1
        from (select "poolId", sum(case when comes then 1 else -1 end)::integer as delta
                from ${changes} group by "poolId") r
       where p.tenant_id = ${tx.tenantId} and p.cycle_key = ${key} and p.pool_id = r."poolId"`,
  ).execute(tx.q)
  await markDue(tx, [
    ...rows.map(({ simId }) => ({ kind: 'sim' as const, id: simId })),
    ...poolIds.filter((id) => id !== 0).map((id) => ({ kind: 'pool' as const, id })),
  ])
}

/**
 * Adds up the ledger rows of a cycle that was just opened into its pools' totals.
 *
 * @returns the pool ids
 */
async function totalPools(tx: TenantTx, cycleKey: string): Promise<number[]> {
  const { rows } = await sql<{ poolId: number }>`
    insert into pool_cycles as pc (cycle_key, pool_id, bytes, voice_seconds, sms_count, contributing)
    select ${cycleKey}, pool_id, sum(bytes)::bigint, sum(voice_seconds)::bigint, sum(sms_count)::bigint,
           count(*) filter (where contributing)::integer
      from usage_ledger
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey}
     group by pool_id
     order by pool_id
    on conflict (tenant_id, cycle_key, pool_id) do update
      set bytes = excluded.bytes, voice_seconds = excluded.voice_seconds, sms_count = excluded.sms_count,
          contributing = excluded.contributing, usage_version = pc.usage_version + 1
    returning pool_id as "poolId"`.execute(tx.q)
  return rows.map(({ poolId }) => poolId)
}

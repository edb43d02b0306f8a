/** Billing cycles of a tenant: opening, locking and pool totals. */

import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../../domain/errors.ts'
import { type Cycle, cycleAt, cycleOfKey } from '../../domain/time/cycle.ts'
import { markAllDue, markDue } from '../due.ts'
import type { TenantTx } from '../tenancy.ts'
import { restating } from './restatements.ts'

/** A tenant's settings for time and enforcement. */
export interface TenantSettings {
  readonly billingCycle: string
  readonly enforcementEnabled: boolean
}

/** @throws Error if the tenant does not exist */
export async function tenantSettings(tx: TenantTx): Promise<TenantSettings> {
  const { rows } = await sql<TenantSettings>`
    select billing_cycle as "billingCycle", enforcement_enabled as "enforcementEnabled"
      from tenants where id = ${tx.tenantId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`there is no tenant ${tx.tenantId}`)
  return row
}

/**
 * The cycle that runs now. The first call in a cycle opens it; later calls cost only two cheap selects.
 */
export async function currentCycle(tx: TenantTx): Promise<Cycle> {
  const { billingCycle } = await tenantSettings(tx)
  const cycle = cycleAt(billingCycle, tx.now.getTime())
  await openCycle(tx, cycle)
  return cycle
}

/**
 * The billing cycle with this key for this tenant. It need not have been opened.
 *
 * @throws ServiceError `cycle_not_found`
 */
export async function cycleNamed(tx: TenantTx, key: string): Promise<Cycle> {
  const { billingCycle } = await tenantSettings(tx)
  const cycle = cycleOfKey(billingCycle, key)
  if (cycle === undefined) {
    throw new ServiceError('cycle_not_found', `'${key}' names no billing cycle of ${billingCycle}.`)
  }
  return cycle
}

/**
 * As {@link cycleNamed}, for a cycle that has ended.
 *
 * @throws ServiceError `cycle_not_found`; `cycle_open` if it has not ended
 */
export async function endedCycle(tx: TenantTx, key: string): Promise<Cycle> {
  const cycle = await cycleNamed(tx, key)
  if (tx.now.getTime() < cycle.endsAt) {
    throw new ServiceError('cycle_open', `Cycle ${key} runs until ${new Date(cycle.endsAt).toISOString()}.`)
  }
  return cycle
}

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
  await totalPools(tx, cycle.key)
  await markAllDue(tx, tx.now)
  return true
}

/**
 * Records that a cycle's contributors are final, except for changes made in it.
 *
 * @returns whether this call was the first
 */
export async function markSettled(tx: TenantTx, key: string): Promise<boolean> {
  const { rows } = await sql`
    update cycles set settled_at = ${tx.now}
     where tenant_id = ${tx.tenantId} and key = ${key} and settled_at is null
    returning 1`.execute(tx.q)
  return rows.length > 0
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

/** Key of a cycle's advisory lock, apart from its row. Counting usage takes the lock shared, closing takes it alone. */
const cycleLock = (tx: TenantTx, key: string) =>
  sql`hashtext('simherd.cycle'), hashtext(${tx.tenantId} || '/' || ${key})`

/**
 * Locks cycles against closing until this transaction ends. Usage counted here is then either in the statement or
 * clearly late. Call before locking pools.
 *
 * @returns the cycles that have not been opened yet
 */
export async function lockCycles(tx: TenantTx, cycles: readonly Cycle[]): Promise<Cycle[]> {
  for (const { key } of cycles) await sql`select pg_advisory_xact_lock_shared(${cycleLock(tx, key)})`.execute(tx.q)
  const { rows } = await sql<{ key: string }>`
    select key from cycles where tenant_id = ${tx.tenantId} and key = any(${cycles.map(({ key }) => key)}::text[])`.execute(
    tx.q,
  )
  const open = new Set(rows.map(({ key }) => key))
  return cycles.filter(({ key }) => !open.has(key))
}

/**
 * Locks a cycle alone: waits until no usage is being counted in it, and keeps others out until this transaction ends.
 */
export async function lockCycleAlone(tx: TenantTx, key: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${cycleLock(tx, key)})`.execute(tx.q)
}

/** Keys of those given cycles that are closed. */
export async function closedCycles(tx: TenantTx, keys: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select key from cycles
     where tenant_id = ${tx.tenantId} and key = any(${[...keys]}::text[]) and closed_at is not null`.execute(tx.q)
  return rows.map(({ key }) => key)
}

/**
 * Makes missing rows of pool totals in a cycle, so that a pool has its capacity before any usage.
 *
 * @returns the pool ids, sorted and without duplicates
 */
export async function ensurePools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<number[]> {
  const ids = [...new Set(poolIds)].sort((a, b) => a - b)
  await sql`
    insert into pool_cycles (cycle_key, pool_id)
    select ${cycleKey}, id from unnest(${ids}::integer[]) as p(id) order by id
    on conflict do nothing`.execute(tx.q)
  return ids
}

/**
 * Locks pools' totals in a cycle, in id order, and makes missing rows. Call it before changing ledger rows of a pool.
 * It keeps totals, ledger rows and divisions at the same version.
 */
export async function lockPools(tx: TenantTx, cycleKey: string, poolIds: readonly number[]): Promise<void> {
  const ids = await ensurePools(tx, cycleKey, poolIds)
  await sql`
    select 1 from pool_cycles
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = any(${ids}::integer[])
     order by pool_id
       for update`.execute(tx.q)
}

/** Adds up the ledger rows of a cycle that was just opened into its pools' totals. */
async function totalPools(tx: TenantTx, cycleKey: string): Promise<void> {
  await sql`
    insert into pool_cycles as pc (cycle_key, pool_id, bytes, voice_seconds, sms_count, contributing)
    select ${cycleKey}, pool_id, sum(bytes)::bigint, sum(voice_seconds)::bigint, sum(sms_count)::bigint,
           count(*) filter (where contributing)::integer
      from usage_ledger
     where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey}
     group by pool_id
     order by pool_id
    on conflict (tenant_id, cycle_key, pool_id) do update
      set bytes = excluded.bytes, voice_seconds = excluded.voice_seconds, sms_count = excluded.sms_count,
          contributing = excluded.contributing, usage_version = pc.usage_version + 1`.execute(tx.q)
}

/** Amounts to add to a pool's totals; negative amounts are taken from them. Omitted: 0. */
export interface PoolDelta {
  readonly bytes?: number
  readonly voiceSeconds?: number
  readonly smsCount?: number
  readonly contributing?: number
}

/** Changes a pool's totals in a cycle, and raises its usage version. Call with the cycle and the pool locked. */
export async function addToPool(tx: TenantTx, cycleKey: string, poolId: number, delta: PoolDelta): Promise<void> {
  await restating(
    tx,
    sql`
      update pool_cycles
         set bytes = bytes + ${delta.bytes ?? 0}, voice_seconds = voice_seconds + ${delta.voiceSeconds ?? 0},
             sms_count = sms_count + ${delta.smsCount ?? 0}, contributing = contributing + ${delta.contributing ?? 0},
             usage_version = usage_version + 1
       where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} and pool_id = ${poolId}`,
  ).execute(tx.q)
}

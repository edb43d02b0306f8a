/**
 * Keeps ledger rows in step with a SIM's state. A SIM contributes where it was Active, and a move takes its usage
 * along.
 */
import { sql } from 'kysely'
import { type Cycle, cycleAt, nextCycle } from '../../domain/time/cycle.ts'
import { FUTURE_MS } from '../../domain/usage/usage-record.ts'
import type { TenantTx } from '../tenancy.ts'
import { lockCycles, tenantSettings } from './cycles.ts'
import { openCycle } from './open-cycle.ts'
import { changeLedger, lockPools } from './pool-totals.ts'

/**
 * Locks and opens the cycles from the one that contains an instant to the running one. Includes later cycles that early
 * usage has opened. Until this transaction ends, none of them is closed, and none that begins soon is renewed.
 */
async function cyclesSince(tx: TenantTx, at: Date): Promise<Cycle[]> {
  const { billingCycle } = await tenantSettings(tx)
  const now = tx.now.getTime()
  const cycles: Cycle[] = []
  let cycle = cycleAt(billingCycle, at.getTime())
  while (cycle.startsAt <= now + FUTURE_MS) {
    cycles.push(cycle)
    cycle = nextCycle(billingCycle, cycle)
  }
  const unopened = new Set(await lockCycles(tx, cycles))
  const since = cycles.filter((one) => one.startsAt <= now || !unopened.has(one))
  for (const one of since) if (unopened.has(one)) await openCycle(tx, one)
  return since
}

/** Records that a SIM is Active in a pool (0: none) since an instant. It contributes to every cycle since then. */
export async function contribute(
  tx: TenantTx,
  sim: { readonly simId: number; readonly poolId: number; readonly tariffId: number | null },
  since: Date,
): Promise<void> {
  for (const cycle of await cyclesSince(tx, since)) {
    await lockPools(tx, cycle.key, [sim.poolId])
    await changeLedger(tx, cycle.key, [sim], () =>
      sql`
        insert into usage_ledger (cycle_key, sim_id, pool_id, tariff_id, contributing)
        values (${cycle.key}, ${sim.simId}, ${sim.poolId}, ${sim.tariffId}, true)
        on conflict (tenant_id, cycle_key, sim_id, pool_id) do update
          set contributing = true, tariff_id = excluded.tariff_id`.execute(tx.q),
    )
  }
}

/**
 * Records that a SIM has this own tariff in a pool (0: none) since an instant. Sets the tariff of its existing ledger
 * rows in every cycle since then; the last one set applies to the whole row.
 */
export async function setOwnTariff(
  tx: TenantTx,
  sim: { readonly simId: number; readonly poolId: number; readonly tariffId: number | null },
  since: Date,
): Promise<void> {
  for (const cycle of await cyclesSince(tx, since)) {
    await lockPools(tx, cycle.key, [sim.poolId])
    const { rows } = await sql`
      select from usage_ledger
       where tenant_id = ${tx.tenantId} and cycle_key = ${cycle.key} and sim_id = ${sim.simId}
         and pool_id = ${sim.poolId} and tariff_id is distinct from ${sim.tariffId}::integer`.execute(tx.q)
    if (rows.length === 0) continue
    await changeLedger(tx, cycle.key, [sim], () =>
      sql`
        update usage_ledger set tariff_id = ${sim.tariffId}
         where tenant_id = ${tx.tenantId} and cycle_key = ${cycle.key} and sim_id = ${sim.simId}
           and pool_id = ${sim.poolId}`.execute(tx.q),
    )
  }
}

/**
 * Records that a SIM has belonged to another pool since a cycle's boundary. Records, ledger rows and buckets since then
 * move to the new pool. Runs in the transaction that completes the move.
 *
 * @param from the old pool; 0: none
 * @param to the new pool (0: none) and own tariff; `contributes` is false for an unassigned SIM, which pays nowhere
 */
export async function moveUsage(
  tx: TenantTx,
  simId: number,
  from: { readonly poolId: number },
  to: NewPlace,
  since: Date,
): Promise<void> {
  const cycles = (await cyclesSince(tx, since)).filter((cycle) => cycle.startsAt >= since.getTime())
  for (const { key } of cycles) {
    await lockPools(tx, key, [from.poolId, to.poolId])
    const places = [
      { simId, poolId: from.poolId },
      { simId, poolId: to.poolId },
    ]
    await changeLedger(tx, key, places, () => moveRow(tx, key, simId, from.poolId, to))
  }
  if (from.poolId === to.poolId) return
  await moveBuckets(tx, simId, from.poolId, to.poolId, since)
  await sql`
    update usage_records set pool_id = ${to.poolId}
     where sim_id = ${simId} and pool_id = ${from.poolId} and at >= ${since}`.execute(tx.q)
}

interface NewPlace {
  readonly poolId: number
  readonly tariffId: number | null
  readonly contributes: boolean
}

/** Moves a SIM's ledger row of a cycle to another pool, or changes it where it is. */
async function moveRow(tx: TenantTx, key: string, simId: number, from: number, to: NewPlace): Promise<void> {
  const row = sql`tenant_id = ${tx.tenantId} and cycle_key = ${key} and sim_id = ${simId} and pool_id = ${from}`
  if (from === to.poolId) {
    await sql`
      update usage_ledger set tariff_id = ${to.tariffId}, contributing = contributing and ${to.contributes}
       where ${row}`.execute(tx.q)
    return
  }
  await sql`
    with moved as (
      delete from usage_ledger where ${row} returning contributing, bytes, voice_seconds, sms_count
    )
    insert into usage_ledger as l (cycle_key, sim_id, pool_id, tariff_id, contributing, bytes, voice_seconds, sms_count)
    select ${key}, ${simId}, ${to.poolId}, ${to.tariffId}::integer, contributing and ${to.contributes}, bytes,
           voice_seconds, sms_count
      from moved
    on conflict (tenant_id, cycle_key, sim_id, pool_id) do update
      set tariff_id = excluded.tariff_id, contributing = l.contributing or excluded.contributing,
          bytes = l.bytes + excluded.bytes, voice_seconds = l.voice_seconds + excluded.voice_seconds,
          sms_count = l.sms_count + excluded.sms_count`.execute(tx.q)
}

async function moveBuckets(tx: TenantTx, simId: number, from: number, to: number, since: Date): Promise<void> {
  await sql`
    insert into usage_buckets as b (subject_kind, subject_id, starts_at, bytes, voice_seconds, sms_count)
    select 2, pool_id, starts_at, sign * bytes, sign * voice_seconds, sign * sms_count
      from usage_buckets,
           (values (${from}::bigint, -1), (${to}::bigint, 1)) as p(pool_id, sign)
     where subject_kind = 1 and subject_id = ${simId} and starts_at >= ${since} and pool_id <> 0
     order by pool_id, starts_at
    on conflict (tenant_id, subject_kind, subject_id, starts_at) do update
      set bytes = b.bytes + excluded.bytes, voice_seconds = b.voice_seconds + excluded.voice_seconds,
          sms_count = b.sms_count + excluded.sms_count`.execute(tx.q)
}

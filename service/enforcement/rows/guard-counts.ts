/**
 * Counts by the minute the subjects that the guard let through in the last hour: a few rows a rule, for estates of any
 * size. Also a tenant's enforcement switch, and how many the guard lets through.
 */
import { sql } from 'kysely'
import type { EnforcementSettings, HoldSubject } from '../../../domain/enforcement/guard.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** `alerts`: subjects that a rule began to report or to act on. `would`: suspensions only logged. */
export interface CountScope {
  readonly what: HoldSubject | 'would'
  readonly rule: string
  /** 0: any. */
  readonly version: number
  /** Null: the whole tenant. */
  readonly poolId: number | null
}

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const minuteOf = (at: Date): Date => new Date(Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS)

const within = (tx: TenantTx, { what, rule, version, poolId }: CountScope) => sql`
  tenant_id = ${mine} and what = ${what} and rule = ${rule} and rule_version = ${version} and pool_id = ${poolId ?? 0}`

/** Counts those passed since the minute an hour ago: never too few. Call under the lock of its writers. */
export async function countedInHour(tx: TenantTx, scope: CountScope): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(passed), 0)::integer as count from guard_counts
     where ${within(tx, scope)} and minute >= ${minuteOf(new Date(tx.now.getTime() - HOUR_MS))}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Counts subjects let through now, and deletes counts older than the hour. */
export async function addCount(tx: TenantTx, scope: CountScope, passed: number): Promise<void> {
  const { what, rule, version, poolId } = scope
  await sql`
    delete from guard_counts
     where ${within(tx, scope)} and minute < ${minuteOf(new Date(tx.now.getTime() - HOUR_MS))}`.execute(tx.q)
  await sql`
    insert into guard_counts as c (what, rule, rule_version, pool_id, minute, passed)
    values (${what}, ${rule}, ${version}, ${poolId ?? 0}, ${minuteOf(tx.now)}, ${passed})
    on conflict (tenant_id, what, rule, rule_version, pool_id, minute) do update
      set passed = c.passed + excluded.passed`.execute(tx.q)
}

export async function forgetCounts(tx: TenantTx, scope: CountScope): Promise<void> {
  await sql`delete from guard_counts where ${within(tx, scope)}`.execute(tx.q)
}

/** @throws Error if the tenant does not exist */
export async function readEnforcementSettings(tx: TenantTx): Promise<EnforcementSettings> {
  const { rows } = await sql<EnforcementSettings>`
    select enforcement_enabled as enabled, guard_least as "guardLeast", guard_pct as "guardPct",
           alert_guard_least as "alertGuardLeast", alert_guard_pct as "alertGuardPct"
      from tenants where id = ${tx.tenantId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`no tenant ${tx.tenantId}`)
  return row
}

export async function writeEnforcementSettings(tx: TenantTx, settings: EnforcementSettings): Promise<void> {
  await sql`
    update tenants
       set enforcement_enabled = ${settings.enabled}, guard_least = ${settings.guardLeast},
           guard_pct = ${settings.guardPct}, alert_guard_least = ${settings.alertGuardLeast},
           alert_guard_pct = ${settings.alertGuardPct}, version = version + 1, updated_at = ${tx.now}
     where id = ${tx.tenantId}`.execute(tx.q)
}

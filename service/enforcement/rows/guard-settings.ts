/** A tenant's enforcement switch, and how much one rule may suspend, or report, in an hour before the rest is held. */
import { sql } from 'kysely'
import type { EnforcementSettings } from '../../../domain/enforcement/guard.ts'
import type { TenantTx } from '../../../store/tenancy.ts'

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

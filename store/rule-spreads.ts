/** Changes of the rules on their way to the tenants, and each tenant's progress. Rows are never changed. */
import { sql } from 'kysely'
import { kept } from './kept.ts'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/** A changed rule, and the tenants that it is for: patterns of their ids; null: no tenant. */
export interface RuleShift {
  readonly name: string
  /** Before the change. */
  readonly was: string | null
  /** From then on. */
  readonly is: string | null
}

/** A change of the rules that decide. */
export interface RuleSpread {
  /** In force from then on. */
  readonly version: number
  readonly shifts: readonly RuleShift[]
}

/** SQL of the id of the newest change; 0: there was none. A new tenant begins there. */
export const newestSpread = sql`(select coalesce(max(id), 0) from rule_spreads)`

/** Adds a change for all present tenants. Call with the rules locked. */
export async function insertSpread(tx: PlatformTx, { version, shifts }: RuleSpread): Promise<void> {
  await sql`
    insert into rule_spreads (version, shifts) values (${version}, ${JSON.stringify(shifts)}::jsonb)`.execute(tx.q)
}

/** Takes the changes new to the tenant, oldest first. A tenant gets each change in one transaction only. */
export async function takeSpreads(tx: TenantTx): Promise<RuleSpread[]> {
  const { rows } = await sql<RuleSpread>`${kept}
    with behind as (
      select id, rules_heard, ${newestSpread} as newest from tenants
       where id = ${tx.tenantId} and rules_heard < ${newestSpread} for no key update
    ), heard as (
      update tenants t set rules_heard = b.newest from behind b where t.id = b.id
    )
    select s.version, s.shifts from rule_spreads s, behind b
     where s.id > b.rules_heard and s.id <= b.newest order by s.id`.execute(tx.q)
  return rows
}

/** SQL condition: the newest change has not reached a tenant of this alias. */
export const isBehind = (tenant: string) => sql`${sql.ref(tenant)}.rules_heard < ${newestSpread}`

/** Counts the tenants reached by the newest change, and all tenants. */
export async function countHeard(tx: PlatformTx): Promise<{ tenants: number; of: number }> {
  const { rows } = await sql<{ tenants: number; of: number }>`
    select count(*) filter (where not ${isBehind('t')})::integer as tenants, count(*)::integer as of from tenants t`.execute(
    tx.q,
  )
  return rows[0] ?? { tenants: 0, of: 0 }
}

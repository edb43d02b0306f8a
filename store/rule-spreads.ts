/** Changes of the rules on their way to the tenants, and how far each tenant has heard. Rows are never changed. */
import { sql } from 'kysely'
import type { PlatformTx, TenantTx } from './tenancy.ts'

/** A rule that says something else than before, and to which tenants: patterns of their ids; null: to none. */
export interface RuleShift {
  readonly name: string
  /** Before the change. */
  readonly was: string | null
  /** From then on. */
  readonly is: string | null
}

/** A change of what is decided. */
export interface RuleSpread {
  /** In force from then on, or tried beside what is. */
  readonly version: number
  readonly shifts: readonly RuleShift[]
}

/** SQL of the newest change, of all of which a new tenant has heard; 0: there was none. */
export const newestSpread = sql`(select coalesce(max(id), 0) from rule_spreads)`

/** Adds a change, of which every tenant there is will hear. Call with the rules locked. */
export async function insertSpread(tx: PlatformTx, { version, shifts }: RuleSpread): Promise<void> {
  await sql`
    insert into rule_spreads (version, shifts) values (${version}, ${JSON.stringify(shifts)}::jsonb)`.execute(tx.q)
}

/** The changes that the tenant has not heard of, oldest first. From now on it has: each is returned to one transaction. */
export async function takeSpreads(tx: TenantTx): Promise<RuleSpread[]> {
  const { rows } = await sql<RuleSpread>`
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

/** SQL condition: a tenant of this alias has not heard of the newest change. */
export const isBehind = (tenant: string) => sql`${sql.ref(tenant)}.rules_heard < ${newestSpread}`

/** How many tenants have heard of the newest change, of how many there are. */
export async function countHeard(tx: PlatformTx): Promise<{ tenants: number; of: number }> {
  const { rows } = await sql<{ tenants: number; of: number }>`
    select count(*) filter (where not ${isBehind('t')})::integer as tenants, count(*)::integer as of from tenants t`.execute(
    tx.q,
  )
  return rows[0] ?? { tenants: 0, of: 0 }
}

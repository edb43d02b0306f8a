/** Versions of the rule set. Their content never changes, and at most one is in force. */

import { sql } from 'kysely'
import type { RuleSource } from '../../domain/watchdog/rule-source.ts'
import type { PlatformTx, TenantTx } from '../tenancy.ts'

export interface RuleSet {
  readonly version: number
  readonly hash: string
  readonly files: readonly RuleSource[]
  readonly activatedAt: Date
}

/** The rule set in force; undefined before the first was activated. */
export async function activeRuleSet(tx: TenantTx | PlatformTx): Promise<RuleSet | undefined> {
  const { rows } = await sql<RuleSet>`
    select version, hash, rules as files, activated_at as "activatedAt" from rule_sets where active`.execute(tx.q)
  return rows[0]
}

/** Versions that were in force before the current one, the latest first. */
export async function earlierRuleVersions(tx: TenantTx | PlatformTx): Promise<number[]> {
  const { rows } = await sql<{ version: number }>`
    select version from rule_sets where not active and activated_at is not null
     order by activated_at desc, version desc`.execute(tx.q)
  return rows.map(({ version }) => version)
}

/** Reads a rule set by its version; undefined if there is none. */
export async function ruleSetOf(tx: TenantTx | PlatformTx, version: number): Promise<RuleSet | undefined> {
  const { rows } = await sql<RuleSet>`
    select version, hash, rules as files, activated_at as "activatedAt"
      from rule_sets where version = ${version}`.execute(tx.q)
  return rows[0]
}

/** Version of the set in force. A cheap way to find out whether a loaded set is still in force. */
export async function activeRuleVersion(tx: TenantTx | PlatformTx): Promise<number | undefined> {
  const { rows } = await sql<{ version: number }>`select version from rule_sets where active`.execute(tx.q)
  return rows[0]?.version
}

/**
 * Puts a set in force. The same content keeps the same version, whoever loads it. Concurrent calls wait for each other.
 *
 * @returns the version, and whether this call put it in force
 */
export async function activateRuleSet(
  tx: PlatformTx,
  set: { readonly hash: string; readonly files: readonly RuleSource[]; readonly author: string },
): Promise<{ version: number; changed: boolean }> {
  await sql`select pg_advisory_xact_lock(hashtext('simherd.rules'))`.execute(tx.q)
  await sql`
    insert into rule_sets (hash, rules, author, created_at)
    values (${set.hash}, ${JSON.stringify(set.files)}::jsonb, ${set.author}, ${tx.now})
    on conflict (hash) do nothing`.execute(tx.q)
  const { rows } = await sql<{ version: number; active: boolean }>`
    select version, active from rule_sets where hash = ${set.hash}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error('the rule set was written and is not there')
  if (row.active) return { version: row.version, changed: false }
  await sql`update rule_sets set active = false where active`.execute(tx.q)
  await sql`update rule_sets set active = true, activated_at = ${tx.now} where version = ${row.version}`.execute(tx.q)
  return { version: row.version, changed: true }
}

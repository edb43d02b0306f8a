/** The rules of a replay, in force there alone. */
import { sql } from 'kysely'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import type { TenantTx } from '../../../store/tenancy.ts'

export interface ReplayedRules {
  /** As entries of the log name it. */
  readonly version: number
  readonly files: readonly RuleSource[]
}

/** Puts rules in force in the temporary tables. */
export async function fillRules(tx: TenantTx, { version, files }: ReplayedRules, at: Date): Promise<void> {
  await sql`
    insert into pg_temp.rule_sets (version, hash, rules, author, created_at) overriding system value
    values (${version}, '', ${JSON.stringify(files)}::jsonb, 'backtest', ${at})`.execute(tx.q)
  await sql`
    insert into pg_temp.rule_activations (version, at, author) values (${version}, ${at}, 'backtest')`.execute(tx.q)
}

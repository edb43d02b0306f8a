/** A rule set that another build has accepted and put in force. */
import { sql } from 'kysely'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import type { Db } from '../../store/tenancy.ts'

/** Puts files in force without a check. @returns their version */
export async function putForeignRules(db: Db, files: readonly RuleSource[], at: Date): Promise<number> {
  const text = JSON.stringify(files)
  const { rows } = await sql<{ version: number }>`
    with made as (
      insert into rule_sets (hash, rules, author, created_at)
      values (md5(${text}::text), ${text}::jsonb, 'another build', ${at}) returning version
    )
    insert into rule_activations (version, at, author) select version, ${at}, 'another build' from made
    returning version`.execute(db)
  return rows[0]?.version ?? 0
}

/** Kept answers about billing cycles: a row a cycle in each table, renewed at requests. */
import { sql } from 'kysely'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export type AnswerTable = 'cycle_costs' | 'month_end_plans'

export interface AnswerRow {
  /** As a release before this one may have written it. */
  readonly answer: unknown
  readonly asOf: Date
  /** False: from before the close of its cycle. */
  readonly isPresent: boolean
}

export async function findAnswer(tx: TenantTx, table: AnswerTable, key: string): Promise<AnswerRow | undefined> {
  const { rows } = await sql<AnswerRow>`
    select answer, as_of as "asOf",
           (answer ->> 'closedAt' is not null)
             = exists (select from cycles where tenant_id = ${mine} and key = ${key} and closed_at is not null)
             as "isPresent"
      from ${sql.table(table)} where tenant_id = ${mine} and cycle_key = ${key}`.execute(tx.q)
  return rows[0]
}

/** Locks the row of a cycle, even if it is missing, without waiting. @returns false if another transaction has it locked */
export async function lockAnswer(tx: TenantTx, table: AnswerTable, key: string): Promise<boolean> {
  const name = `${table}/${tx.tenantId}/${key}`
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as locked`.execute(tx.q)
  return rows[0]?.locked === true
}

export async function saveAnswer(tx: TenantTx, table: AnswerTable, key: string, answer: object): Promise<void> {
  await sql`
    insert into ${sql.table(table)} (cycle_key, answer, as_of)
    values (${key}, ${JSON.stringify(answer)}::jsonb, ${tx.now})
    on conflict (tenant_id, cycle_key) do update set answer = excluded.answer, as_of = excluded.as_of`.execute(tx.q)
}

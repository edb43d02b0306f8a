/** Kept costs of billing cycles: a row a cycle, renewed at requests. */
import { sql } from 'kysely'
import type { CycleCost } from '../../../domain/month-end/cost.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface CycleCostRow {
  /** As a release before this one may have written it. */
  readonly cost: unknown
  readonly asOf: Date
}

/** The row of a cycle. Undefined also if the cycle has been closed since. */
export async function findCost(tx: TenantTx, key: string): Promise<CycleCostRow | undefined> {
  const { rows } = await sql<CycleCostRow>`
    select cost, as_of as "asOf" from cycle_costs
     where tenant_id = ${mine} and cycle_key = ${key}
       and (cost ->> 'closedAt' is not null)
           = exists (select from cycles where tenant_id = ${mine} and key = ${key} and closed_at is not null)`.execute(
    tx.q,
  )
  return rows[0]
}

/** Locks the row of a cycle, even if it is missing, without waiting. @returns false if another transaction has it locked */
export async function lockCost(tx: TenantTx, key: string): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`cost/${tx.tenantId}/${key}`}, 0)) as locked`.execute(tx.q)
  return rows[0]?.locked === true
}

export async function saveCost(tx: TenantTx, key: string, cost: CycleCost): Promise<void> {
  await sql`
    insert into cycle_costs (cycle_key, cost, as_of)
    values (${key}, ${JSON.stringify(cost)}::jsonb, ${tx.now})
    on conflict (tenant_id, cycle_key) do update set cost = excluded.cost, as_of = excluded.as_of`.execute(tx.q)
}

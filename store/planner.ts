/** What PostgreSQL's planner cannot know. */
import { sql } from 'kysely'
import type { TenantTx } from './tenancy.ts'

/**
 * Runs statements without nested loops, where there is another way. They read many rows, which the planner takes for
 * few: it has no figures yet about a cycle that has just been opened, and would go through all pools for each row.
 */
export async function withoutNestedLoops<T>(tx: TenantTx, work: () => Promise<T>): Promise<T> {
  const set = (value: 'on' | 'off') => sql`select set_config('enable_nestloop', ${value}, true)`.execute(tx.q)
  await set('off')
  const result = await work()
  await set('on')
  return result
}

/**
 * Counts that a transaction changes last, in key order. Their rows are locked for the commit only, so transactions that
 * change the same count hardly wait for each other.
 */
import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { SimStatus } from '../domain/codes.ts'
import { kept } from './kept.ts'

/** An increase or decrease of the SIMs of a status. */
export interface SimsMore {
  readonly simId: number
  readonly status: SimStatus
  readonly by: 1 | -1
}

/** Ids of a block of SIMs: 4,096 of them, in `sim_blocks`. */
const BLOCK = 4096

/** Informs the database that this process counts its changes. For other processes a trigger counts. */
export const tallies: RawBuilder<unknown> = sql`set_config('app.tallies', 'on', true)`

export interface Tally {
  readonly add: (more: SimsMore) => void
  /** Writes the added changes. */
  readonly write: (tx: { readonly q: Transaction<unknown>; readonly tenantId: string }) => Promise<void>
}

export function openTally(): Tally {
  const blocks = new Map<string, { readonly block: number; readonly status: SimStatus; by: number }>()
  return {
    add: ({ simId, status, by }) => {
      const block = Math.floor(simId / BLOCK)
      const key = `${block}/${status}`
      const count = blocks.get(key) ?? { block, status, by: 0 }
      blocks.set(key, count)
      count.by += by
    },
    write: async ({ q, tenantId }) => {
      const changes = [...blocks.values()].filter(({ by }) => by !== 0)
      if (changes.length === 0) return
      // The order of the rows is the order of the locks.
      await sql`${kept}
        insert into sim_blocks as b (tenant_id, block, status, sims)
        select ${tenantId}, c.block, c.status, c.by
          from jsonb_to_recordset(${JSON.stringify(changes)}::jsonb) as c(block bigint, status smallint, by integer)
         order by c.block, c.status
        on conflict (tenant_id, block, status) do update set sims = b.sims + excluded.sims`.execute(q)
    },
  }
}

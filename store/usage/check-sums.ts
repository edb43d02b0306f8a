/** Adds up ledger rows again, to find totals of pools that do not agree with them. */

import { sql } from 'kysely'
import type { TenantTx } from '../tenancy.ts'

/** A total of a pool in a cycle, as it is kept and as its ledger rows give it. */
export interface WrongSum {
  readonly cycleKey: string
  /** 0: outside pools. */
  readonly poolId: number
  readonly column: string
  readonly kept: number
  readonly expected: number
}

/**
 * Totals of a cycle's pools that differ from the sums of their ledger rows; none if all is well. Sums that are known to
 * be old (`summed_version`) are not compared. Reads all ledger rows of the cycle.
 */
export async function wrongSums(tx: TenantTx, cycleKey: string): Promise<WrongSum[]> {
  const { rows } = await sql<WrongSum>`
    with added as (
      select pool_id, sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as voice_seconds,
             sum(sms_count)::bigint as sms_count, count(*) filter (where contributing)::bigint as contributing,
             sum(limit_bytes)::bigint as limit_bytes, sum(excess_bytes)::bigint as excess_bytes,
             sum(greatest(0, limit_bytes - bytes))::bigint as remaining_bytes
        from ledger_figures where tenant_id = ${tx.tenantId} and cycle_key = ${cycleKey} group by pool_id
    )
    select ${cycleKey} as "cycleKey", coalesce(k.pool_id, a.pool_id) as "poolId", v.column, v.kept, v.expected
      from (select k.*, f.is_shared
              from pool_cycles k join pool_figures f using (tenant_id, cycle_key, pool_id)
             where k.tenant_id = ${tx.tenantId} and k.cycle_key = ${cycleKey}) k
      full join added a on a.pool_id = k.pool_id
      cross join lateral (values
        ('bytes', k.bytes, a.bytes, true), ('voice_seconds', k.voice_seconds, a.voice_seconds, true),
        ('sms_count', k.sms_count, a.sms_count, true), ('contributing', k.contributing::bigint, a.contributing, true),
        ('excess_bytes', k.excess_bytes, a.excess_bytes, k.summed_version = k.usage_version),
        ('limit_bytes', k.limit_bytes, a.limit_bytes, k.summed_version = k.usage_version and not k.is_shared),
        ('remaining_bytes', k.remaining_bytes, a.remaining_bytes,
         k.summed_version = k.usage_version and not k.is_shared)
      ) as raw("column", kept, expected, is_compared)
      cross join lateral (select raw.column, coalesce(raw.kept, 0) as kept, coalesce(raw.expected, 0) as expected) v
     where coalesce(raw.is_compared, true) and v.kept <> v.expected
     order by "poolId", v.column`.execute(tx.q)
  return rows
}

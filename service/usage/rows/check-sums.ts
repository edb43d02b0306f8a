/** Adds up ledger rows again, to find totals of pools that do not agree with them. */

import { sql } from 'kysely'
import { TariffType } from '../../../domain/codes.ts'
import { MOST_WRONG, type WrongFigure } from '../../../store/counts.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/**
 * Totals of pools that differ from the sums of their ledger rows; none if all is well. Sums known to be old
 * (`summed_version`) are not compared. Reads all ledger rows of the cycle.
 *
 * @param cycleKey omitted: all cycles
 * @returns the first {@link MOST_WRONG}
 */
export async function wrongSums(tx: TenantTx, cycleKey?: string): Promise<WrongFigure[]> {
  const among = cycleKey === undefined ? sql`` : sql`and cycle_key = ${cycleKey}`
  const { rows } = await sql<WrongFigure>`
    with added as (
      select cycle_key, pool_id, sum(bytes)::bigint as bytes, sum(voice_seconds)::bigint as voice_seconds,
             sum(sms_count)::bigint as sms_count, count(*) filter (where contributing)::bigint as contributing,
             sum(limit_bytes) as limit_bytes, sum(excess_bytes)::bigint as excess_bytes,
             sum(remaining_bytes) as remaining_bytes
        from ledger_figures where tenant_id = ${mine} ${among} group by cycle_key, pool_id
    ), kept as (
      select k.*, coalesce(t.type <> ${TariffType.Standard}, false) as is_shared,
             k.summed_version = k.usage_version as is_summed
        from pool_cycles k
        left join pools p on p.id = k.pool_id
        left join tariffs t on t.id = p.tariff_id
       where k.tenant_id = ${mine} ${among}
    )
    select v.column || ' of pool ' || pool_id || ' in cycle ' || cycle_key as what, v.kept, v.counted
      from kept k
      full join added a using (cycle_key, pool_id)
      cross join lateral (values
        ('bytes', k.bytes, a.bytes, true), ('voice_seconds', k.voice_seconds, a.voice_seconds, true),
        ('sms_count', k.sms_count, a.sms_count, true), ('contributing', k.contributing::bigint, a.contributing, true),
        ('excess_bytes', k.excess_bytes, a.excess_bytes, k.is_summed),
        ('limit_bytes', k.limit_bytes, a.limit_bytes::bigint, k.is_summed and not k.is_shared),
        ('remaining_bytes', k.remaining_bytes, a.remaining_bytes::bigint, k.is_summed and not k.is_shared)
      ) as raw("column", kept, counted, is_compared)
      cross join lateral (select raw.column, coalesce(raw.kept, 0) as kept, coalesce(raw.counted, 0) as counted) v
     where coalesce(raw.is_compared, true) and v.kept <> v.counted
     order by cycle_key, pool_id, v.column
     limit ${MOST_WRONG}`.execute(tx.q)
  return rows
}

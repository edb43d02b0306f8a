/** Recounts SIMs, and finds stored counts that differ. */
import { sql } from 'kysely'
import { SimStatus } from '../../../domain/codes.ts'
import { MOST_WRONG, type WrongFigure } from '../../../store/counts.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/**
 * Compares the counts of blocks and pools with the tenant's SIMs, in one statement. Reads all of them: call it with
 * minutes of patience.
 *
 * @returns the first {@link MOST_WRONG}
 */
export async function wrongCounts(tx: TenantTx): Promise<WrongFigure[]> {
  const { rows } = await sql<WrongFigure>`
    with blocks as (
      select block, status, sum(sims) as kept, sum(counted) as counted
        from (select block, status, sims, 0 as counted from sim_blocks where tenant_id = ${mine}
               union all
              select id >> 12, status, 0, count(*) from sims where tenant_id = ${mine} group by 1, 2) b
       group by 1, 2
    ), members as (
      select pool_id, count(*) as total, count(*) filter (where status = ${SimStatus.Active}) as active,
             count(*) filter (where status = ${SimStatus.Unprovisioned}) as unprovisioned
        from sims where tenant_id = ${mine} and pool_id is not null group by 1
    ), pooled as (
      select p.id, p.total_sim_count, p.active_sim_count, coalesce(m.total, 0) as total,
             coalesce(m.active, 0) as active, coalesce(m.unprovisioned, 0) as unprovisioned
        from pools p left join members m on m.pool_id = p.id where p.tenant_id = ${mine}
    )
    select what, kept::integer as kept, counted::integer as counted from (
      select 'SIMs ' || block * 4096 || ' to ' || block * 4096 + 4095 || ' of status ' || status as what, kept, counted
        from blocks
       union all
      select 'SIMs in pool ' || id, total_sim_count, total from pooled
       union all
      select 'active SIMs in pool ' || id, active_sim_count, active from pooled
       union all
      select 'unprovisioned SIMs in pool ' || id, 0, unprovisioned from pooled) w
     where kept <> counted
     order by what limit ${MOST_WRONG}`.execute(tx.q)
  return rows
}

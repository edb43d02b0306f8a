import { sql } from 'kysely'
import { MOST_SPANS, type SimHistory, type Span } from '../../../domain/sims/sim-history.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

type Row = Omit<Span, 'from' | 'to'> & { readonly from: Date; readonly to: Date | null }

/** Assignments and suspensions of a SIM, the newest first. */
export async function readSimHistory(tx: TenantTx, simId: number): Promise<SimHistory> {
  const { rows } = await sql<Row>`
    select s.kind, s.from_at as "from", s.to_at as "to", nullif(s.pool_id, 0) as "poolId", p.name as "poolName",
           s.tariff_id as "tariffId", t.name as "tariffName", s.cause, s.rule, s.closed_because as "closedBecause"
      from ((select 'assignment' as kind, id, from_at, to_at, pool_id, tariff_id, null as cause, null as rule,
                    null as closed_because
               from memberships where tenant_id = ${mine} and sim_id = ${simId}::bigint
              order by from_at desc limit ${MOST_SPANS + 1})
            union all
            (select 'suspension', id, opened_at, closed_at, null, null, cause, rule, closed_because
               from suspensions where tenant_id = ${mine} and sim_id = ${simId}::bigint
              order by opened_at desc limit ${MOST_SPANS + 1})) s
      left join lateral (select name from pools where tenant_id = ${mine} and id = s.pool_id limit 1) p on true
      left join lateral (select display_name as name from tariffs where id = s.tariff_id limit 1) t on true
     order by s.from_at desc, s.kind desc, s.id desc limit ${MOST_SPANS + 1}`.execute(tx.q)
  const spans = rows
    .slice(0, MOST_SPANS)
    .map(({ from, to, ...span }) => ({ ...span, from: from.toISOString(), to: to?.toISOString() ?? null }))
  return { spans, isWhole: rows.length <= MOST_SPANS }
}

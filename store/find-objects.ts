/** Finds SIMs, pools, tickets and orders of a tenant by number, id, or beginning of their name. */
import { sql } from 'kysely'
import { type Found, type FoundObject, MOST_NAMED, type Sought } from '../domain/find.ts'
import { mine, type TenantTx } from './tenancy.ts'

/** One statement, of look-ups by indexes. Of two matches of an object, the first counts. */
export async function findObjects(tx: TenantTx, sought: Omit<Sought, 'workflowId'>): Promise<Found> {
  const { text, iccids, imsis, msisdns, number, ticketId } = sought
  // Every name begins with it.
  if (text === '') return { objects: [], hasMore: false }
  const { rows } = await sql<FoundObject & { readonly at: number }>`
    with named as materialized (select kind, id, row_number() over (partition by kind)::integer as place
                                  from named_from(${text}, ${MOST_NAMED + 1}::integer)),
    hits (at, kind, id, matched) as (
      select 0, 'sim', id, 'iccid' from sims where tenant_id = ${mine} and iccid = any(${iccids}::text[])
      union all
      select 0, 'sim', id, 'imsi' from sims where tenant_id = ${mine} and imsi <> '' and imsi = any(${imsis}::text[])
      union all
      select 0, 'sim', id, 'msisdn' from sims
       where tenant_id = ${mine} and msisdn <> '' and msisdn = any(${msisdns}::text[])
      union all select 0, 'sim', ${number}::bigint, 'id'
      union all select 0, 'pool', ${number}::bigint, 'id'
      union all select place, kind, id, case kind when 'sim' then 'tag' else 'name' end from named
    ), objects as (
      select h.at, 1 as rank, h.kind, h.id::text as id, h.matched, coalesce(nullif(s.tag, ''), s.iccid) as name
        from hits h
       cross join lateral (select tag, iccid from sims where tenant_id = ${mine} and id = h.id limit 1) s
       where h.kind = 'sim'
      union all
      select h.at, 2, h.kind, h.id::text, h.matched, p.name from hits h
       cross join lateral (
         select name from pools where tenant_id = ${mine} and id = h.id and deleted_at is null limit 1) p
       where h.kind = 'pool'
      union all
      select 0, 3, 'ticket', t.id::text, 'id', coalesce(nullif(s.tag, ''), s.iccid) from tickets t
       cross join lateral (select tag, iccid from sims where tenant_id = ${mine} and id = t.sim_id limit 1) s
       where t.tenant_id = ${mine} and t.id = ${ticketId}::uuid
      union all
      select 0, 4, 'order', id::text, 'id', '' from orders where tenant_id = ${mine} and id = ${number}::bigint
    )
    select at, kind, id, matched, name from objects order by at > 0, rank, at, id`.execute(tx.q)
  const objects = new Map<string, FoundObject>()
  for (const { at, ...object } of rows) {
    const key = `${object.kind} ${object.id}`
    if (at <= MOST_NAMED && !objects.has(key)) objects.set(key, object)
  }
  return { objects: [...objects.values()], hasMore: rows.some(({ at }) => at > MOST_NAMED) }
}

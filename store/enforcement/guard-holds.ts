/** The guard's holds, as lists show them. */
import { sql } from 'kysely'
import type { Hold, HoldQuery } from '../../domain/enforcement/guard.ts'
import { type Page, pageRequest, toPage } from '../../domain/page.ts'
import { readPage } from '../paging.ts'
import type { TenantTx } from '../tenancy.ts'

interface HoldRow extends Omit<Hold, 'openedAt' | 'decidedAt'> {
  readonly openedAt: Date
  readonly decidedAt: Date | null
}

/** Reads a page of the holds, newest first. An open hold whose cycle has ended is shown as `lapsed`. */
export async function pageOfHolds(tx: TenantTx, query: HoldQuery): Promise<Page<Hold>> {
  const page = pageRequest(query)
  const state = sql`case when h.state = 'held' and h.cycle_ends_at <= ${tx.now} then 'lapsed' else h.state end`
  const { rows, totalItems } = await readPage<HoldRow>(
    tx,
    {
      columns: sql`h.id, h.what, h.rule, h.rule_version as "ruleVersion", h.pool_id as "poolId", h.cycle_key as cycle,
                   ${state} as state, h.suspended, h.allowed, h.opened_at as "openedAt", h.decided_at as "decidedAt",
                   h.decided_by as "decidedBy",
                   case when h.what = 'suspensions' then
                     (select count(*)::integer from guard_permits p
                       where p.hold_id = h.id and (p.state <> 'held' or p.over_at is null))
                   when h.decided_at is not null then coalesce(h.subjects, 0)
                   else
                     (select count(*)::integer from alerts a
                       where a.tenant_id = h.tenant_id and a.state #>> '{guard,is}' = 'held'
                         and a.state #>> '{guard,hold}' = h.id::text and a.state ->> 'phase' = 'firing')
                   end as waiting`,
      from: sql`
        from guard_holds h
       where h.tenant_id = ${tx.tenantId} ${query.state === undefined ? sql`` : sql`and ${state} = ${query.state}`}`,
      orderBy: sql`id desc`,
    },
    page,
  )
  return toPage(
    page,
    totalItems,
    rows.map((row) => ({
      ...row,
      openedAt: row.openedAt.toISOString(),
      decidedAt: row.decidedAt?.toISOString() ?? null,
    })),
  )
}

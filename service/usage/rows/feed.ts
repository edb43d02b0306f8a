/** When a tenant's usage was last received, and the instant of its newest record. */
import { sql } from 'kysely'
import type { FeedTimes } from '../../../domain/usage/feed.ts'
import type { FeedRow } from '../../../rules/fact-rows.ts'
import { kept } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/**
 * The `status_since` of the SIM Active for longest. Found by spans: no index on SIMs has their status, to keep changes
 * of the status cheap.
 */
const ACTIVE_SINCE = sql`
  (select status_since from sims
    where id = (select sim_id from active_spans where tenant_id = ${mine} and to_at is null order by from_at limit 1))`

/** Reads the feed. @throws Error if the tenant does not exist */
export async function readFeed(tx: TenantTx): Promise<FeedRow> {
  const { rows } = await sql<FeedRow>`${kept}
    select f.received_at as "receivedAt", f.newest_at as "newestAt", ${ACTIVE_SINCE} as "activeSince",
           n.feed_every as "feedEvery"
      from tenants n
      left join usage_feeds f on f.tenant_id = n.id
     where n.id = ${tx.tenantId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`there is no tenant ${tx.tenantId}`)
  return row
}

/** Notes that usage was received now, if none ever was: the usage of SIMs from before their import. */
export async function noteFirstReceived(tx: TenantTx): Promise<void> {
  await sql`insert into usage_feeds (received_at) values (${tx.now}) on conflict do nothing`.execute(tx.q)
}

/**
 * Notes that the staged records were received now. Call with the merge lock.
 *
 * @returns the feed before
 */
export async function noteReceived(tx: TenantTx): Promise<Pick<FeedTimes, 'receivedAt' | 'activeSince'>> {
  const { rows } = await sql<Pick<FeedTimes, 'receivedAt' | 'activeSince'>>`${kept}
    with before as materialized (
      select (select received_at from usage_feeds where tenant_id = ${mine}) as received_at,
             ${ACTIVE_SINCE} as active_since
    ), noted as (
      insert into usage_feeds as f (received_at, newest_at)
      select ${tx.now}::timestamptz, (select max(last_at) from usage_sums)
      on conflict (tenant_id) do update
        set received_at = greatest(f.received_at, excluded.received_at),
            newest_at = greatest(f.newest_at, excluded.newest_at)
    )
    select received_at as "receivedAt", active_since as "activeSince" from before`.execute(tx.q)
  return rows[0] ?? { receivedAt: null, activeSince: null }
}

/** Reads sums over the SIMs whose tags fit the patterns of rules. */
import { sql } from 'kysely'
import { SimStatus } from '../../../domain/codes.ts'
import type { TagScan } from '../../../rules/fact-rows.ts'
import { likeOf } from '../../../store/like.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import type { TagRow } from '../../alerts/rows/tag-patterns.ts'
import { EXACT_ROWS, OVERAGE_BYTES, ownAndPlaces, PLACED } from '../../usage/rows/figures.ts'

export const NO_TAGGED_SIMS: TagScan = {
  simCount: 0,
  activeSimCount: 0,
  suspendedSimCount: 0,
  unprovisionedSimCount: 0,
  silentSimCount: 0,
  overSimCount: 0,
  usageBytes: 0,
  overageBytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
  sessions: 0,
}

/**
 * Sums over the SIMs of tags, by tag: goes through all SIMs of the tenant once, and through the ledger rows of those
 * that fit. A tag without SIMs is left out.
 *
 * @param silentBefore a SIM is silent if it has been Active, and has not been seen, since before this instant
 */
export async function scanTags(
  tx: TenantTx,
  cycleKey: string,
  tags: readonly TagRow[],
  silentBefore: Date,
): Promise<Map<number, TagScan>> {
  const ofCycle = sql`(select ${cycleKey}::text)`
  const ledger = sql`
    select * from usage_ledger
     where tenant_id = ${mine} and cycle_key = ${ofCycle} and sim_id = any(array(select distinct sim_id from tagged))`
  const patterns = JSON.stringify(tags.map(({ id, tag }) => ({ id, like: likeOf(tag) })))
  const { rows } = await sql<TagScan & { id: number }>`
    with tagged as materialized (
      select t.id as tag_id, s.id as sim_id, s.status, s.status_since
        from sims s join jsonb_to_recordset(${patterns}::jsonb) as t(id bigint, "like" text) on s.tag like t."like"
       where s.tenant_id = ${mine}
    ), ${ownAndPlaces(ofCycle, ledger, EXACT_ROWS)}, counted as (
      select t.tag_id, count(*)::integer as sims,
             count(*) filter (where t.status = ${SimStatus.Active})::integer as active,
             count(*) filter (where t.status = ${SimStatus.Suspended})::integer as suspended,
             count(*) filter (where t.status = ${SimStatus.Unprovisioned})::integer as unprovisioned,
             count(*) filter (where t.status = ${SimStatus.Active} and t.status_since < ${silentBefore}
                                and (g.last_seen_at is null or g.last_seen_at < ${silentBefore}))::integer as silent
        from tagged t
        left join sim_sightings g on g.tenant_id = ${mine} and g.sim_id = t.sim_id
       group by t.tag_id
    ), used as (
      select t.tag_id, count(distinct f.sim_id) filter (where f.excess_bytes > 0)::integer as over_sims,
             sum(f.bytes)::bigint as bytes, sum(${OVERAGE_BYTES})::bigint as overage_bytes,
             sum(f.voice_seconds)::bigint as voice_seconds, sum(f.sms_count)::bigint as sms_count,
             sum(f.sessions)::bigint as sessions
        from ${PLACED}
        join tagged t on t.sim_id = f.sim_id
       group by t.tag_id
    )
    select c.tag_id as id, c.sims as "simCount", c.active as "activeSimCount", c.suspended as "suspendedSimCount",
           c.unprovisioned as "unprovisionedSimCount", c.silent as "silentSimCount",
           coalesce(u.over_sims, 0) as "overSimCount", coalesce(u.bytes, 0) as "usageBytes",
           coalesce(u.overage_bytes, 0) as "overageBytes", coalesce(u.voice_seconds, 0) as "voiceSeconds",
           coalesce(u.sms_count, 0) as "smsCount", coalesce(u.sessions, 0) as sessions
      from counted c left join used u on u.tag_id = c.tag_id`.execute(tx.q)
  return new Map(rows.map(({ id, ...scan }) => [id, scan]))
}

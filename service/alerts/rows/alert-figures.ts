/** Figures of waiting mails and decisions, of all tenants together. Instants, states and counts; no names. */
import { sql } from 'kysely'
import { SimStatus } from '../../../domain/codes.ts'
import type { PlatformTx } from '../../../store/tenancy.ts'

export interface AlertFigures {
  /** The start of the wait of the notice overdue for longest, in a mail or not yet; null if none is overdue. */
  readonly waitingSince: Date | null
  /** Undecided holds of the guard, in cycles not ended. */
  readonly openHolds: number
  /** Bad addresses of tenants, without duplicates: of billing only the present one. No server takes mails for them. */
  readonly refusedAddresses: number
  /**
   * Among tenants with Active SIMs, the earliest instant of the last received usage. A tenant that never sent any
   * counts with the instant of its creation. Null without such a tenant.
   */
  readonly stalestFeed: Date | null
}

/** Reads the figures. Costs two probes of indexes for each tenant, and two more for each tenant with mails to send. */
export async function alertFigures(tx: PlatformTx): Promise<AlertFigures> {
  const { rows } = await sql<AlertFigures>`
    select (select min(least(n.at, m.at))
              from mail_work w
              join tenants t on t.id = w.tenant_id and t.billing_email <> ''
             cross join lateral (
               select min(due_at) as at from notifications
                where tenant_id = w.tenant_id and mail_id is null and due_at <= ${tx.now}) n
             cross join lateral (
               select min(created_at) as at from deliveries
                where tenant_id = w.tenant_id and mail_id is not null and status = 'pending') m
           ) as "waitingSince",
           (select count(*) from guard_holds where state = 'held' and cycle_ends_at > ${tx.now})::integer as "openHolds",
           (select count(distinct (t.id, lower(a.email)))
              from addresses a
              join tenants t on t.id = a.tenant_id
             where a.bad_since is not null
               and (a.kind <> 'billing' or lower(a.email) = lower(t.billing_email)))::integer as "refusedAddresses",
           (select min(coalesce(f.received_at, t.created_at))
              from tenants t left join usage_feeds f on f.tenant_id = t.id
             where exists (select from sim_blocks
                            where tenant_id = t.id and status = ${SimStatus.Active} and sims > 0)) as "stalestFeed"`.execute(
    tx.q,
  )
  const [row] = rows
  if (row === undefined) throw new Error('the figures of alerts were not read')
  return row
}

/** Recent failures, decisions that wait for a person, and the newest entries of a tenant's records. */
import { sql } from 'kysely'
import { TicketStatus } from '../../../domain/codes.ts'
import { MOST_ENDED, type TenantStatus } from '../../../domain/watchdog/status.ts'
import { MOST_LOOKED_AT } from '../../../domain/workflows/trouble.ts'
import { mineByKey, pageLimit } from '../../../store/keyset-pages.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

type Failures = Pick<
  TenantStatus,
  'holds' | 'failedTickets' | 'failedMails' | 'retryingWorkflows' | 'longestRetry' | 'version'
>

const NONE: Failures = {
  holds: 0,
  failedTickets: 0,
  failedMails: 0,
  retryingWorkflows: 0,
  longestRetry: null,
  version: '',
}
const DAY = 86_400_000

/**
 * Counts failures among the newest {@link MOST_ENDED} rows, retrying workflows among the {@link MOST_LOOKED_AT} activities
 * that have retried the longest, and all open holds: there are few. The version costs three rows.
 */
export async function countFailures(tx: TenantTx): Promise<Failures> {
  const daysAgo = (days: number) => new Date(tx.now.getTime() - days * DAY)
  const { rows } = await sql<Failures>`
    select (select count(*)::integer from guard_holds
             where tenant_id = ${mine} and state = 'held' and cycle_ends_at > ${tx.now}) as holds,
           (select count(*) filter (where status = ${TicketStatus.Failed})::integer
              from (select status from tickets
                     where tenant_id = ${mine} and status in (${TicketStatus.Complete}, ${TicketStatus.Failed}) and finished_at > ${daysAgo(1)}
                     order by finished_at desc limit ${MOST_ENDED}::bigint) t) as "failedTickets",
           (select count(*) filter (where status = 'failed')::integer
              from (select status from deliveries
                     where tenant_id = ${mine} and mail_id is not null and created_at > ${daysAgo(7)}
                     order by created_at desc limit ${MOST_ENDED}::bigint) m) as "failedMails",
           (select count(distinct workflow_id)::integer
              from (select workflow_id from workflow_troubles
                     where tenant_id = ${mine} order by since limit ${pageLimit(MOST_LOOKED_AT)}) w) as "retryingWorkflows",
           (select jsonb_build_object('since', since, 'detail', detail) from workflow_troubles
             where tenant_id = ${mine} order by since limit 1) as "longestRetry",
           concat_ws('.',
             coalesce((select id from watchdog_log where tenant_id = ${mine} order by at desc, id desc limit 1), 0),
             coalesce((select id from events where tenant_id = ${mine} order by at desc, id desc limit 1), 0),
             coalesce((select id from audit_log where ${mineByKey('audit_log.id')} order by tenant_id, id desc limit 1), 0)) as version`.execute(
    tx.q,
  )
  const [{ longestRetry, ...figures } = NONE] = rows
  if (longestRetry === null) return { ...figures, longestRetry }
  return { ...figures, longestRetry: { ...longestRetry, since: new Date(longestRetry.since).toISOString() } }
}

/** Activities that fail again and again. */
import { sql } from 'kysely'
import { type PageRequest } from '../../../domain/page.ts'
import { workflowTypeOf } from '../../../domain/temporal/ids.ts'
import {
  type EndedActivity,
  type FailingActivity,
  MOST_LOOKED_AT,
  type Trouble,
} from '../../../domain/workflows/trouble.ts'
import { pageLimit } from '../../../store/keyset-pages.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type PlatformTx, type TenantTx } from '../../../store/tenancy.ts'

/** Adds activities, or notes their newest failure. Safe to run twice. */
export async function saveTroubles(tx: TenantTx, failing: readonly FailingActivity[]): Promise<void> {
  if (failing.length === 0) return
  await sql`
    insert into workflow_troubles (workflow_id, activity_id, activity, attempt, code, detail, since, failed_at, next_attempt_at)
    select distinct on ("workflowId", "activityId")
           "workflowId", "activityId", activity, attempt, code, detail, since, "failedAt", "nextAttemptAt"
      from jsonb_to_recordset(${JSON.stringify(failing)}::jsonb)
        as f("workflowId" text, "activityId" text, activity text, attempt integer, code text, detail text,
             since timestamptz, "failedAt" timestamptz, "nextAttemptAt" timestamptz)
     order by "workflowId", "activityId", "failedAt" desc
    on conflict (tenant_id, workflow_id, activity_id) do update
       set activity = excluded.activity, attempt = excluded.attempt, code = excluded.code, detail = excluded.detail,
           since = excluded.since, failed_at = excluded.failed_at, next_attempt_at = excluded.next_attempt_at`.execute(
    tx.q,
  )
}

/** @param ended with `failedAt`: only if it has not failed since then */
export async function removeTroubles(
  tx: TenantTx,
  ended: readonly (EndedActivity & { readonly failedAt?: string })[],
): Promise<void> {
  if (ended.length === 0) return
  await sql`
    with gone as (
      select t.workflow_id, t.activity_id
        from jsonb_to_recordset(${JSON.stringify(ended)}::jsonb)
          as e("workflowId" text, "activityId" text, "failedAt" timestamptz)
       cross join lateral (
         select workflow_id, activity_id, failed_at from workflow_troubles
          where tenant_id = ${mine} and workflow_id = e."workflowId" and activity_id = e."activityId" limit 1) t
       where t.failed_at <= coalesce(e."failedAt", t.failed_at)
    )
    delete from workflow_troubles t using gone g
     where t.tenant_id = ${mine} and t.workflow_id = g.workflow_id and t.activity_id = g.activity_id`.execute(tx.q)
}

interface Row extends Omit<Trouble, 'type' | 'since' | 'failedAt' | 'nextAttemptAt'> {
  readonly since: Date
  readonly failedAt: Date
  readonly nextAttemptAt: Date
}

const toTrouble = ({ since, failedAt, nextAttemptAt, ...row }: Row): Trouble => ({
  ...row,
  type: workflowTypeOf(row.workflowId) ?? '',
  since: since.toISOString(),
  failedAt: failedAt.toISOString(),
  nextAttemptAt: nextAttemptAt.toISOString(),
})

/** The longest retried first, at most {@link MOST_LOOKED_AT} of them. */
export async function pageOfTroubles(tx: TenantTx, page: PageRequest) {
  const columns = sql`workflow_id as "workflowId", activity_id as "activityId", activity, attempt, code, detail, since,
    failed_at as "failedAt", next_attempt_at as "nextAttemptAt"`
  const { rows, totalItems } = await readPage<Row>(
    tx,
    {
      columns,
      from: sql`from (
        select * from workflow_troubles where tenant_id = ${mine}
         order by since, workflow_id, activity_id limit ${pageLimit(MOST_LOOKED_AT)}) t`,
      orderBy: sql`since, "workflowId", "activityId"`,
    },
    page,
  )
  return { troubles: rows.map(toTrouble), totalItems }
}

/** Deletes activities whose next attempt was due before, and was not reported. @returns how many */
export async function forgetTroubles(tx: PlatformTx, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from workflow_troubles t using (
      select tenant_id, workflow_id, activity_id from workflow_troubles
       where next_attempt_at < ${before} order by next_attempt_at limit ${limit}
    ) old
     where t.tenant_id = old.tenant_id and t.workflow_id = old.workflow_id and t.activity_id = old.activity_id`.execute(
    tx.q,
  )
  return Number(numAffectedRows ?? 0n)
}

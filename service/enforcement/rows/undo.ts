/** Finds suspensions by one rule in a span of time, to undo them. */

import { sql } from 'kysely'
import { MOST_SUSPENDED, type SuspendingRules } from '../../../domain/enforcement/undo.ts'
import { SUBJECT_CODES } from '../../../domain/watchdog/subject.ts'
import { fewOfMine, pageLimit } from '../../../store/keyset-pages.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface UndoRequest {
  readonly rule: string
  readonly since: Date
  readonly until: Date
  /** The running cycle: the pending suspensions would happen in it. */
  readonly cycleKey: string
  readonly afterSimId: number
  readonly limit: number
}

/** A SIM that a rule has suspended, or is about to suspend: then the workflow may not have started. */
export interface FoundSuspension {
  readonly simId: number
  readonly workflowId: string | null
  readonly suspended: boolean
}

/**
 * SIMs that a rule has suspended or is about to suspend, by SIM id. SIMs about to be suspended are in a grace period,
 * have a ticket under way, or are held by the guard; a SIM counts as suspended if its ticket has ended since. SIMs that
 * a person or another rule suspended are left out, and so are SIMs that a person resumed.
 *
 * @returns at most `limit` suspensions, and the total number with ids above `afterSimId`
 */
export async function suspensionsToUndo(
  tx: TenantTx,
  { rule, since, until, cycleKey, afterSimId, limit }: UndoRequest,
): Promise<{ found: FoundSuspension[]; total: number }> {
  const within = sql`>= ${since} and`
  const { rows } = await sql<FoundSuspension & { total: number }>`
    with suspended as (
      select sim_id, workflow_id from suspensions
       where ${fewOfMine(sql`tenant_id`)} and closed_at is null and cause = 'watchdog' and rule = ${rule}
         and opened_at ${within} opened_at < ${until} and sim_id > ${afterSimId}
    ), asked as (
      select sim_id from guard_permits
       where tenant_id = ${mine} and rule = ${rule} and over_at is null and state <> 'discarded'
         and cycle_key = ${cycleKey} and at ${within} at < ${until} and sim_id > ${afterSimId}
      union
      select subject_id from alerts
       where tenant_id = ${mine} and rule = ${rule} and subject_kind = ${SUBJECT_CODES.sim}
         and scope in (${cycleKey}, '') and asked in ('overLimit', 'delayed')
         and asked_at ${within} asked_at < ${until} and subject_id > ${afterSimId}
    ), about as (
      select a.sim_id from asked a
       where not exists (select 1 from suspensions s where s.sim_id = a.sim_id and s.closed_at is null)
         and not exists (select 1 from workflow_starts w
                          where w.tenant_id = ${mine} and w.cycle_key = ${cycleKey} and w.sim_id = a.sim_id
                            and w.held)
    ), since as (
      select a.sim_id, s.workflow_id
        from asked a
       cross join lateral (
         select workflow_id from suspensions
          where sim_id = a.sim_id and closed_at is null and cause = 'watchdog' and rule = ${rule}
            and opened_at >= ${until} limit 1) s
    ), found as (
      select sim_id, workflow_id, true as suspended from suspended
      union all
      select sim_id, workflow_id, true from since
      union all
      select sim_id, null, false from about
    )
    select sim_id as "simId", workflow_id as "workflowId", suspended, count(*) over ()::integer as total
      from found order by sim_id limit ${limit}`.execute(tx.q)
  return { found: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 }
}

const MOST_RULES = 100

/** The rules that have SIMs suspended now. One look-up in an index finds the next rule. */
export async function readSuspendingRules(tx: TenantTx): Promise<SuspendingRules> {
  const open = sql`closed_at is null and cause = 'watchdog'`
  const { rows } = await sql<{ rule: string; sims: number; firstAt: Date; lastAt: Date }>`
    with recursive found as (
      (select rule from suspensions where ${fewOfMine(sql`tenant_id`)} and ${open} order by tenant_id, rule limit 1)
      union all
      select (select rule from suspensions
               where (tenant_id, rule) > (${mine}, f.rule) and tenant_id <= ${mine} and ${open}
               order by tenant_id, rule limit 1)
        from found f where f.rule is not null
    )
    select f.rule, s.sims, s.first_at as "firstAt", s.last_at as "lastAt"
      from (select rule from found where rule is not null limit ${MOST_RULES}) f
     cross join lateral (
       select count(*)::integer as sims, min(opened_at) as first_at, max(opened_at) as last_at
         from (select opened_at from suspensions
                where (tenant_id, rule) between (${mine}, f.rule) and (${mine}, f.rule) and ${open}
                order by tenant_id, rule, sim_id limit ${pageLimit(MOST_SUSPENDED + 1)}) looked) s
     order by s.last_at desc, f.rule`.execute(tx.q)
  return {
    rules: rows.map(({ rule, sims, firstAt, lastAt }) => ({
      rule,
      sims: Math.min(sims, MOST_SUSPENDED),
      isWhole: sims <= MOST_SUSPENDED,
      firstAt: firstAt.toISOString(),
      lastAt: lastAt.toISOString(),
    })),
  }
}

/** The permits that rules requested for SIMs from the guard on suspensions. */

import { type RawBuilder, sql } from 'kysely'
import type { GuardScope } from '../../../domain/enforcement/guard.ts'
import type { PageRequest } from '../../../domain/page.ts'
import type { GuardSignal } from '../../../domain/temporal/signals.ts'
import { SUBJECT_CODES } from '../../../domain/watchdog/subject.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export type PermitState = 'granted' | 'held' | 'discarded'

/** Locks the tenant's guard, to count requests one at a time. Take the lock on alerts first. */
export async function lockGuard(tx: TenantTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('simherd.guard'), hashtext(${tx.lockName}))`.execute(tx.q)
}

export interface StandingPermit {
  readonly simId: number
  /** Null: no permit was requested for the SIM under this version. */
  readonly state: PermitState | null
  readonly holdId: number | null
  /** Pool of the SIM's latest permit for this rule and cycle that has not ended, under any version. */
  readonly poolId: number | null
}

/**
 * Permits of SIMs under one version of a rule that have not ended, in the order of `simIds`. A SIM without a permit has
 * nulls; an unknown SIM is left out.
 */
export async function standingPermits(
  tx: TenantTx,
  ask: { readonly rule: string; readonly version: number; readonly cycleKey: string },
  simIds: readonly number[],
): Promise<StandingPermit[]> {
  const { rows } = await sql<StandingPermit>`
    select s.id as "simId", p.state, p.hold_id as "holdId",
           (select e.pool_id from guard_permits e
             where e.tenant_id = ${mine} and e.sim_id = s.id and e.rule = ${ask.rule}
               and e.cycle_key = ${ask.cycleKey} and e.over_at is null
             order by e.id desc limit 1) as "poolId"
      from unnest(${[...simIds]}::bigint[]) with ordinality as a(id, n)
      join sims s on s.id = a.id
      left join guard_permits p
        on p.tenant_id = ${mine} and p.sim_id = s.id and p.rule = ${ask.rule}
       and p.cycle_key = ${ask.cycleKey} and p.rule_version = ${ask.version} and p.over_at is null
     order by a.n`.execute(tx.q)
  return rows
}

/** Stores a permit for each SIM: held if there is a hold, otherwise granted. Takes one statement for any number. */
export async function insertPermits(
  tx: TenantTx,
  scope: GuardScope,
  simIds: readonly number[],
  answer: { readonly workflowId: string; readonly holdId: number | null },
): Promise<void> {
  if (simIds.length === 0) return
  await sql`
    insert into guard_permits (rule, rule_version, pool_id, cycle_key, sim_id, workflow_id, state, hold_id, at)
    select ${scope.rule}, ${scope.version}, ${scope.poolId}::integer, ${scope.cycleKey}, id, ${answer.workflowId},
           ${answer.holdId === null ? 'granted' : 'held'}, ${answer.holdId}::bigint, ${tx.now}::timestamptz
      from unnest(${[...simIds]}::bigint[]) with ordinality as a(id, n)
     order by n`.execute(tx.q)
}

/** Condition: permits that a hold covers. A SIM whose alert cleared before the decision has none. */
export const coveredBy = (holdId: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`hold_id = ${holdId} and (state <> 'held' or over_at is null)`

/** How many SIMs a hold covers. */
export async function heldBy(tx: TenantTx, holdId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from guard_permits where ${coveredBy(sql`${holdId}::bigint`)}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** A page of the SIMs that a hold covers, in the order in which their permits were requested. */
export async function simsHeldBy(
  tx: TenantTx,
  holdId: number,
  page: PageRequest,
): Promise<{ ids: number[]; totalItems: number }> {
  const { rows, totalItems } = await readPage<{ simId: number }>(
    tx,
    {
      columns: sql`id, sim_id as "simId"`,
      from: sql`from guard_permits where ${coveredBy(sql`${holdId}::bigint`)}`,
      orderBy: sql`id`,
    },
    page,
  )
  return { ids: rows.map(({ simId }) => simId), totalItems }
}

/**
 * Decides the permits that a hold keeps waiting, and signals every workflow that may wait for them: the workflow that
 * requested the permit, the SIM's own run of the cycle, and its pool's.
 */
export async function answerHeld(
  tx: TenantTx,
  { id, poolId, cycleKey }: Pick<GuardScope, 'poolId' | 'cycleKey'> & { readonly id: number },
  state: 'granted' | 'discarded',
  signal: GuardSignal,
): Promise<void> {
  await sql`
    with waiting as (
      update guard_permits set state = ${state}
       where hold_id = ${id} and state = 'held' and over_at is null
      returning workflow_id, sim_id
    ), receivers as (
      select workflow_id from waiting
      union
      select w.workflow_id from workflow_starts w
       where w.tenant_id = ${mine} and w.cycle_key = ${cycleKey} and w.sim_id in (select sim_id from waiting)
      union
      select w.workflow_id from workflow_starts w
       where w.tenant_id = ${mine} and w.cycle_key = ${cycleKey} and w.pool_id = ${poolId}::integer
         and exists (select 1 from waiting)
    )
    insert into workflow_outbox (workflow_id, request, due_at, created_at)
    select workflow_id, jsonb_build_object('do', 'signal', 'workflowId', workflow_id, 'signal', ${signal}::text),
           ${tx.now}, ${tx.now}
      from receivers order by workflow_id`.execute(tx.q)
  tx.enqueue({ queue: 'workflows' })
}

/** The alert of a rule for a SIM or a pool is over, or must not be acted on now. */
export interface PermitOver {
  readonly rule: string
  readonly cycleKey: string
  readonly simId: number | null
  readonly poolId: number | null
  /**
   * True: the alert has cleared, all its permits end, and the next alert requests new ones. False: only held permits
   * are withdrawn, because the SIM may be suspended already.
   */
  readonly cleared: boolean
}

/**
 * Finds SIMs (or the pool of the scope) with an alert that has cleared since the suspension was desired. Such a subject
 * has stored alerts, and none is firing for the SIM or its pool. Call with the guard locked: an alert that clears later
 * ends its permits itself.
 */
export async function clearedPermits(
  tx: TenantTx,
  { rule, cycleKey, poolId }: GuardScope,
  simIds: readonly number[],
): Promise<PermitOver[]> {
  const subjects =
    poolId === null
      ? sql`select s.id as sim_id, null::integer as pool_id, k.kind, k.id
              from sims s cross join lateral (values (${SUBJECT_CODES.sim}::smallint, s.id), (${SUBJECT_CODES.pool}::smallint, s.pool_id::bigint)) k(kind, id)
             where s.id = any(${[...simIds]}::bigint[])`
      : sql`select null::bigint as sim_id, ${poolId}::integer as pool_id, ${SUBJECT_CODES.pool}::smallint as kind, ${poolId}::bigint as id`
  const { rows } = await sql<{ simId: number | null; poolId: number | null }>`
    select s.sim_id as "simId", s.pool_id as "poolId"
      from (${subjects}) s
      join alerts a
        on a.tenant_id = ${mine} and a.rule = ${rule} and a.subject_kind = s.kind and a.subject_id = s.id
       and a.scope in (${cycleKey}, '')
     group by s.sim_id, s.pool_id
    having not bool_or(a.firing)`.execute(tx.q)
  return rows.map((one) => ({ ...one, rule, cycleKey, cleared: true }))
}

/** Ends the permits of alerts. Takes one statement for any number. Call with the guard locked. */
export async function endPermits(tx: TenantTx, over: readonly PermitOver[]): Promise<void> {
  if (over.length === 0) return
  await sql`
    update guard_permits p set over_at = ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(over)}::jsonb) as o(
             rule text, "cycleKey" text, "simId" bigint, "poolId" integer, cleared boolean)
     where p.tenant_id = ${mine} and p.over_at is null and p.rule = o.rule and p.cycle_key = o."cycleKey"
       and (p.sim_id = o."simId" and p.pool_id is null or p.pool_id = o."poolId")
       and (o.cleared or p.state = 'held')`.execute(tx.q)
}

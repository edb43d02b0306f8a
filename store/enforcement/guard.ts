/** What the guard on suspensions stores: permits that rules requested, and holds that wait for a person. */

import { sql } from 'kysely'
import { SimStatus } from '../../domain/codes.ts'
import type { HoldSubject } from '../../domain/enforcement/guard.ts'
import type { GuardSignal } from '../../domain/temporal/signals.ts'
import { SUBJECT_CODES } from '../../domain/watchdog/subject.ts'
import { mine, type TenantTx } from '../tenancy.ts'

/** What suspensions are counted for: one rule in one version, in a pool or (null) in the whole tenant. */
export interface GuardScope {
  readonly rule: string
  readonly version: number
  readonly poolId: number | null
  readonly cycleKey: string
}

export type PermitState = 'granted' | 'held' | 'discarded'

/** Locks the tenant's guard, so that requests are counted one at a time. Take this lock after the one on alerts. */
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
 * nulls; a SIM that the tenant does not have is left out.
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

/** Condition: permits of a scope that count. Written to use an index, which `is not distinct from` would not. */
const counting = (tx: TenantTx, { rule, version, poolId }: GuardScope) => sql`
  tenant_id = ${mine} and rule = ${rule} and rule_version = ${version} and counts
  and ${poolId === null ? sql`pool_id is null` : sql`pool_id = ${poolId}`}`

/**
 * Counts permits of a scope after an instant, whatever became of them. There are hardly more than the guard lets
 * through in an hour.
 */
export async function countPermits(tx: TenantTx, scope: GuardScope, since: Date): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from guard_permits where ${counting(tx, scope)} and at > ${since}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** How many SIMs a pool has, or (null) how many of the tenant's are provisioned. From counts that are kept. */
export async function scopeSize(tx: TenantTx, poolId: number | null): Promise<number> {
  const { rows } = await (poolId === null
    ? sql<{ count: number }>`
          select coalesce(sum(sims), 0)::integer as count from sim_blocks
           where tenant_id = ${mine} and status <> ${SimStatus.Unprovisioned}`
    : sql<{ count: number }>`select total_sim_count as count from pools where id = ${poolId}`
  ).execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Id of a scope's open hold; undefined if it has none. @param what alerts are held under version 0 */
export async function openHoldOf(
  tx: TenantTx,
  scope: GuardScope,
  what: HoldSubject = 'suspensions',
): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    select id from guard_holds
     where tenant_id = ${mine} and what = ${what} and rule = ${scope.rule} and rule_version = ${scope.version}
       and cycle_key = ${scope.cycleKey} and coalesce(pool_id, 0) = ${scope.poolId ?? 0} and state = 'held'`.execute(
    tx.q,
  )
  return rows[0]?.id
}

/** Opens a hold for a scope. @returns its id */
export async function insertHold(
  tx: TenantTx,
  scope: GuardScope,
  found: { readonly cycleEndsAt: Date; readonly suspended: number; readonly allowed: number },
  what: HoldSubject = 'suspensions',
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into guard_holds (what, rule, rule_version, pool_id, cycle_key, cycle_ends_at, suspended, allowed, opened_at)
    values (${what}, ${scope.rule}, ${scope.version}, ${scope.poolId}, ${scope.cycleKey}, ${found.cycleEndsAt},
            ${found.suspended}, ${found.allowed}, ${tx.now})
    returning id`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error('the hold was inserted but cannot be found')
  return row.id
}

/** Stores a permit for each SIM: held if there is a hold, otherwise granted. One statement, whatever their number. */
export async function insertPermits(
  tx: TenantTx,
  scope: GuardScope,
  simIds: readonly number[],
  answer: { readonly workflowId: string; readonly holdId: number | null },
): Promise<void> {
  if (simIds.length === 0) return
  const granted = answer.holdId === null
  await sql`
    insert into guard_permits (rule, rule_version, pool_id, cycle_key, sim_id, workflow_id, state, hold_id, counts, at)
    select ${scope.rule}, ${scope.version}, ${scope.poolId}::integer, ${scope.cycleKey}, id, ${answer.workflowId},
           ${granted ? 'granted' : 'held'}, ${answer.holdId}::bigint, ${granted}, ${tx.now}::timestamptz
      from unnest(${[...simIds]}::bigint[]) with ordinality as a(id, n)
     order by n`.execute(tx.q)
}

export interface HoldRow extends GuardScope {
  readonly id: number
  readonly what: HoldSubject
  /** Of alerts that are decided about: how many. */
  readonly subjects: number | null
  readonly state: 'held' | 'released' | 'discarded'
  readonly cycleEndsAt: Date
}

/** Locks a hold and reads it; undefined if there is none with this id. */
export async function lockHold(tx: TenantTx, id: number): Promise<HoldRow | undefined> {
  const { rows } = await sql<HoldRow>`
    select id, what, subjects, rule, rule_version as version, pool_id as "poolId", cycle_key as "cycleKey", state,
           cycle_ends_at as "cycleEndsAt"
      from guard_holds where id = ${id}::bigint for update`.execute(tx.q)
  return rows[0]
}

/** What a hold holds, which never changes; undefined if there is none. */
export async function heldIn(tx: TenantTx, id: number): Promise<HoldSubject | undefined> {
  const { rows } = await sql<{ what: HoldSubject }>`
    select what from guard_holds where id = ${id}::bigint`.execute(tx.q)
  return rows[0]?.what
}

/** @param subjects of alerts: how many it was decided about */
export async function markDecided(
  tx: TenantTx,
  id: number,
  state: 'released' | 'discarded',
  subjects: number | null = null,
): Promise<void> {
  await sql`
    update guard_holds set state = ${state}, subjects = ${subjects}, decided_at = ${tx.now}, decided_by = ${tx.caller?.keyId ?? null}
     where id = ${id}`.execute(tx.q)
}

/** How many SIMs a hold covers. SIMs whose alert cleared before the decision do not count. */
export async function heldBy(tx: TenantTx, holdId: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from guard_permits
     where hold_id = ${holdId} and (state <> 'held' or over_at is null)`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/**
 * Decides the permits that a hold keeps waiting, and signals every workflow that may wait for them: the workflow that
 * requested the permit, the SIM's own run of the cycle, and its pool's.
 */
export async function answerHeld(
  tx: TenantTx,
  { id, poolId, cycleKey }: HoldRow,
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

/** Restarts the count of a scope: earlier permits no longer count. */
export async function forgetCount(tx: TenantTx, scope: GuardScope): Promise<void> {
  await sql`update guard_permits set counts = false where ${counting(tx, scope)}`.execute(tx.q)
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
 * Finds SIMs (or the pool of the scope) whose alert has cleared since the suspension was desired. Their alerts are
 * known, and none is firing for the SIM or its pool. Call with the guard locked: an alert that clears later ends its
 * permits itself.
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

/** Ends the permits of alerts. One statement, whatever their number. Call with the guard locked. */
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

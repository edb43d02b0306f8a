/** Stores alert states. */
import { type RawBuilder, sql } from 'kysely'
import { DELAYED } from '../../../domain/temporal/signals.ts'
import { fromCoded, SUBJECT_CODES, type Subject, type SubjectCode, toCoded } from '../../../domain/watchdog/subject.ts'
import type { StoredAlert } from '../../../rules/alerts/alert-state.ts'
import { markDue } from '../../../store/due.ts'
import { kept } from '../../../store/kept.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { isOpen } from './open-alerts.ts'

/**
 * Locks a tenant's alerts until the transaction ends. Take it before reading facts: one evaluation at a time reads and
 * writes, so none overwrites a newer one.
 */
export async function lockAlerts(tx: TenantTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('simherd.alerts'), hashtext(${tx.lockName}))`.execute(tx.q)
}

/** Notes that the orders to suspend SIMs wait. Call with the alerts locked. @returns the SIMs with an open order */
export async function delayOrders(
  tx: TenantTx,
  { rule, cycleKey, simIds }: { readonly rule: string; readonly cycleKey: string; readonly simIds: readonly number[] },
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    update alerts set asked = ${DELAYED}
     where tenant_id = ${mine} and rule = ${rule} and subject_kind = ${SUBJECT_CODES.sim}
       and subject_id = any(${[...simIds]}::bigint[]) and scope in (${cycleKey}, '') and asked = 'overLimit'
    returning subject_id as id`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/** More subjects are found together. */
const FEW = 500

/**
 * Alerts of subjects. Few subjects are looked up one by one: without statistics of the tenant PostgreSQL would go
 * through all its alerts.
 */
const alertsOf = (tx: TenantTx, kind: SubjectCode, ids: readonly number[]): RawBuilder<unknown> =>
  ids.length > FEW
    ? sql`(select * from alerts
            where tenant_id = ${mine} and subject_kind = ${kind} and subject_id = any(${[...ids]}::bigint[]))`
    : sql`(select l.* from unnest(${[...ids]}::bigint[]) as s(id)
            cross join lateral (
              select * from alerts
               where tenant_id = ${mine} and subject_kind = ${kind} and subject_id = s.id
              offset 0
            ) l)`

/** Reads the alerts of subjects in any of the given scopes. A statement for each kind of subject. */
export async function loadAlerts(
  tx: TenantTx,
  subjects: readonly Subject[],
  scopes: readonly string[],
): Promise<StoredAlert[]> {
  const found: StoredAlert[] = []
  for (const [kind, ofKind] of Map.groupBy(subjects, (subject) => subject.kind)) {
    const ids = ofKind.map(({ id }) => id)
    const { rows } = await sql<Omit<StoredAlert, 'kind'> & { readonly kind: SubjectCode }>`${kept}
      select rule, subject_kind as kind, subject_id as id, scope, state, firing, rule_version as "ruleVersion",
             evaluated_at as "evaluatedAt", explanation, asked as "lastSignal", asked_at as "lastSignalAt"
        from ${alertsOf(tx, SUBJECT_CODES[kind], ids)} a
       where scope = any(${[...scopes]}::text[])`.execute(tx.q)
    found.push(...rows.map(fromCoded))
  }
  return found
}

/**
 * Ids of the SIMs of a range that have an alert of any state in one of the given scopes. `(select …)` hides the bounds
 * from the planner: PostgreSQL 15 would plan by their values, and by statistics that may not know the tenant.
 *
 * @param toId not in it; null: no end
 */
export async function simsWithAlerts(
  tx: TenantTx,
  { fromId, toId }: { readonly fromId: number; readonly toId: number | null },
  scopes: readonly string[],
): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    select subject_id as id from alerts
     where tenant_id = ${mine} and subject_kind = ${SUBJECT_CODES.sim}
       and subject_id between (select ${fromId}::bigint) and (select ${(toId ?? Number.MAX_SAFE_INTEGER) - 1}::bigint)
       and scope = any(${[...scopes]}::text[])`.execute(tx.q)
  return new Set(rows.map(({ id }) => id))
}

/** Ids of those of some SIMs that have an open alert in one of the given scopes. */
export async function simsWithOpenAlerts(
  tx: TenantTx,
  ids: readonly number[],
  scopes: readonly string[],
): Promise<number[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<{ id: number }>`
    select distinct subject_id as id from ${alertsOf(tx, SUBJECT_CODES.sim, ids)} a
     where scope = any(${[...scopes]}::text[]) and ${isOpen}`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/** Writes alert states. Call with the alerts locked. */
export async function saveAlerts(tx: TenantTx, alerts: readonly StoredAlert[]): Promise<void> {
  if (alerts.length === 0) return
  await sql`
    insert into alerts as a (rule, subject_kind, subject_id, scope, state, firing, rule_version, evaluated_at,
                             explanation, asked, asked_at)
    select rule, kind, id, scope, state, firing, "ruleVersion", "evaluatedAt", explanation, "lastSignal", "lastSignalAt"
      from jsonb_to_recordset(${JSON.stringify(alerts.map(toCoded))}::jsonb) as s(
        rule text, kind smallint, id bigint, scope text, state jsonb, firing boolean, "ruleVersion" integer,
        "evaluatedAt" timestamptz, explanation jsonb, "lastSignal" text, "lastSignalAt" timestamptz)
     order by rule, kind, id, scope
    on conflict (tenant_id, rule, subject_kind, subject_id, scope) do update
      set state = excluded.state, firing = excluded.firing, rule_version = excluded.rule_version,
          evaluated_at = greatest(a.evaluated_at, excluded.evaluated_at), explanation = excluded.explanation, asked = excluded.asked,
          asked_at = excluded.asked_at`.execute(tx.q)
}

export async function markFiringDue(tx: TenantTx): Promise<void> {
  const { rows } = await sql<{ kind: SubjectCode; id: number }>`
    select distinct subject_kind as kind, subject_id as id from alerts
     where tenant_id = ${mine} and firing order by 1, 2`.execute(tx.q)
  await markDue(tx, rows.map(fromCoded))
}

export async function markFiringSimsDue(tx: TenantTx, poolIds: readonly number[]): Promise<void> {
  if (poolIds.length === 0) return
  const { rows } = await sql<{ id: number }>`
    select distinct s.id
      from sims s join alerts a on a.tenant_id = s.tenant_id and a.subject_kind = ${SUBJECT_CODES.sim} and a.subject_id = s.id
     where s.tenant_id = ${mine} and s.pool_id = any(${[...poolIds]}::integer[]) and a.firing
     order by s.id`.execute(tx.q)
  await markDue(
    tx,
    rows.map(({ id }) => ({ kind: 'sim', id })),
  )
}

/**
 * Ends open alerts of a cycle that is not evaluated any more. Sends no reports: the statement has the cycle's usage.
 *
 * @param most most alerts to end
 * @returns whether no alert was left
 */
export async function closeAlerts(tx: TenantTx, cycleKey: string, most: number): Promise<boolean> {
  const { rows } = await sql<{ ended: number }>`
    with open as (
      select rule, subject_kind, subject_id from alerts
       where tenant_id = ${mine} and scope = ${cycleKey}
         and ${isOpen}
       order by id
       limit ${most}
         for update
    ), ended as (
      update alerts a
         set firing = false, state = a.state || jsonb_build_object('phase', 'resolved', 'since', ${tx.now.getTime()}::bigint)
        from open o
       where a.tenant_id = ${mine} and a.rule = o.rule and a.subject_kind = o.subject_kind
         and a.subject_id = o.subject_id and a.scope = ${cycleKey}
      returning 1
    )
    select count(*)::integer as ended from ended`.execute(tx.q)
  return (rows[0]?.ended ?? 0) < most
}

/** Deletes alerts that go on under another scope. Call with the alerts locked. */
export async function forgetAlerts(
  tx: TenantTx,
  alerts: readonly (Subject & { readonly rule: string; readonly scope: string })[],
): Promise<void> {
  if (alerts.length === 0) return
  await sql`
    delete from alerts a
     using jsonb_to_recordset(${JSON.stringify(alerts.map(toCoded))}::jsonb) as s(rule text, kind smallint, id bigint, scope text)
     where a.tenant_id = ${mine} and a.rule = s.rule and a.subject_kind = s.kind and a.subject_id = s.id
       and a.scope = s.scope`.execute(tx.q)
}

/** When the present episode of a rule's alert about a subject began; undefined if it does not fire in this cycle. */
export async function firingSince(
  tx: TenantTx,
  rule: string,
  subject: Subject,
  cycleKey: string,
): Promise<Date | undefined> {
  const { rows } = await sql<{ since: number }>`
    select (state ->> 'began')::bigint as since from alerts
     where tenant_id = ${mine} and rule = ${rule} and subject_kind = ${SUBJECT_CODES[subject.kind]} and subject_id = ${subject.id}
       and scope in (${cycleKey}, '') and firing`.execute(tx.q)
  const since = rows[0]?.since
  return since === undefined ? undefined : new Date(since)
}

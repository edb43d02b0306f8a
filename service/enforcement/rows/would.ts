/** Suspensions that rules may only log: a work list, one row for a rule and a subject. */
import { sql } from 'kysely'
import type { SuspendTarget } from '../../../domain/temporal/suspend-on-overage.ts'
import { fromCoded, type Subject, type SubjectCode, toCoded } from '../../../domain/watchdog/subject.ts'
import { kept } from '../../../store/kept.ts'
import { mine, type PlatformTx, type TenantTx } from '../../../store/tenancy.ts'

/** A rule that would suspend a SIM, or SIMs of a pool. */
export interface WouldSuspendRow extends Subject {
  readonly rule: string
  readonly cycleKey: string
  readonly ruleVersion: number
  readonly target: SuspendTarget
  /** The rule's message, filled in. */
  readonly reason: string
}

/** Adds to the list, and enqueues the job that works it off. A newer row replaces an older one. */
export async function noteWould(tx: TenantTx, all: readonly WouldSuspendRow[]): Promise<void> {
  if (all.length === 0) return
  tx.enqueue({ queue: 'evaluate' })
  await sql`
    insert into would_suspend (rule, subject_kind, subject_id, cycle_key, rule_version, target, reason, due_at)
    select rule, kind, id, "cycleKey", "ruleVersion", target, reason, ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(all.map(toCoded))}::jsonb) as w(
             rule text, kind smallint, id bigint, "cycleKey" text, "ruleVersion" integer, target text, reason text)
     order by rule, kind, id
    on conflict (tenant_id, rule, subject_kind, subject_id) do update
      set cycle_key = excluded.cycle_key, rule_version = excluded.rule_version, target = excluded.target,
          reason = excluded.reason, due_at = excluded.due_at`.execute(tx.q)
}

type WouldCode = Omit<WouldSuspendRow, 'kind'> & { readonly kind: SubjectCode }

const columns = sql`w.rule, w.subject_kind as kind, w.subject_id as id, w.cycle_key as "cycleKey",
  w.rule_version as "ruleVersion", w.target, w.reason`

/** Reads due rows of one rule, cycle and kind of subject. */
export async function dueWould(tx: TenantTx, limit: number): Promise<WouldSuspendRow[]> {
  const { rows } = await sql<WouldCode>`${kept}
    with first as (
      select rule, subject_kind, cycle_key from would_suspend
       where tenant_id = ${mine} and due_at <= ${tx.now} order by rule, subject_kind, subject_id limit 1
    )
    select ${columns} from would_suspend w
     where tenant_id = ${mine} and due_at <= ${tx.now}
       and (rule, subject_kind, cycle_key) = (select rule, subject_kind, cycle_key from first)
     order by subject_id limit ${limit}`.execute(tx.q)
  return rows.map(fromCoded)
}

/** Condition: the rows of these subjects and rules. */
const among = (all: readonly WouldSuspendRow[]) => sql`
  (rule, subject_kind, subject_id) in (
    select rule, kind, id from jsonb_to_recordset(${JSON.stringify(all.map(toCoded))}::jsonb) as w(
      rule text, kind smallint, id bigint))`

/**
 * Takes rows off the list. Call with the guard locked.
 *
 * @returns the rows that were on it. A row that an evaluation replaces at this moment stays, and is left out.
 */
export async function takeWould(tx: TenantTx, all: readonly WouldSuspendRow[]): Promise<WouldSuspendRow[]> {
  const { rows } = await sql<WouldCode>`
    with found as (
      select rule, subject_kind, subject_id from would_suspend
       where tenant_id = ${mine} and ${among(all)} order by rule, subject_kind, subject_id
         for update skip locked
    )
    delete from would_suspend w using found f
     where w.tenant_id = ${mine} and w.rule = f.rule and w.subject_kind = f.subject_kind
       and w.subject_id = f.subject_id
    returning ${columns}`.execute(tx.q)
  return rows.map(fromCoded)
}

export async function postponeWould(tx: TenantTx, one: WouldSuspendRow, until: Date): Promise<void> {
  await sql`
    update would_suspend set due_at = ${until} where tenant_id = ${mine} and ${among([one])}`.execute(tx.q)
}

/** Ids of tenants with due rows. */
export async function tenantsWithWould(tx: PlatformTx): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select distinct tenant_id as "tenantId" from would_suspend where due_at <= ${tx.now}`.execute(tx.q)
  return rows.map(({ tenantId }) => tenantId)
}

/** Subjects of a rule with a firing alert, if the last wish sent to enforcement was one that it may only log. */
export async function stillWould(tx: TenantTx, all: readonly WouldSuspendRow[]): Promise<WouldSuspendRow[]> {
  const { rows } = await sql<{ n: number }>`
    select w.n::integer as n
      from jsonb_to_recordset(${JSON.stringify(all.map((one, n) => toCoded({ ...one, n })))}::jsonb) as w(
             n integer, rule text, kind smallint, id bigint, "cycleKey" text)
     where exists (select 1 from alerts a
                    where a.tenant_id = ${mine} and a.rule = w.rule and a.subject_kind = w.kind
                      and a.subject_id = w.id and a.scope in (w."cycleKey", '') and a.firing and a.asked = 'would')
     order by n`.execute(tx.q)
  return rows.flatMap(({ n }) => all[n] ?? [])
}

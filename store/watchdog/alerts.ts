/** Stores alert states, and writes the watchdog log. */
import { sql } from 'kysely'
import type { LogLevel } from '../../domain/codes.ts'
import {
  fromCoded,
  SUBJECT_CODES,
  type Subject,
  type SubjectCode,
  type SubjectKind,
  toCoded,
} from '../../domain/watchdog/subject.ts'
import type { TenantTx } from '../tenancy.ts'

export interface NewLogEntry {
  /** Alert key and kind. A tenant gets at most one entry a key. */
  readonly dedupeKey: string
  readonly rule: string | null
  readonly ruleVersion: number | null
  readonly simId: number | null
  readonly poolId: number | null
  readonly level: LogLevel
  readonly message: string
  readonly cycleKey: string | null
  readonly explanation: unknown
}

/**
 * Writes entries to the watchdog log. An existing key keeps its first instant and wording. One statement, whatever the
 * number of entries.
 *
 * @returns only the keys that are new, which are the ones to notify about
 */
export async function insertLogEntries(tx: TenantTx, entries: readonly NewLogEntry[]): Promise<Set<string>> {
  if (entries.length === 0) return new Set()
  const { rows } = await sql<Pick<NewLogEntry, 'dedupeKey'>>`
    insert into watchdog_log (dedupe_key, rule, rule_version, sim_id, pool_id, level, message, at, cycle_key, explanation)
    select "dedupeKey", rule, "ruleVersion", "simId", "poolId", level, message, ${tx.now}, "cycleKey", explanation
      from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb) as e(
        "dedupeKey" text, rule text, "ruleVersion" integer, "simId" bigint, "poolId" integer, level smallint,
        message text, "cycleKey" text, explanation jsonb)
     order by "dedupeKey"
    on conflict (tenant_id, dedupe_key) do nothing
    returning dedupe_key as "dedupeKey"`.execute(tx.q)
  return new Set(rows.map(({ dedupeKey }) => dedupeKey))
}

/** The state of one alert as it is stored. */
export interface StoredAlert<State> {
  readonly rule: string
  readonly kind: SubjectKind
  readonly id: number
  /** The cycle's key for rules on cycle-bound facts, otherwise empty. */
  readonly scope: string
  readonly state: State
  readonly firing: boolean
  readonly ruleVersion: number
  /** Instant of the facts that decided this state. */
  readonly evaluatedAt: Date
  readonly explanation: unknown
  /** The last signal that enforcement sent for it, and when; null before the first. */
  readonly lastSignal: string | null
  readonly lastSignalAt: Date | null
}

/** Locks a tenant's alerts until the transaction ends, so that one evaluation at a time writes them. */
export async function lockAlerts(tx: TenantTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('simherd.alerts'), hashtext(${tx.tenantId}))`.execute(tx.q)
}

/** Reads the alerts of subjects in any of the given scopes. */
export async function loadAlerts<State>(
  tx: TenantTx,
  subjects: readonly Subject[],
  scopes: readonly string[],
): Promise<StoredAlert<State>[]> {
  const { rows } = await sql<Omit<StoredAlert<State>, 'kind'> & { readonly kind: SubjectCode }>`
    select a.rule, a.subject_kind as kind, a.subject_id as id, a.scope, a.state, a.firing,
           a.rule_version as "ruleVersion", a.evaluated_at as "evaluatedAt", a.explanation, a.asked as "lastSignal",
           a.asked_at as "lastSignalAt"
      from jsonb_to_recordset(${JSON.stringify(subjects.map(({ kind, id }) => toCoded({ kind, id })))}::jsonb) as s(kind smallint, id bigint)
      join alerts a on a.tenant_id = ${tx.tenantId} and a.subject_kind = s.kind and a.subject_id = s.id
     where a.scope = any(${[...scopes]}::text[])`.execute(tx.q)
  return rows.map(fromCoded)
}

/** Writes alert states; an older evaluation never overwrites a newer one. */
export async function saveAlerts<State>(tx: TenantTx, alerts: readonly StoredAlert<State>[]): Promise<void> {
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
          evaluated_at = excluded.evaluated_at, explanation = excluded.explanation, asked = excluded.asked,
          asked_at = excluded.asked_at
     where a.evaluated_at < excluded.evaluated_at`.execute(tx.q)
}

/** Whether an alert of a rule is firing for a subject in a cycle. */
export async function isFiring(tx: TenantTx, rule: string, subject: Subject, cycleKey: string): Promise<boolean> {
  const { rows } = await sql`
    select 1 from alerts
     where rule = ${rule} and subject_kind = ${SUBJECT_CODES[subject.kind]} and subject_id = ${subject.id}
       and scope in (${cycleKey}, '') and firing`.execute(tx.q)
  return rows.length > 0
}

/** Alert states of a candidate's rules, apart from those of rules in force: nothing of them is in a list of a tenant. */
import { sql } from 'kysely'
import { fromCoded, SUBJECT_CODES, type Subject, type SubjectCode, toCoded } from '../../domain/watchdog/subject.ts'
import { mine, type PlatformTx, type TenantTx } from '../tenancy.ts'
import type { StoredAlert } from './alerts.ts'
import { candidacyNow } from './rule-candidates.ts'

/** Reads the candidate's alerts of subjects in any of the given scopes. A statement for each kind of subject. */
export async function loadCandidateAlerts<State>(
  tx: TenantTx,
  candidacy: number,
  subjects: readonly Subject[],
  scopes: readonly string[],
): Promise<StoredAlert<State>[]> {
  const found: StoredAlert<State>[] = []
  for (const [kind, ofKind] of Map.groupBy(subjects, (subject) => subject.kind)) {
    const { rows } = await sql<Omit<StoredAlert<State>, 'kind'> & { readonly kind: SubjectCode }>`
      select a.rule, a.subject_kind as kind, a.subject_id as id, a.scope, a.state, a.firing,
             a.rule_version as "ruleVersion", a.evaluated_at as "evaluatedAt", a.explanation,
             null as "lastSignal", null as "lastSignalAt"
        from unnest(${ofKind.map(({ id }) => id)}::bigint[]) as s(id)
       cross join lateral (
          select * from candidate_alerts
           where tenant_id = ${mine} and subject_kind = ${SUBJECT_CODES[kind]} and subject_id = s.id
             and candidacy = ${candidacy} and scope = any(${[...scopes]}::text[])
          offset 0) a`.execute(tx.q)
    found.push(...rows.map(fromCoded))
  }
  return found
}

/** Writes a candidate's alert states. Call with the alerts locked. */
export async function saveCandidateAlerts<State>(
  tx: TenantTx,
  candidacy: number,
  alerts: readonly StoredAlert<State>[],
): Promise<void> {
  if (alerts.length === 0) return
  await sql`
    insert into candidate_alerts as a (candidacy, rule, subject_kind, subject_id, scope, state, firing, rule_version,
                                       evaluated_at, explanation)
    select ${candidacy}, rule, kind, id, scope, state, firing, "ruleVersion", "evaluatedAt", explanation
      from jsonb_to_recordset(${JSON.stringify(alerts.map(toCoded))}::jsonb) as s(
        rule text, kind smallint, id bigint, scope text, state jsonb, firing boolean, "ruleVersion" integer,
        "evaluatedAt" timestamptz, explanation jsonb)
     order by kind, id, rule, scope
    on conflict (tenant_id, subject_kind, subject_id, candidacy, rule, scope) do update
      set state = excluded.state, firing = excluded.firing,
          evaluated_at = greatest(a.evaluated_at, excluded.evaluated_at), explanation = excluded.explanation`.execute(
    tx.q,
  )
}

/** Deletes alerts of candidacies that have ended, of all tenants. @returns how many */
export async function forgetCandidateAlerts(tx: PlatformTx, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from candidate_alerts a using (
      select tenant_id, subject_kind, subject_id, candidacy, rule, scope from candidate_alerts
       where candidacy is distinct from ${candidacyNow} limit ${limit}
    ) old
     where (a.tenant_id, a.subject_kind, a.subject_id, a.candidacy, a.rule, a.scope)
         = (old.tenant_id, old.subject_kind, old.subject_id, old.candidacy, old.rule, old.scope)`.execute(tx.q)
  return Number(numAffectedRows ?? 0n)
}

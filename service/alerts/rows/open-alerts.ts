/** Pending and firing alerts, in the form of lists. */
import { type RawBuilder, sql } from 'kysely'
import type { AlertQuery } from '../../../domain/alerts/alert.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import { fromCoded, SUBJECT_CODES, type SubjectCode, type SubjectKind } from '../../../domain/watchdog/subject.ts'
import type { AlertState } from '../../../rules/alerts/alert-state.ts'
import { keyName } from '../../../store/key-name.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface OpenAlert {
  readonly rule: string
  readonly ruleVersion: number
  readonly kind: SubjectKind
  readonly id: number
  readonly scope: string
  readonly state: AlertState
  readonly lastSignal: string | null
  readonly evaluatedAt: Date
  /** Null for the tenant. */
  readonly label: string | null
  readonly poolId: number | null
  readonly tag: string | null
  readonly acknowledgedByName: string | null
}

/** A page of open alerts, by rule and subject, without those of other cycles. @param cycleKey the running one */
export async function pageOfOpenAlerts(tx: TenantTx, cycleKey: string, query: AlertQuery): Promise<Page<OpenAlert>> {
  const page = pageRequest(query)
  const of = (kind: SubjectKind, id: number | undefined): RawBuilder<unknown> =>
    id === undefined ? sql`` : sql`and a.subject_kind = ${SUBJECT_CODES[kind]} and a.subject_id = ${id}`
  const { rows, totalItems } = await readPage<Omit<OpenAlert, 'kind'> & { readonly kind: SubjectCode }>(
    tx,
    {
      columns: sql`a.rule, a.rule_version as "ruleVersion", a.subject_kind as kind, a.subject_id as id, a.scope, a.state,
                   a.asked as "lastSignal", a.evaluated_at as "evaluatedAt",
                   case when s.id is null then coalesce(p.name, t.pattern) when s.tag = '' then s.iccid else s.iccid || ' (' || s.tag || ')' end as label,
                   coalesce(s.pool_id, p.id) as "poolId", s.tag,
                    ${keyName(sql`a.state #>> '{acknowledged,by}'`)} as "acknowledgedByName"`,
      from: sql`
        from alerts a
        left join sims s on s.tenant_id = a.tenant_id and a.subject_kind = ${SUBJECT_CODES.sim} and s.id = a.subject_id
        left join pools p on p.tenant_id = a.tenant_id and a.subject_kind = ${SUBJECT_CODES.pool} and p.id = a.subject_id
        left join tag_patterns t on t.tenant_id = a.tenant_id and a.subject_kind = ${SUBJECT_CODES.tag} and t.id = a.subject_id
       where a.tenant_id = ${mine} and a.state ->> 'phase' in ('pending', 'firing', 'recovering') and a.scope in (${cycleKey}, '')
         ${query.rule === undefined ? sql`` : sql`and a.rule = ${query.rule}`}
         ${query.phase === undefined ? sql`` : sql`and a.state ->> 'phase' = ${query.phase}`}
         ${of('sim', query.simId)} ${of('pool', query.poolId)} ${of('tag', query.tagId)}`,
      orderBy: sql`rule, kind, id, scope`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(fromCoded))
}

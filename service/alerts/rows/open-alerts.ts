/** Alerts in the form of lists. */
import { type RawBuilder, sql } from 'kysely'
import type { AlertQuery } from '../../../domain/alerts/alert.ts'
import { fromCoded, SUBJECT_CODES, type SubjectCode, type SubjectKind } from '../../../domain/watchdog/subject.ts'
import type { AlertState } from '../../../rules/alerts/alert-state.ts'
import { keyName } from '../../../store/key-name.ts'
import { pageLimit } from '../../../store/keyset-pages.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface ListedAlert {
  readonly id: number
  readonly rule: string
  readonly ruleVersion: number
  readonly kind: SubjectKind
  readonly subjectId: number
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

type Row = Omit<ListedAlert, 'kind'> & { readonly kind: SubjectCode }

/** Steps of a rule: from one, up to another that is not among them. Null: no bound. */
export interface StepRange {
  readonly rule: string
  readonly from: number | null
  readonly to: number | null
}

export interface AlertFilter
  extends Pick<
    AlertQuery,
    'rule' | 'phase' | 'simId' | 'poolId' | 'tagId' | 'acknowledged' | 'withheld' | 'holdId' | 'ended'
  > {
  /** Of open alerts, those of other cycles are left out. */
  readonly cycleKey: string
  /** Null: any. */
  readonly steps: Steps | null
}

/** Steps in one of these ranges, or of rules that are not among `others` (null: of none). */
export interface Steps {
  readonly ranges: readonly StepRange[]
  readonly others: readonly string[] | null
}

interface LookedAt {
  readonly alerts: readonly ListedAlert[]
  /** How many of those looked at fit the filter. */
  readonly fitting: number
  /** Continue after this alert; null: there are no more. */
  readonly nextId: number | null
}

/** Alerts looked at for a page. Filters may leave out most of them, so this is what bounds the cost of a page. */
export const MOST_LOOKED_AT = 5000

export const isOpen = sql`state ->> 'phase' in ('pending', 'firing', 'recovering')`

const columns = sql`
  a.id, a.rule, a.rule_version as "ruleVersion", a.subject_kind as kind, a.subject_id as "subjectId", a.scope, a.state,
  a.asked as "lastSignal", a.evaluated_at as "evaluatedAt",
  case when s.iccid is null then coalesce(p.name, t.pattern) when s.tag = '' then s.iccid else s.iccid || ' (' || s.tag || ')' end as label,
  coalesce(s.pool_id, p.id) as "poolId", s.tag, ${keyName(sql`a.state #>> '{acknowledged,by}'`)} as "acknowledgedByName"`

const subjects = sql`
  left join lateral (
    select iccid, tag, pool_id from sims
     where tenant_id = ${mine} and id = case a.subject_kind when ${SUBJECT_CODES.sim} then a.subject_id end limit 1
  ) s on true
  left join lateral (
    select id, name from pools
     where tenant_id = ${mine} and id = case a.subject_kind when ${SUBJECT_CODES.pool} then a.subject_id end limit 1
  ) p on true
  left join lateral (
    select pattern from tag_patterns
     where tenant_id = ${mine} and id = case a.subject_kind when ${SUBJECT_CODES.tag} then a.subject_id end limit 1
  ) t on true`

const orNothing = <T>(value: T | undefined, condition: (value: T) => RawBuilder<unknown>): RawBuilder<unknown> =>
  value === undefined ? sql`` : sql`and ${condition(value)}`

const has = (field: string) => (isWanted: boolean) => sql`(state -> ${field} is not null) = ${isWanted}`

/** Condition: alerts that a hold of the guard keeps back. Written like the condition of their index. @param id as text */
export const heldByGuard = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`state #>> '{guard,is}' = 'held' and state #>> '{guard,hold}' = ${id}`
const waitsIn = (holdId: number) => heldByGuard(sql`${String(holdId)}`)

/** The alerts that a filter begins with: each way is walked by an index, newest first. */
function source({ rule, simId, poolId, tagId, holdId, ended = false }: AlertFilter): RawBuilder<unknown> {
  const ofSubject = (kind: SubjectKind, id: number | undefined) =>
    orNothing(id, (value) => sql`subject_kind = ${SUBJECT_CODES[kind]} and subject_id = ${value}`)
  if (simId !== undefined || poolId !== undefined || tagId !== undefined)
    return sql`(select * from alerts
                 where tenant_id = ${mine} ${ofSubject('sim', simId)} ${ofSubject('pool', poolId)}
                   ${ofSubject('tag', tagId)} offset 0) o
                 where ${ended} <> (${isOpen}) ${orNothing(rule, (value) => sql`rule = ${value}`)}`
  if (holdId !== undefined) return sql`alerts where tenant_id = ${mine} and ${waitsIn(holdId)}`
  if (ended) return sql`alerts where tenant_id = ${mine}`
  if (rule === undefined) return sql`alerts where tenant_id = ${mine} and ${isOpen}`
  return sql`alerts where tenant_id = ${mine} and (firing or state ->> 'phase' = 'pending') and rule = ${rule}`
}

const fits = ({ rule, phase, acknowledged, withheld, holdId, ended = false, cycleKey, steps }: AlertFilter) => sql`
  ${ended ? sql`state ->> 'phase' = 'resolved'` : sql`scope in (${cycleKey}, '')`}
  ${orNothing(rule, (value) => sql`rule = ${value}`)}
  ${orNothing(phase, (value) => sql`state ->> 'phase' = ${value}`)}
  ${orNothing(acknowledged, has('acknowledged'))}
  ${orNothing(withheld, has('withheld'))}
  ${orNothing(holdId, waitsIn)}
  ${orNothing(
    steps ?? undefined,
    ({ ranges, others }) => sql`(
      exists (
        select from jsonb_to_recordset(${JSON.stringify(ranges)}::jsonb) as r(rule text, "from" float8, "to" float8)
         where r.rule = l.rule
           and coalesce((l.state ->> 'step')::float8, '-infinity') >= coalesce(r."from", '-infinity')
           and coalesce((l.state ->> 'step')::float8, '-infinity') < coalesce(r."to", 'infinity'))
      or ${others === null ? sql`false` : sql`l.rule <> all(${[...others]}::text[])`})`,
  )}`

/**
 * Reads alerts, newest first, of the {@link MOST_LOOKED_AT} after a place.
 *
 * @param afterId null: from the newest on
 */
export async function lookAtAlerts(
  tx: TenantTx,
  filter: AlertFilter,
  { afterId, most, offset }: { readonly afterId: number | null; readonly most: number; readonly offset: number },
): Promise<LookedAt> {
  const { rows } = await sql<
    (Row | { readonly id: null }) & { readonly looked: number; readonly fitting: number; readonly lastId: number }
  >`
    with looked as materialized (
      select * from ${source(filter)} ${afterId === null ? sql`` : sql`and id < ${afterId}`}
       order by id desc limit ${pageLimit(MOST_LOOKED_AT)}
    ), fitting as materialized (
      select * from looked l where ${fits(filter)}
    ), page as (
      select * from fitting order by id desc limit ${most} offset ${offset}
    )
    select counts.*, ${columns}
      from (select (select count(*)::integer from looked) as looked, (select min(id) from looked) as "lastId",
                   (select count(*)::integer from fitting) as fitting) counts
      left join page a on true ${subjects}
     order by a.id desc`.execute(tx.q)
  const alerts = rows.flatMap((row): ListedAlert[] => {
    if (row.id === null) return []
    const { looked: _, fitting: __, lastId: ___, ...alert } = row
    return [fromCoded(alert)]
  })
  const { looked = 0, fitting = 0, lastId = null } = rows[0] ?? {}
  const lastShown = alerts.at(-1)?.id ?? null
  const isMore = fitting > offset + alerts.length
  return { alerts, fitting, nextId: isMore ? lastShown : looked < MOST_LOOKED_AT ? null : lastId }
}

/** Reads alerts in any phase but `inactive`, by id. */
export async function findAlerts(tx: TenantTx, ids: readonly number[]): Promise<ListedAlert[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<Row>`
    select ${columns} from alerts a ${subjects}
     where a.tenant_id = ${mine} and a.id = any(${[...ids]}::bigint[]) and a.state ->> 'phase' <> 'inactive'`.execute(
    tx.q,
  )
  return rows.map(fromCoded)
}

/** Texts of reports, by their keys: of the log, of a mail, or of a rule in stage shadow. */
export async function messagesOf(tx: TenantTx, keys: readonly string[]): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map()
  const { rows } = await sql<{ key: string; message: string | null }>`
    select k.key, coalesce(
             (select message from watchdog_log where tenant_id = ${mine} and dedupe_key = k.key),
             (select body ->> 'message' from notifications where tenant_id = ${mine} and dedupe_key = k.key),
             (select message from shadow_log where tenant_id = ${mine} and dedupe_key = k.key limit 1)) as message
      from unnest(${[...keys]}::text[]) as k(key)`.execute(tx.q)
  return new Map(rows.flatMap(({ key, message }) => (message === null ? [] : [[key, message] as const])))
}

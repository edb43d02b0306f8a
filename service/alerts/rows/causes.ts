/** Open alerts, added up by what they have in common. */
import { sql } from 'kysely'
import { fromCoded, type SubjectCode, type SubjectKind } from '../../../domain/watchdog/subject.ts'
import { pageLimit } from '../../../store/keyset-pages.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { isOpen, MOST_LOOKED_AT } from './open-alerts.ts'

/** Alerts of a rule at a step. */
export interface AlertGroup {
  readonly rule: string
  readonly kind: SubjectKind
  /** Null: of a rule without a ladder, or below its first step. */
  readonly step: number | null
  readonly alerts: number
  readonly firing: number
  readonly acknowledged: number
  readonly withheld: number
  /** Epoch milliseconds. */
  readonly since: number
  readonly newestId: number
}

interface Grouped {
  readonly groups: readonly AlertGroup[]
  /** Alerts looked at, with those of other cycles. */
  readonly looked: number
}

/** Adds up the newest {@link MOST_LOOKED_AT} open alerts. @param cycleKey those of other cycles are left out */
export async function groupAlerts(tx: TenantTx, cycleKey: string): Promise<Grouped> {
  type Row = Omit<AlertGroup, 'kind'> & { readonly kind: SubjectCode }
  const { rows } = await sql<(Row | { readonly rule: null }) & { readonly looked: number }>`
    with looked as materialized (
      select id, rule, subject_kind, scope, state from alerts
       where tenant_id = ${mine} and ${isOpen} order by id desc limit ${pageLimit(MOST_LOOKED_AT)}
    ), grouped as (
      select rule, subject_kind as kind, (state ->> 'step')::float8 as step, count(*)::integer as alerts,
             count(*) filter (where state ->> 'phase' <> 'pending')::integer as firing,
             count(*) filter (where state -> 'acknowledged' is not null)::integer as acknowledged,
             count(*) filter (where state -> 'withheld' is not null)::integer as withheld,
             min((state ->> 'began')::float8) as since, max(id) as "newestId"
        from looked where scope in (${cycleKey}, '') group by 1, 2, 3
    )
    select counts.looked, g.*
      from (select count(*)::integer as looked from looked) counts
      left join grouped g on true`.execute(tx.q)
  const groups = rows.flatMap((row): AlertGroup[] => {
    if (row.rule === null) return []
    const { looked: _, ...group } = row
    return [fromCoded(group)]
  })
  return { groups, looked: rows[0]?.looked ?? 0 }
}

/** The history of the rules, newest first: pushed versions, and their activations. */
import { sql } from 'kysely'
import { type Page, type PageQuery, pageRequest, toPage } from '../../../domain/page.ts'
import type { RuleChange } from '../../../domain/rules/rule-change.ts'
import { readPage } from '../../../store/paging.ts'
import type { PlatformTx } from '../../../store/tenancy.ts'

type Row = Omit<RuleChange, 'at'> & { readonly at: Date }

/** Reads a page of the history. */
export async function pageOfRuleHistory(tx: PlatformTx, query: PageQuery): Promise<Page<RuleChange>> {
  const page = pageRequest(query)
  const { rows, totalItems } = await readPage<Row>(
    tx,
    {
      columns: sql`change, version, at, author, actor, reason, request_id as "requestId", step, id`,
      from: sql`from (
        select 'pushed' as change, version, created_at as at, author, actor, reason, request_id, 1 as step, version as id
          from rule_sets
         union all
        select 'activated', version, at, author, actor, reason, request_id, 2, id from rule_activations) h`,
      orderBy: sql`at desc, step desc, id desc`,
    },
    page,
  )
  return toPage(
    page,
    totalItems,
    rows.map(({ change, version, at, author, actor, reason, requestId }) => ({
      change,
      version,
      at: at.toISOString(),
      author,
      actor,
      reason,
      requestId,
    })),
  )
}

/** Patterns of tags that rules add up SIMs by: the subjects of kind tag. */
import { type RawBuilder, sql } from 'kysely'
import { ServiceError } from '../../../domain/errors.ts'
import type { TagFactRow } from '../../../rules/fact-rows.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** Patterns by id, or those of a range of ids. `toId` is not in it; null: no end. */
type TagsAmong = { readonly ids: readonly number[] } | { readonly fromId: number; readonly toId: number | null }

export interface TagRow extends TagFactRow {
  readonly id: number
}

/** Adds patterns that are not known yet. Writes nothing, and takes no id, if all are. */
export async function notePatterns(tx: TenantTx, patterns: readonly string[]): Promise<void> {
  if (patterns.length === 0) return
  await sql`
    insert into tag_patterns (pattern)
    select pattern from unnest(${[...patterns]}::text[]) as p(pattern)
     where not exists (select from tag_patterns t where t.tenant_id = ${mine} and t.pattern = p.pattern)
     order by pattern
    on conflict do nothing`.execute(tx.q)
}

/** Reads patterns, by id: also those that no rule names any more, because an alert may have to end. */
export async function tagRows(tx: TenantTx, of: TagsAmong): Promise<TagRow[]> {
  const { rows } = await sql<TagRow>`
    select id, pattern as tag from tag_patterns
     where tenant_id = ${mine} and ${within(of)}
     order by id`.execute(tx.q)
  return rows
}

const within = (of: TagsAmong): RawBuilder<unknown> =>
  'ids' in of
    ? sql`id = any(${[...of.ids]}::bigint[])`
    : sql`id >= ${of.fromId} and (${of.toId}::bigint is null or id < ${of.toId})`

/** @returns the pattern @throws ServiceError `tag_not_found` */
export async function knownTag(tx: TenantTx, id: number): Promise<string> {
  const pattern = (await tagPatterns(tx, [id])).get(id)
  if (pattern === undefined) throw new ServiceError('tag_not_found', `No rule adds up SIMs by a tag of id ${id}.`)
  return pattern
}

/** The patterns of some ids, by id. */
export async function tagPatterns(tx: TenantTx, ids: readonly number[]): Promise<Map<number, string>> {
  const rows = await tagRows(tx, { ids })
  return new Map(rows.map(({ id, tag }) => [id, tag]))
}

/**
 * Searches for SIMs by a part of their ICCID, IMSI, MSISDN or tag.
 *
 * The function `search_sims` uses a trigram index. It has the rights of a role that sees the SIMs of all tenants, and
 * returns only the SIMs of the transaction's tenant.
 */
import { type RawBuilder, sql } from 'kysely'
import type { SimStatus } from '../../../domain/codes.ts'
import { offsetOf, type PageRequest } from '../../../domain/page.ts'
import { byKey, mineAfter } from '../../../store/keyset-pages.ts'
import { containing, searched, textsOf } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface SimFilter {
  readonly status?: SimStatus | null | undefined
  readonly poolId?: number | null | undefined
  readonly search?: string | null | undefined
}

/** A filter with a search that the index serves. */
export type IndexedSearch = SimFilter & { readonly search: string }

/** The index holds groups of three characters. */
const FEWEST = 3

/** Whether the index serves a filter. It holds the four texts of a SIM as lines of one, so a line break misleads it. */
export const isIndexed = (filter: SimFilter): filter is IndexedSearch =>
  filter.search != null && textsOf(filter.search).every((text) => text.length >= FEWEST && !text.includes('\n'))

/** Ids of a page, and the size of the whole list. */
export interface IdPage {
  readonly ids: number[]
  readonly totalItems: number
}

/** Which of the found SIMs. */
interface Part {
  /** SIMs after this id. */
  readonly after?: number
  readonly most: RawBuilder<unknown>
  /** Whether these are the first by id, or any. */
  readonly inOrder: boolean
}

/** A source of rows `found(id)`: SIMs of the tenant that match a filter, up to a number for each text of the search. */
function foundSims({ search, status, poolId }: IndexedSearch, { after, most, inOrder }: Part): RawBuilder<unknown> {
  const each = textsOf(search).map(
    (text) => sql`
      select * from search_sims(${containing(text)}, ${status ?? null}::smallint, ${poolId ?? null}::bigint,
                                ${after ?? null}::bigint, ${most}, ${inOrder})`,
  )
  return sql`lateral (${sql.join(each, sql` union `)}) as found(id)`
}

/** The searched texts of a SIM. */
const TEXTS = ['s.iccid', 's.imsi', 's.msisdn', 's.tag']

/** Conditions on the alias `s`, without the index of the search. An omitted filter matches all. */
export const simsMatching = ({ status, poolId, search }: SimFilter): RawBuilder<unknown> => sql`
  ${status == null ? sql`` : sql`and s.status = ${status}`}
  ${poolId == null ? sql`` : sql`and s.pool_id = ${poolId}::bigint`}
  ${search == null ? sql`` : sql`and ${searched(TEXTS, search)}`}`

/** Hits of a search from which on its next ones are found sooner by reading SIMs in order than by finding all hits. */
const MANY_HITS = 10_000

/** The first `most` SIMs after an id. */
export interface NextSims {
  readonly after: number
  readonly most: number
  /** Approximate number of all SIMs that match the filter, if known. */
  readonly hits?: number | undefined
}

/** The `where` and `order by` of the next SIMs `s` that match a filter, by id. The caller sets the limit. */
export const simsAfter = (filter: SimFilter, { after, most, hits = 0 }: NextSims): RawBuilder<unknown> =>
  isIndexed(filter) && hits <= MANY_HITS
    ? sql`where s.id in (select id from ${foundSims(filter, { after, most: sql`${most}::bigint`, inOrder: true })})
          order by s.id`
    : sql`where ${mineAfter('s.id', after)} ${simsMatching(filter)} order by ${byKey('s.id')}`

/**
 * Hits taken from the index: a thirty-second of the tenant's SIMs, at least 1,000. If more SIMs have the text, reading
 * all SIMs is faster. Taking this many hits in vain costs a fraction of that.
 */
const MOST_HITS = sql`
  select greatest(1000, coalesce(sum(sims), 0) / 32)::bigint as most from sim_blocks where tenant_id = ${mine}`

/**
 * Counts the hits of a search and picks the page from them, in one statement.
 *
 * @returns undefined if it finds more than the index is good for
 */
export async function pageOfFound(tx: TenantTx, search: IndexedSearch, page: PageRequest): Promise<IdPage | undefined> {
  const { rows } = await sql<IdPage & { readonly most: number }>`
    with few as (${MOST_HITS}), hits as materialized (
      select found.id from few, ${foundSims(search, { most: sql`few.most + 1`, inOrder: false })}
    )
    select (select most from few), (select count(*) from hits)::integer as "totalItems",
           to_jsonb(array(select id from hits order by id limit ${page.pageSize} offset ${offsetOf(page)})) as ids`.execute(
    tx.q,
  )
  const [found] = rows
  return found === undefined || found.totalItems > found.most ? undefined : found
}

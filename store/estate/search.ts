/**
 * Searches for SIMs by a part of their ICCID, IMSI, MSISDN or tag.
 *
 * The function `search_sims` uses a trigram index. It has the rights of a role that sees the SIMs of all tenants, and
 * returns those of the transaction's tenant only.
 */
import { type RawBuilder, sql } from 'kysely'
import type { SimStatus } from '../../domain/codes.ts'
import { containing } from '../paging.ts'

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
  filter.search != null && [...filter.search].length >= FEWEST && !filter.search.includes('\n')

/** Which of the found SIMs. */
interface Part {
  /** SIMs after this id. */
  readonly after?: number
  /** So many of them, by id. Left out: all, in no order. */
  readonly most?: number
}

/** A source of rows `found(id)`: the SIMs of the tenant that a filter lets through. */
export const foundSims = (
  { search, status, poolId }: IndexedSearch,
  { after, most }: Part = {},
): RawBuilder<unknown> => sql`
  search_sims(${containing(search)}, ${status ?? null}::smallint, ${poolId ?? null}::bigint, ${after ?? null}::bigint,
              0, ${most ?? null}::bigint) as found(id)`

/** Condition on the alias `s`, without an index. For what is too short for it, or has a line break. */
function unindexedMatch(search: string) {
  const pattern = containing(search)
  return sql`and (s.iccid ilike ${pattern} or s.imsi ilike ${pattern} or s.msisdn ilike ${pattern} or s.tag ilike ${pattern})`
}

/** Conditions on the alias `s`, without the index of the search. An omitted filter matches all. */
export const simsMatching = ({ status, poolId, search }: SimFilter): RawBuilder<unknown> => sql`
  ${status == null ? sql`` : sql`and s.status = ${status}`}
  ${poolId == null ? sql`` : sql`and s.pool_id = ${poolId}::bigint`}
  ${search == null ? sql`` : unindexedMatch(search)}`

/** Conditions on the alias `s`: the first `most` SIMs after an id that a filter lets through. The caller orders by id. */
export const simsAfter = (filter: SimFilter, after: number, most: number): RawBuilder<unknown> =>
  isIndexed(filter)
    ? sql`and s.id in (select id from ${foundSims(filter, { after, most })})`
    : sql`and s.id > ${after} ${simsMatching(filter)}`

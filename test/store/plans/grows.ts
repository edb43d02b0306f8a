/** Statements that may cost more where the estate is larger, each with the reason. */
export const MAY_GROW: readonly MayGrow[] = [
  {
    statement: /^(with counted as|select list\."totalItems", page\.\* from \(select \(select count\(\*\) from pools)/,
    why: 'a list of other things than SIMs counts what its filters let through',
  },
  {
    statement: /^select id, sim_id as "simId", .* from tickets where .*order by seq desc limit/,
    why: 'tickets are listed whole',
  },
  {
    statement: /^select (status|status as code|coalesce\(rule, ''\) as rule, level), count/,
    why: 'the counts are asked for by a person or a monitor, now and then',
  },
  { statement: /^with by_status as/, why: "a tenant's facts are added up from its pools, a row each" },
  { statement: /^select coalesce\(sum\(f\.contributing/, why: 'and so are its charges' },
]

const SEARCH = /^(select id from public\.sims where .* like lower|with few as)/

/** More of them beside tenants of the same size. */
export const MAY_GROW_BESIDE_EQUALS: readonly MayGrow[] = [
  { statement: SEARCH, why: 'one index of texts has the SIMs of all tenants', times: 2 },
]

/** More of them, for a tenant that statistics take for one of very many small ones. */
export const MAY_GROW_AMONG_MANY: readonly MayGrow[] = [{ statement: SEARCH, why: 'a search reads all its SIMs' }]

export interface MayGrow {
  readonly statement: RegExp
  readonly why: string
  /** It may grow so many times as much as others. Omitted: without a bound. */
  readonly times?: number
}

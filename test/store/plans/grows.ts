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

/** More of them beside tenants of the same size. */
export const MAY_GROW_BESIDE_EQUALS: readonly MayGrow[] = [
  {
    statement: /^(select id from public\.sims where .* like lower|with few as)/,
    why: 'one index of texts has the SIMs of all tenants; of a tenant taken for a small one all SIMs are read',
  },
]

export interface MayGrow {
  readonly statement: RegExp
  readonly why: string
}

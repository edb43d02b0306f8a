/** Statements that may cost more where the estate is larger, each with the reason. */
export const MAY_GROW: readonly { readonly statement: RegExp; readonly why: string }[] = [
  { statement: /^with counted as/, why: 'a list of other things than SIMs counts what its filters let through' },
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

/**
 * What is not cheap for a tenant that PostgreSQL's statistics do not know, although others have rows in the same tables.
 * It takes all rows of such a tenant for one, until autovacuum has analysed the tables.
 */
export const NEEDS_STATISTICS: ReadonlySet<string> = new Set([
  'a SIM by ICCID',
  'SIMs, page 1',
  'Suspended SIMs, page 1',
  'search within a pool',
  'pools, page 1',
  'pools, the last page',
  'SIMs, a far page',
  'Active SIMs, a far page',
  'SIMs of a pool, page 2',
  'Suspended SIMs of a pool',
  'search for an ICCID',
  'search for a tag',
  'search for what is not there',
  'the SIMs of a pool',
  'a ticket',
  'usage, new',
  'usage, repeated',
  'usage of the cycle before',
  'usage of a closed cycle',
  'usage, corrected',
  'a look at what has changed',
  'a pool that goes over its capacity',
  'a look at what is due',
  'a look at all, a shard at a time',
  'tickets of single SIMs',
  'tickets in bulk',
  'a batch of a month end',
  'SIMs armed',
  'suspensions of a rule',
  'mails',
])

/** The texts of the documents, about themselves and about the tags of their operations. */

interface Words {
  readonly title: string
  readonly description: string
  /** Every tag that an operation has, with its description. */
  readonly tags: Readonly<Record<string, string>>
}

const COMMON = `
## Errors

Every failure is \`application/problem+json\` (RFC 9457) with a stable \`code\`, \`errors\` for the wrong fields, and the
\`requestId\` of the request in the service's log. Each operation lists its codes; \`GET /problems/{code}\` gives the meaning
and remedy of a code. A wrong method gets 405 with \`Allow\`, an unknown path 404 \`not_found\`.

## Requests

Bodies are strict: unknown fields, or \`"2"\` for a number, are refused with 400. An optional field with \`null\` counts as
omitted. Text must not contain U+0000 or half a surrogate pair. An empty filter (\`?search=\`) counts as absent. Send your own
\`X-Request-Id\`, or use the generated one in the answer.

## Idempotency

A POST with an \`Idempotency-Key\` is done once: the same request with the same key gets the same answer for 24 hours,
with \`Idempotency-Replayed: true\`. The same key with another request is refused with 422; while the first request is in
progress, 409 with \`Retry-After\`.

## Codes and nulls

Statuses, types and levels are integers; the metadata operations list their labels. More codes may be added: clients must
accept unknown codes. A \`null\` field has no value; 0, \`""\` and \`false\` are values.

## Units

1 MB is 10⁶ bytes, 1 GB 10⁹. Instants are ISO 8601 in UTC. Money is in units of the tenant's currency, chosen by the operator.
`

const AUTHENTICATION = `
## Keys

Send an API key as \`Authorization: Bearer <key>\`, or as \`X-API-Key\`. A tenant's key acts for its tenant; data of other
tenants does not exist for it (404). Scopes of a key: read, write (read and change), admin (also change the tenant's own
data), or billing (costs, statements, alerts and mails of the internal interface); anything else is refused with 403. An
operator key names its tenant with \`X-Tenant-Id\`.
`

const PAGES = `
## Pages

Lists return \`{data, pagination}\`. \`page\` counts from 1, \`pageSize\` is at most 100. A page past the last one is empty,
with the true totals. The order is stable: newest first for logs, events, orders and tickets, by id for other lists.

To read a whole list, follow \`rel="next"\` of the \`Link\` header (RFC 8288) to its end. These links use \`cursor\` instead of
\`page\`: the cost of each part is constant, and items that exist throughout are returned exactly once. Later parts are not
counted: they repeat the totals of the first page.
`

const LIMITS = `
## Limits

Requests per minute and key are limited (\`ratelimit-limit\`, \`ratelimit-remaining\`, \`ratelimit-reset\` in seconds); above the
limit, 429 with \`Retry-After\`. A body may have 1 MiB.
`

const ETAGS = `
## ETags

Single resources have an \`ETag\`. With \`If-None-Match\` an unchanged resource gets 304 without a body. With \`If-Match\` a
change is refused with 412 if the resource has changed since; usage does not count as a change.
`

export const PUBLIC: Words = {
  title: 'Simherd',
  description: `Connectivity management: SIMs, pools, tariffs, tickets, orders, watchdog log and events.
${AUTHENTICATION}${PAGES}${COMMON}${ETAGS}${LIMITS}`,
  tags: {
    Watchdog: 'Findings and actions of the watchdog.',
    Pools: 'SIMs that share rules and, with some tariffs, their data.',
    SIMs: 'The SIMs of the estate, with usage and limits in the running billing cycle.',
    Tickets: 'Operations on a SIM that take time. Tickets of a SIM run one after the other.',
    Orders: 'New SIMs, physical or eSIM, and their prices.',
    Tenant: 'The tenant itself.',
    Tariffs: 'Prices of data, voice and messages. The operator creates tariffs.',
    Events: 'Connectivity changes, billing alerts and platform notices.',
  },
}

export const INTERNAL: Words = {
  title: 'Simherd, internal interface',
  description: `Operation of the platform. Every request except health checks needs an operator key and, for a tenant's data,
the tenant in \`X-Tenant-Id\`; operations that take keys of the tenant, too, say so. For keys, tariffs, prices and audit
trail of the platform itself, send \`X-Tenant-Id: @platform\`.

Workers send \`Simherd-Workflow\` with the id of the requesting workflow, to both interfaces. The header is accepted with
operator keys only, and the workflow must belong to the tenant. It becomes the cause of a ticket, and is in the audit trail.
${PAGES}${COMMON}${ETAGS}`,
  tags: {
    Health: 'Liveness, readiness and metrics of the process. No key needed.',
    Tenants: 'Tenants of the platform.',
    Keys: 'API keys, of tenants and of operators, and sessions of the console.',
    Tariffs: 'Tariffs, of one tenant or of every tenant.',
    Pools: 'Usage of pools by their SIMs.',
    SIMs: 'Import of SIMs, and their watchdog settings.',
    Tickets: 'Tickets with attempts, causes and failures.',
    'Bulk tickets': 'A ticket on each of many SIMs.',
    Orders: 'Fulfilment of orders.',
    Usage: 'Usage records.',
    Cycles: 'Billing cycles and their ends.',
    Enforcement: 'Data for the enforcing workflows, and their reports.',
    Workflows: 'Durable runs, and the Schedule of month ends.',
    Operation: 'State of the platform.',
    Alerts: 'Pending and firing alerts, and silences of their mails.',
    Webhooks: 'Endpoints for a tenant’s events, and the signed deliveries to them.',
    Rules: 'The rule set in force.',
    Audit: 'The audit trail.',
    Exports: 'Lists as files.',
  },
}

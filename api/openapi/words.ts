/** The texts of the documents, about themselves and about the tags of their operations. */

interface Words {
  readonly title: string
  readonly description: string
  /** Every tag that an operation has, with its description. */
  readonly tags: Readonly<Record<string, string>>
}

const COMMON = `
## Errors

Every failure is \`application/problem+json\` (RFC 9457) with a stable \`code\`, \`errors\` for the fields that are
wrong, and the \`requestId\` that names the request in the service's log. Each operation lists the codes it can answer;
\`GET /problems/{code}\` says what one means and what to do. A method that a path does not take is answered 405 with
\`Allow\`, a path that is not there 404 \`not_found\`.

## Requests

Bodies are strict: a field that is not in the schema, or \`"2"\` for a number, is refused with 400. An optional field
that is \`null\` counts as left out. Text holds neither U+0000 nor half a surrogate pair. An empty filter (\`?search=\`)
counts as absent. Send an \`X-Request-Id\` of your own, or take the one of the answer.

## Doing a thing once

A POST with an \`Idempotency-Key\` is done once: the same request with the same key gets the same answer for 24 hours,
with \`Idempotency-Replayed: true\`. The same key with another request is refused with 422; while the first is still
being worked on, 409 with \`Retry-After\`.

## Codes and nulls

Statuses, types and levels are integers; the metadata operations list their labels. More codes may come: take one that
you do not know for what it is, and go on. A field that is \`null\` has no value; 0, \`""\` and \`false\` are values.

## Units

1 MB is 10⁶ bytes, 1 GB 10⁹. Instants are ISO 8601 in UTC. Money is in units of one currency, which the operator
names.
`

const AUTHENTICATION = `
## Keys

Send an API key as \`Authorization: Bearer <key>\`, or as \`X-API-Key\`. A tenant's key acts for its tenant: what is
another tenant's does not exist for it (404). A key may read, write (change too) or administrate (the tenant's own data
too); what it may not do is answered 403. An operator key names its tenant with \`X-Tenant-Id\`.
`

const PAGES = `
## Pages

Lists answer \`{data, pagination}\`. \`page\` counts from 1, \`pageSize\` is at most 100. A page past the last one is empty,
with the true totals. The order is stable: newest first for logs, events, orders and tickets, by id for the rest.

For a whole list follow \`rel="next"\` of the \`Link\` header (RFC 8288) until there is none. It goes on by \`cursor\`, in place
of \`page\`: each part costs the same, and what is there all the time comes exactly once. What follows a cursor is not
counted: its totals are those of the page that the walk began with.
`

const LIMITS = `
## Limits

A key may make so many requests a minute (\`ratelimit-limit\`, \`ratelimit-remaining\`, \`ratelimit-reset\` in seconds);
beyond it, 429 with \`Retry-After\`. A body may have 1 MiB.
`

const ETAGS = `
## Unchanged, and unchanged by others

Single resources carry an \`ETag\`. With \`If-None-Match\` an unchanged one is answered 304 without a body. With
\`If-Match\` a change is refused with 412 where somebody has changed the resource since; usage is no such change.
`

export const PUBLIC: Words = {
  title: 'Simherd',
  description: `Connectivity management: SIMs, pools, tariffs, tickets, orders, watchdog log and events.
${AUTHENTICATION}${PAGES}${COMMON}${ETAGS}${LIMITS}`,
  tags: {
    Watchdog: 'What the watchdog has noticed and done.',
    Pools: 'SIMs that share rules, and with some tariffs their data.',
    SIMs: 'The SIMs of the estate, their usage and their limits in the running billing cycle.',
    Tickets: 'Operations on a SIM that take their time. Tickets of one SIM run one after the other.',
    Orders: 'New SIMs, physical or eSIM, and their prices.',
    Tenant: 'The tenant itself.',
    Tariffs: 'What data, voice and messages cost. Tariffs are made by the operator.',
    Events: 'Connectivity changes, billing alerts and platform notices.',
  },
}

export const INTERNAL: Words = {
  title: 'Simherd, internal interface',
  description: `Operating the platform. Every call but the health checks takes an operator key, and where it works on a
tenant's data, the tenant in \`X-Tenant-Id\`. Keys, tariffs, prices and audit trail of the platform itself are asked for with
\`X-Tenant-Id: @platform\`.

The workers send \`Simherd-Workflow\` with the id of the workflow that asks, on both interfaces. It is taken with operator
keys only and has to be one of the tenant's; it becomes the cause of a ticket, and stands in the audit trail.
${PAGES}${COMMON}${ETAGS}`,
  tags: {
    Health: 'Whether the process lives and is ready, and its figures. No key is asked for.',
    Tenants: 'Tenants of the platform.',
    Keys: 'API keys, of tenants and of operators.',
    Tariffs: 'Tariffs, of one tenant or of all.',
    SIMs: 'SIMs as they are delivered, and their watchdog settings.',
    Tickets: 'Tickets as the platform sees them: with attempts, causes and failures.',
    'Bulk tickets': 'A ticket on each of many SIMs.',
    Orders: 'Fulfilment of orders.',
    Usage: 'Usage records.',
    Cycles: 'Billing cycles and their ends.',
    Enforcement: 'What the enforcing workflows read, and what they report.',
    Workflows: 'Durable runs, and the Schedule that starts the month end.',
    Operation: 'How the platform is doing.',
    Alerts: 'What is pending or firing now, and silences: what is not mailed for a while.',
    Webhooks: 'Where a tenant’s events are sent, signed, and what became of each.',
    Rules: 'The rule set in force.',
    Audit: 'Who changed what.',
    Exports: 'Lists as files.',
  },
}

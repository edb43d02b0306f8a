/**
 * A tenant with rows in every table that has tenants' rows. Its values are recognisable: texts contain the tenant's
 * word, ids have 8 digits, ICCIDs have the tenant's prefix.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll } from 'vitest'
import { mailChannel } from '../../adapters/channels/mail/mail-channel.ts'
import { createTransport } from '../../adapters/channels/mail/transport.ts'
import { LogLevel, TicketType } from '../../domain/codes.ts'
import { cycleAt, nextCycle } from '../../domain/time/cycle.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { insertShadowEntries } from '../../service/alerts/rows/shadow-log.ts'
import { notePatterns } from '../../service/alerts/rows/tag-patterns.ts'
import { sendMails } from '../../service/channels/send-mails.ts'
import { noteWould } from '../../service/enforcement/rows/would.ts'
import { stateSlice } from '../../service/month-end/close-cycle.ts'
import { rulesInForce } from '../../service/rules/rules-in-force.ts'
import { type OpenTicketRequest, openTicket } from '../../service/tickets/open-ticket.ts'
import { openCycle, openSlice } from '../../service/usage/rows/open-cycle.ts'
import { evaluateSubjects } from '../../service/watchdog/evaluate-subjects.ts'
import { startInbox } from '../../stack/inbox/inbox.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import { rememberStarts } from '../../store/outbox.ts'
import { inTenant } from '../../store/tenancy.ts'
import { endTicket } from '../service/harness.ts'
import { ownDatabase } from '../setup/login.ts'
import { type Harness, INTERNAL, NOON, type Tenant, useHarness } from './harness.ts'

const IN_SEPTEMBER = Date.UTC(2026, 8, 15, 12)
const OCTOBER = Date.UTC(2026, 9, 20, 12)
const FEES = { simMonthlyFee: 1.5, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 2.25 }

/** The marks by which a tenant's values are recognised. */
export interface Marks {
  /** The word in every text of the tenant. */
  readonly word: string
  /** The first id. It has 8 digits, so that ids differ from counts. */
  readonly firstId: number
  /** The first 12 digits of every ICCID. */
  readonly iccidPrefix: string
}

export interface Estate extends Marks {
  readonly tenant: Tenant
  readonly harness: Harness
  readonly tariffId: number
  readonly poolId: number
  readonly otherPoolId: number
  /** A SIM that is Active, in the pool, over its limit. */
  readonly simId: number
  readonly iccid: string
  readonly ticketId: string
  readonly eventId: number
  readonly orderId: number
  readonly bulkId: string
  readonly keyId: string
}

let serial = 0
/** Counts up, for values that must differ from call to call. */
export const next = (): number => ++serial

/** Makes new ids start at `first`, in every table. */
async function countFrom(harness: Harness, first: number): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select format('%I', sequencename) as name from pg_sequences
     where schemaname = 'public' and sequencename like '%\_id\_seq'`.execute(harness.root)
  for (const { name } of rows) await sql.raw(`alter sequence ${name} restart with ${first}`).execute(harness.root)
}

/** @returns the body of a successful response. @throws Error on any other, so that no estate is left incomplete */
async function made<T>(answer: Promise<{ status: number; body: T }>): Promise<T> {
  const { status, body } = await answer
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body
}

export const freshIccid = ({ iccidPrefix }: Marks): string => `${iccidPrefix}${String(next()).padStart(7, '0')}`

/** A SIM that is not provisioned. */
export async function freshSim(estate: Pick<Estate, 'tenant' | keyof Marks>): Promise<{ id: number; iccid: string }> {
  const iccid = freshIccid(estate)
  const tail = iccid.slice(-9)
  const sim = { iccid, tag: `${estate.word} meter ${tail}`, imsi: `206019${tail}`, msisdn: `+3246${tail}` }
  const { created } = await made(estate.tenant.inside('POST', '/internal/sims', { sims: [sim] }))
  return created[0]
}

export const plainTariff = (displayName: string) => ({
  displayName,
  type: 0,
  standardTariff: { baseTariffGb: 1, simMonthlyFee: 1, smsFee: 0, voiceFee: 0, overageFeePerGb: 0 },
})

export const freshTariff = async ({ tenant, word }: Estate): Promise<number> =>
  (await made(tenant.inside('POST', '/internal/tariffs', plainTariff(`${word} tariff ${next()}`)))).id

/** Opens a ticket and completes it without a carrier. @returns its id */
async function carriedOut(
  { harness, tenant }: Pick<Estate, 'harness' | 'tenant'>,
  ask: Omit<OpenTicketRequest, 'cause'> & Partial<Pick<OpenTicketRequest, 'cause'>>,
): Promise<string> {
  return inTenant(harness.store, tenant.id, async (tx) => {
    const id = await openTicket(tx, { cause: { by: 'user' }, ...ask })
    await endTicket(tx, ask.simId, id)
    return id
  })
}

/** A SIM that is Active in the estate's pool. */
export async function activeSim(estate: Pick<Estate, 'harness' | 'tenant' | 'poolId' | keyof Marks>) {
  const sim = await freshSim(estate)
  await carriedOut(estate, { simId: sim.id, type: TicketType.Provision, poolId: estate.poolId })
  const ticketId = await carriedOut(estate, { simId: sim.id, type: TicketType.Activate })
  return { ...sim, ticketId }
}

/** A SIM that a workflow of the watchdog has suspended until the renewal. */
export async function watchdogSuspendedSim(
  estate: Pick<Estate, 'harness' | 'tenant' | 'poolId' | keyof Marks>,
  workflowId: string,
  cycle = '2026-11',
) {
  const sim = await activeSim(estate)
  const cause = { by: 'watchdog', rule: 'sim-overage', cycle, until: 'renewal', workflowId } as const
  await carriedOut(estate, { simId: sim.id, type: TicketType.Suspend, cause })
  return sim
}

/**
 * Queues a change of a new SIM in September 2026, a cycle that has ended and is not closed.
 *
 * @returns the SIM's id and the cycle's key
 */
export async function queuedInSeptember(estate: Estate, change: object): Promise<{ id: number; key: string }> {
  const { id } = await activeSim(estate)
  const queue = () => made(estate.tenant.ask('POST', `/api/sims/${id}/queue-reprovision`, change))
  await estate.harness.at(IN_SEPTEMBER, queue)
  return { id, key: '2026-09' }
}

export async function suspendedSim(estate: Pick<Estate, 'harness' | 'tenant' | 'poolId' | keyof Marks>) {
  const sim = await activeSim(estate)
  await carriedOut(estate, { simId: sim.id, type: TicketType.Suspend })
  return sim
}

/** An order on which these steps were taken. @returns its id */
export async function freshOrder(estate: Pick<Estate, 'tenant' | keyof Marks>, type: 1 | 2, ...steps: string[]) {
  const { tenant, word } = estate
  const address = { shippingCompany: `${word} Ltd`, shippingLine1: `1 ${word} Lane`, shippingCity: `${word} City` }
  const { id } = await made(tenant.ask('POST', '/api/orders', { type, quantity: 1, ...address }))
  for (const step of steps) {
    const body = step === 'ship' ? shipment(estate) : undefined
    await made(tenant.inside('POST', `/internal/orders/${id}/${step}`, body))
  }
  return id as number
}

export const shipment = (marks: Marks) => ({
  shippingCarrier: `${marks.word} Post`,
  trackingNumber: `${marks.word}-${next()}`,
  iccids: [freshIccid(marks)],
})

/** Fills a tenant's tables. The clock goes from October to the harness's noon in November. */
async function anEstate(harness: Harness, tenant: Tenant, marks: Marks): Promise<Estate> {
  const { word } = marks
  await countFrom(harness, marks.firstId)
  harness.now = OCTOBER
  const inside = (method: string, url: string, body?: unknown, headers = {}) =>
    made(tenant.inside(method, url, body, headers))
  const ask = (method: string, url: string, body?: unknown) => made(tenant.ask(method, url, body))

  await ask('PATCH', '/api/tenant/name', { name: `${word} Metering` })
  await ask('PATCH', '/api/tenant/billing-email', { billingEmail: `billing@${word}.example` })
  const standardTariff = { baseTariffBytes: 1_000_000, ...FEES }
  const tariff = await inside(
    'POST',
    '/internal/tariffs',
    { displayName: `${word} Standard`, type: 0, standardTariff },
    { 'idempotency-key': `${word}-tariff` },
  )
  const pool = { type: 0, tariffId: tariff.id, watchdogMode: 2, warningThresholdPct: 50 }
  const poolId = (await ask('POST', '/api/pools', { ...pool, name: `${word} meters` })).id
  const otherPoolId = (await ask('POST', '/api/pools', { ...pool, name: `${word} cars` })).id
  const key = await inside('POST', '/internal/keys', { name: `${word} export`, scopes: ['read'] })
  await inside('PUT', '/internal/order-prices', { prices: [{ type: 1, price: 3.25 }] })

  const soFar = { ...marks, harness, tenant, poolId }
  const sim = await activeSim(soFar)
  const use = (instant: number, imei: string) => {
    const [recordId, at] = [`${word}-${next()}`, new Date(instant).toISOString()]
    const record = { recordId, simId: sim.id, at, bytesDown: 9_000_000, smsCount: 2, imei }
    return inside('POST', '/internal/usage', { records: [record] })
  }
  await use(OCTOBER, '490154203237518')
  harness.now = NOON
  await use(NOON, '356938035643809')
  await inside('POST', '/internal/cycles/2026-10/renew')
  await inside('POST', '/internal/cycles/2026-10/close')
  // A slice of the next cycle, which is being opened ahead.
  await inTenant(harness.store, tenant.id, (tx) => openSlice(tx, nextCycle('P1M', cycleAt('P1M', NOON)), 1))
  const options = { rules: rulesInForce(), ...INTERNAL.workflowOptions, groupFirstMs: 0, groupNextMs: 0 }
  await evaluateSubjects(harness.store, options, tenant.id)
  await mailsSent(harness, tenant.id)

  const workflowId = `suspend-on-overage:${tenant.id}:${sim.id}:2026-11`
  const watchdog = { by: 'watchdog', rule: 'sim-overage', cycle: '2026-11', until: 'renewal', workflowId } as const
  const suspended = await activeSim(soFar)
  await carriedOut(soFar, { simId: suspended.id, type: TicketType.Suspend, cause: watchdog })
  await inTenant(harness.store, tenant.id, (tx) => rememberStarts(tx, [workflowId]))
  const orderId = await freshOrder(soFar, 1, 'process', 'ship')
  await freshOrder(soFar, 2, 'process', 'complete')
  const bulk = await inside('POST', '/internal/bulk-tickets', { type: 'suspend', sims: { ids: [sim.id] } })
  // Work that waits: a ticket, and a notification added after the mails were sent.
  await ask('POST', '/api/tickets/refresh', { simId: sim.id })
  const action = { simId: sim.id, cycle: '2026-11', rule: 'sim-overage', action: 'graceStarted', counter: 0 }
  await inside('POST', '/internal/watchdog/actions', { ...action, detail: `of ${word}`, workflowId })
  const events = await ask('GET', '/api/events?type=1')
  return {
    ...soFar,
    tariffId: tariff.id,
    otherPoolId,
    simId: sim.id,
    iccid: sim.iccid,
    ticketId: sim.ticketId,
    eventId: events.data[0].id,
    orderId,
    bulkId: bulk.id,
    keyId: key.id,
  }
}

/**
 * Adds a hold of the guard, a silence, an address, a webhook, a suspension that a rule may only wish for, a change that a
 * month end has begun, a batch, and a record later than its statement.
 */
async function unfinished(estate: Estate): Promise<void> {
  const { tenant, otherPoolId, simId, word, harness } = estate
  const inside = (method: string, url: string, body: unknown) => made(tenant.inside(method, url, body))
  await inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 0, guardPct: 0 })
  const permit = { rule: 'sim-silent', cycle: '2026-11', simIds: [simId], workflowId: `${word}:guarded` }
  await inside('POST', '/internal/enforcement/permits', permit)
  await inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 20, guardPct: 5 })
  const arming = { cycle: '2026-11', rule: 'pool-overage', ruleFile: 'f', grace: 'PT0S', until: 'renewal' }
  const armed = { simIds: [simId], poolId: otherPoolId, ...arming, signal: 'overLimit' }
  await inside('POST', '/internal/workflows/enforce-pool/arm', armed)
  await inside('POST', '/internal/silences', { rule: 'sim-silent', lasts: 'P1D', reason: `${word} is replaced` })
  await inside('POST', '/internal/addresses', { kind: 'copy', email: `copies@${word}.example` })
  const webhook = await inside('POST', '/internal/webhooks', { url: `https://${word}.example/hook` })
  await inside('POST', `/internal/webhooks/${webhook.id}/test`, undefined)

  const silent = { rule: 'sim-silent', ruleVersion: 1, cycleKey: '2026-11' }
  const message = `${word} is silent`
  const shadow = { ...silent, simId, poolId: null, does: 'mail', level: LogLevel.Warning, message } as const
  await inTenant(harness.store, tenant.id, async (tx) => {
    await insertShadowEntries(tx, [{ dedupeKey: `sim-silent/sim/${simId}/fired`, ...shadow }])
    await notePatterns(tx, [`${word} *`])
    await noteWould(tx, [{ ...silent, kind: 'sim', id: simId, target: 'self', reason: message }])
  })

  const place = { workflowId: `provision-and-activate:${tenant.id}:${simId}`, activityId: '1', activity: 'openTicket' }
  const at = new Date(NOON).toISOString()
  const failing = [
    {
      ...place,
      since: at,
      failedAt: at,
      nextAttemptAt: at,
      attempt: 3,
      code: 'unavailable',
      detail: `${word} is away`,
    },
  ]
  await inside('POST', '/internal/workflows/troubles', { failing, ended: [] })

  await made(harness.operate('POST', '/internal/rules/backtests', { tenantId: tenant.id }))

  const { id, key } = await queuedInSeptember(estate, { poolId: otherPoolId })
  await inside('POST', `/internal/cycles/${key}/changes/apply`, { kind: 'move', afterSimId: id - 1, throughSimId: id })
  // The first slice of a statement that is not complete.
  await inTenant(harness.store, tenant.id, async (tx) => {
    const september = cycleAt('P1M', IN_SEPTEMBER)
    await openCycle(tx, september)
    await stateSlice(tx, september, 1)
  })
  const { iccid } = await freshSim(estate)
  await inside('POST', '/internal/workflows/provision-in-bulk', { sims: [{ iccid, tag: `${word} door` }] })
  const late = { recordId: `${word}-${next()}`, simId, at: new Date(OCTOBER).toISOString(), bytesDown: 1_000_000 }
  await inside('POST', '/internal/usage', { records: [late] })
  for (const kept of ['cost', 'plan']) await made(tenant.inside('GET', `/internal/cycles/2026-11/${kept}`))
  const refused = { kind: 'addressRefused', recipient: `${word}@example.com`, response: '550' } as const
  await inTenant(harness.store, tenant.id, (tx) => insertOperatorNotices(tx, [{ key: word, body: refused }]))
  harness.now = NOON
}

/** A harness with two complete tenants, on a database that it connects to as an installation does. */
export function useEstates(options: Parameters<typeof useHarness>[0] = {}) {
  // Each file has a database of its own, and some numbers are months.
  serial = 0
  const harness = useHarness({ database: ownDatabase, ...options })
  const estates = { harness } as { readonly harness: Harness; ours: Estate; theirs: Estate }
  beforeAll(async () => {
    await harness.operate('POST', '/internal/rules', { files: await readRuleFiles(''), author: 'the tests' })
    const { tenant, other } = harness
    const marks = { word: 'meadowlark', firstId: 71_000_000, iccidPrefix: '894450017100' }
    estates.ours = await anEstate(harness, tenant, marks)
    await unfinished(estates.ours)
    const theirMarks = { word: 'bittern', firstId: 82_000_000, iccidPrefix: '894450018200' }
    estates.theirs = await anEstate(harness, other, theirMarks)
    await unfinished(estates.theirs)
  })
  return estates
}
export type Estates = ReturnType<typeof useEstates>

/** Sends due mails by SMTP, to an inbox that nobody reads. */
async function mailsSent(harness: Harness, tenantId: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'simherd-estate-'))
  const inbox = await startInbox({ dir })
  const transport = createTransport({ smtpUrl: inbox.smtpUrl, from: 'Simherd <simherd@localhost>', timeoutMs: 30_000 })
  try {
    await sendMails(harness.store, mailChannel(transport), { retryMaxMs: 1000, giveUpAfterMs: 1000 }, tenantId)
  } finally {
    transport.close()
    await inbox.stop()
    await rm(dir, { recursive: true, force: true })
  }
}

/** The tables that have tenants' rows, without the partitions of partitioned tables. */
export async function tenantTables(harness: Harness): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     order by c.relname`.execute(harness.root)
  return rows.map(({ name }) => name)
}

/** Number and hash of a tenant's rows in every table, and of its row in `tenants`. Bypasses row-level security. */
export async function fingerprintOf(harness: Harness, tenantId: string): Promise<Record<string, string>> {
  // A key's last use is left out: it changes with every request, also a refused one.
  const of = (table: string, column: string) => sql`
    select ${table}::text as name,
           count(*) || ' ' || coalesce(md5(string_agg(line, '|' order by line)), '') as print
      from (select (to_jsonb(t) - 'last_used_at')::text as line from ${sql.table(table)} t
             where ${sql.ref(column)} = ${tenantId}) lines`
  const tables = (await tenantTables(harness)).map((table) => of(table, 'tenant_id'))
  const { rows } = await sql<{ name: string; print: string }>`
    ${sql.join([of('tenants', 'id'), ...tables], sql` union all `)}`.execute(harness.root)
  return Object.fromEntries(rows.map(({ name, print }) => [name, print]))
}

/** All rows of a tenant, or (null) of the platform, as text. */
async function rowsOf(harness: Harness, tenantId: string | null): Promise<string> {
  const of = (table: string) => sql`
    select to_jsonb(t)::text as line from ${sql.table(table)} t where tenant_id is not distinct from ${tenantId}`
  const tables = (await tenantTables(harness)).map(of)
  const { rows } = await sql<{ line: string }>`${sql.join(tables, sql` union all `)}`.execute(harness.root)
  return rows.map(({ line }) => line).join('\n')
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g
const LONG_NUMBER = /\d{11,}/g
/** An id from `countFrom` that is not part of something longer. */
const ID = /(?<![\w.-])[78]\d{7}(?![\w-])/g
const namesIn = (text: string): Set<string> =>
  new Set([UUID, LONG_NUMBER, ID].flatMap((pattern) => text.match(pattern) ?? []))

/** @returns a function that finds a tenant's values in a response, except those that the request contains */
export async function spyOn(estate: Estate): Promise<(answer: string, question: string) => string[]> {
  const { harness, tenant, word } = estate
  const { id: otherId } = tenant.id === harness.tenant.id ? harness.other : harness.tenant
  const shared = namesIn(`${await rowsOf(harness, otherId)} ${await rowsOf(harness, null)}`)
  const own = new Set([...namesIn(await rowsOf(harness, tenant.id))].filter((name) => !shared.has(name)))
  return (answer, question) => {
    const words = answer.match(new RegExp(`[\\w@.-]*${word}[\\w@.-]*`, 'gi')) ?? []
    const secrets = [tenant.id, tenant.key].filter((value) => answer.includes(value))
    const names = [...namesIn(answer)].filter((name) => own.has(name))
    const asked = question.toLowerCase()
    return [...words, ...secrets, ...names].filter((value) => !asked.includes(value.toLowerCase()))
  }
}

/** The harness of the API tests: both listeners on a database of their own, two tenants, and factories. */
import { promisify } from 'node:util'
import type { FastifyBaseLogger, InjectOptions } from 'fastify'
import { afterAll, beforeAll } from 'vitest'
import { openWorkflowClient, type WorkflowClient } from '../../adapters/temporal/client.ts'
import type { App } from '../../api/http/app.ts'
import { type Callers, openCallers } from '../../api/keys/callers.ts'
import { startApi } from '../../api/main.ts'
import { buildInternal, buildPublic } from '../../api/server.ts'
import { TicketType } from '../../domain/codes.ts'
import type { Job } from '../../domain/jobs.ts'
import { PLATFORM } from '../../domain/tenants/tenant.ts'
import { rulesInForce } from '../../service/rules/rules-in-force.ts'
import { createKey } from '../../service/tenants/create-key.ts'
import type { TicketQuota } from '../../service/tickets/open-ticket.ts'
import { connect } from '../../store/connect.ts'
import { type Db, inPlatform, inTenant, type Store } from '../../store/tenancy.ts'
import { openTurns } from '../../store/turns.ts'
import { complete } from '../service/harness.ts'
import { borrowDatabase } from '../setup/borrowed-database.ts'
import { documentCheck } from '../setup/document-check.ts'
import type { ownDatabase } from '../setup/login.ts'

interface Answer {
  readonly status: number
  readonly headers: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  readonly body: any
}

export type Ask = (method: string, url: string, body?: unknown, headers?: Record<string, string>) => Promise<Answer>

export interface Tenant {
  readonly id: string
  readonly key: string
  /** Public listener, with the tenant's key. */
  readonly ask: Ask
  /** Internal listener, with the operator key, for this tenant. */
  readonly inside: Ask
}

export interface Harness {
  store: Store
  /** The superuser's connections: they bypass row-level security. */
  root: Db
  /** With the superuser's login. */
  databaseUrl: string
  outside: App
  inside: App
  /** Callers without a key, for both listeners. */
  callers: Callers
  operatorKey: string
  /** Epoch milliseconds; tests may set it. */
  now: number
  /** Does work at another time. */
  at: <T>(now: number, work: () => Promise<T>) => Promise<T>
  jobs: Job[]
  /** Internal listener, with the operator key, for the platform itself. */
  operate: Ask
  tenant: Tenant
  other: Tenant
  /** Stops a workflow at Temporal, behind the service's back. */
  terminate: (workflowId: string) => Promise<unknown>
}

/** Workflows are tested elsewhere: nothing here calls a Temporal server. */
export const INTERNAL = {
  billingCycle: 'P1M',
  currency: 'EUR',
  /** Read by a spread, so each application has its own: the versions are those of one database. */
  get rules() {
    return rulesInForce()
  },
  workflowClient: openWorkflowClient({ address: '127.0.0.1:1', namespace: 'default' }),
  workflowOptions: { closeAfter: 'PT6H' },
  esim: { smdpHost: 'smdp.simherd.example', iccidPrefix: '8999901' },
}

/** Of which a tenant gets two at a time. */
const CONNECTIONS = 5

export const NOON = Date.UTC(2026, 10, 20, 12)

const checks: Partial<Record<'public' | 'internal', ReturnType<typeof documentCheck>>> = {}

/** Every response that a test gets is checked against the document of its listener, which is read once a process. */
function checkOf(app: App): ReturnType<typeof documentCheck> {
  const listener = app.hasRoute({ method: 'GET', url: '/internal/tenants' }) ? 'internal' : 'public'
  checks[listener] ??= documentCheck(JSON.parse(JSON.stringify(app.swagger())))
  return checks[listener]
}

export function asking(app: App, headers: Record<string, string>): Ask {
  return async (method, url, body, more = {}) => {
    const payload = body === undefined ? {} : { payload: body as InjectOptions['payload'] & {} }
    const answer = await app.inject({ method: method as 'GET', url, headers: { ...headers, ...more }, ...payload })
    const { statusCode: status, body: text } = answer
    const got = answer.headers as Record<string, string>
    const isJson = /json/.test(got['content-type'] ?? '') && text !== ''
    const read = { status, headers: got, body: isJson ? JSON.parse(text) : text }
    checkOf(app)({ ...read, method, url })
    return read
  }
}

export async function aTenant(harness: Harness, name: string): Promise<Tenant> {
  const made = await harness.operate('POST', '/internal/tenants', { name, billingEmail: 'billing@example.com' })
  const { id, key } = made.body
  return {
    id,
    key,
    ask: asking(harness.outside, { authorization: `Bearer ${key}` }),
    inside: asking(harness.inside, { authorization: `Bearer ${harness.operatorKey}`, 'x-tenant-id': id }),
  }
}

async function borrowed() {
  const { url, db, giveBack } = await borrowDatabase(CONNECTIONS)
  return { rootUrl: url, db, close: giveBack }
}

async function owned(make: typeof ownDatabase) {
  const { url, rootUrl, drop } = await make()
  const { db, close } = connect(url, { max: CONNECTIONS })
  return { rootUrl, db, close: () => close().then(drop) }
}

export function useHarness(
  options: {
    readonly checkAnswers?: boolean
    readonly workflowClient?: WorkflowClient
    readonly terminate?: Harness['terminate']
    /** Default: none. */
    readonly ticketQuota?: TicketQuota
    /** Default: one borrowed, connected to as the superuser. */
    readonly database?: typeof ownDatabase
    /** Default: none. */
    readonly logger?: FastifyBaseLogger
  } = {},
): Harness {
  const { terminate = () => Promise.reject(new Error('these tests call no Temporal server')) } = options
  const at: Harness['at'] = async (now, work) => {
    const before = harness.now
    harness.now = now
    return work().finally(() => (harness.now = before))
  }
  const harness = { now: NOON, at, jobs: [], terminate } as unknown as Harness
  const closing: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    const { db, rootUrl, close } = await (options.database === undefined ? borrowed() : owned(options.database))
    const root = connect(rootUrl, { max: 2 })
    closing.push(close, root.close)
    Object.assign(harness, { root: root.db, databaseUrl: rootUrl })
    harness.store = {
      db,
      clock: () => harness.now,
      enqueue: (jobs) => harness.jobs.push(...jobs),
      turns: openTurns({ connections: CONNECTIONS }),
    }
    const operator = await inPlatform(harness.store, (tx) =>
      createKey(tx, null, { name: 'tests', scopes: ['operator'] }),
    )
    harness.operatorKey = operator.key
    const { ticketQuota, logger, workflowClient = INTERNAL.workflowClient } = options
    const app = { checkAnswers: options.checkAnswers ?? true, ...(logger && { logger }) }
    harness.callers = openCallers()
    const common = { store: harness.store, callers: harness.callers, refusalLimit: 0, anonymousLimit: 0 }
    harness.outside = await buildPublic({ ...common, hasMailLinks: true, ...(ticketQuota && { ticketQuota }) }, app)
    harness.inside = await buildInternal({ ...common, ...INTERNAL, workflowClient, dependencies: [] }, app)
    for (const listener of [harness.outside, harness.inside]) closing.push(() => listener.close())
    harness.operate = asking(harness.inside, {
      authorization: `Bearer ${harness.operatorKey}`,
      'x-tenant-id': PLATFORM,
    })
    harness.tenant = await aTenant(harness, 'Ours')
    harness.other = await aTenant(harness, 'Theirs')
  })
  afterAll(async () => {
    for (const close of closing.reverse()) await close()
  })
  return harness
}

/** Another API on the harness's store, which listens. */
export const startedApi = ({ store }: Harness, more: Partial<Parameters<typeof startApi>[0]> = {}) => {
  const local = { host: '127.0.0.1', internalHost: '127.0.0.1', port: 0, internalPort: 0 }
  return startApi({ ...local, ...INTERNAL, store, dependencies: [], ...more })
}

/** How many connections a listener has. */
export const openConnections = ({ server }: App): Promise<number> => promisify(server.getConnections.bind(server))()

/** Asks one after the other. */
export async function times<T>(count: number, ask: () => Promise<T>): Promise<T[]> {
  const answers: T[] = []
  while (answers.length < count) answers.push(await ask())
  return answers
}

const fees = { simMonthlyFee: 1.5, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 2.25 }

/** Creates a tariff of this type. @returns its id */
export async function aTariff(tenant: Tenant, type: 0 | 1 | 2 = 0): Promise<number> {
  const block = [
    { standardTariff: { baseTariffGb: 1, ...fees } },
    { dynamicPoolTariff: { baseTariffBytes: 500_000_000, ...fees } },
    { fixedPoolTariff: { fixedCapacityGb: 100, fixedBucketCost: 80, ...fees } },
  ][type]
  const tariff = { displayName: `Tariff of type ${type}`, type, ...block }
  return (await tenant.inside('POST', '/internal/tariffs', tariff)).body.id
}

export async function aPool(tenant: Tenant, over: Record<string, unknown> = {}): Promise<number> {
  const pool = { type: 0, tariffId: over.tariffId ?? (await aTariff(tenant)), watchdogMode: 1, ...over }
  return (await tenant.ask('POST', '/api/pools', pool)).body.id
}

let serial = 0
/** An ICCID that no other test of the file has. */
export const anIccid = (): string => `8944500102${String(++serial).padStart(9, '0')}`

export async function aSim(tenant: Tenant, over: Record<string, unknown> = {}): Promise<{ id: number; iccid: string }> {
  const made = await tenant.inside('POST', '/internal/sims', { sims: [{ iccid: anIccid(), ...over }] })
  return made.body.created[0]
}

interface Assignment {
  readonly poolId?: number
  readonly tariffId?: number
}

/** Provisions a SIM, in a pool or outside, without a carrier. */
export const provisioned = ({ store }: Harness, tenant: Tenant, simId: number, into: Assignment): Promise<void> =>
  inTenant(store, tenant.id, (tx) => complete(tx, { simId, type: TicketType.Provision, ...into }))

/** A SIM that is Active, in a pool or outside, without a carrier. */
export async function anActiveSim(
  harness: Harness,
  tenant: Tenant,
  into: Assignment = {},
  over: Record<string, unknown> = {},
) {
  const sim = await aSim(tenant, over)
  await provisioned(harness, tenant, sim.id, into)
  await inTenant(harness.store, tenant.id, (tx) => complete(tx, { simId: sim.id, type: TicketType.Activate }))
  return sim
}

/**
 * A successful call of every operation of both interfaces, in an estate. The tests of every route take the operations
 * from the OpenAPI documents and the calls from here. They fail for an operation that has no line here, and name it.
 */
import { sql } from 'kysely'
import { internalOpenapiDocument, openapiDocument } from '../../../api/openapi.ts'
import type { AuditSubject } from '../../../domain/tenants/audit.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { unseen } from '../../../rules/alerts/alert-state.ts'
import { saveAlerts } from '../../../service/alerts/rows/alerts.ts'
import { insertBody } from '../../../service/channels/rows/bodies.ts'
import { openSession } from '../../../service/tenants/open-session.ts'
import { inPlatform, inTenant } from '../../../store/tenancy.ts'
import {
  activeSim,
  type Estate,
  freshIccid,
  freshOrder,
  freshSim,
  freshTariff,
  next,
  plainTariff,
  queuedInSeptember,
  shipment,
  suspendedSim,
  watchdogSuspendedSim,
} from '../full-tenant.ts'

export interface Call {
  /** Values of the path's parameters. */
  readonly path?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string | number>>
  readonly body?: unknown
}

export interface Line {
  /** A call with ids of the estate. It first creates what the operation uses up. */
  readonly call: (estate: Estate) => Call | Promise<Call>
  /**
   * The status if another tenant sends the same call. Default: 404 if the path has parameters or the call contains a
   * value of the estate, else any success. `empty`: a page without items.
   */
  readonly foreign?: number | 'empty'
  /** Another call by the other tenant that names something of the estate, alone or beside its own. It gets 404. */
  readonly mixed?: (theirs: Estate, ours: Estate) => Call | Promise<Call>
  /** The subjects of the call's audit entries, or why it has none. Only for calls that change something. */
  readonly audit?: readonly AuditSubject[] | string
  /** Needs a Temporal server, as in test/workflows/asks.test.ts. */
  readonly asksTemporal?: true
  /** The response has a secret, so a repeated request gets 409. */
  readonly secret?: true
  /** Why a POST takes no Idempotency-Key. */
  readonly notOnce?: string
}

const none = () => ({})
const pool = ({ poolId }: Estate) => ({ path: { id: poolId } })
const sim = ({ simId }: Estate) => ({ path: { id: simId } })
const order = ({ orderId }: Estate) => ({ path: { orderId } })
const bulk = ({ bulkId }: Estate) => ({ path: { id: bulkId } })
const orderAfter =
  (type: 1 | 2, ...steps: string[]) =>
  async (estate: Estate) => ({ path: { orderId: await freshOrder(estate, type, ...steps) } })
/** A cycle long ago that was never opened. */
const oldCycle = () => {
  const month = next() * 2
  return `${1970 + Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}`
}
const cycle = () => ({ path: { key: '2026-10' } })
const runId = ({ tenant, simId }: Estate) => `suspend-on-overage:${tenant.id}:${simId}:2026-11`
/** Starts a workflow for a new SIM. */
async function startedRun(estate: Estate) {
  const { id: simId } = await activeSim(estate)
  const run = await estate.tenant.inside('POST', '/internal/workflows/suspend-on-overage', { simId })
  return { path: { workflowId: run.body.workflowId as string } }
}
async function stoppedRun(estate: Estate) {
  const run = await startedRun(estate)
  await estate.harness.terminate(run.path.workflowId)
  return run
}
/** Id of a SIM for which an alert fires. */
async function firingSim(estate: Estate): Promise<number> {
  const { id } = await activeSim(estate)
  const alert = { rule: 'sim-overage', kind: 'sim', id, scope: '2026-11', firing: true, ruleVersion: 1 } as const
  const rest = { explanation: [], lastSignal: null, lastSignalAt: null }
  await inTenant(estate.harness.store, estate.tenant.id, (tx) =>
    saveAlerts(tx, [{ ...alert, ...rest, state: { ...unseen(0), phase: 'firing' }, evaluatedAt: tx.now }]),
  )
  return id
}
/** A mail that has ended so. */
const mail =
  (status: 'sent' | 'failed') =>
  async ({ tenant, harness }: Estate) => {
    const id = `<${status}-${next()}@simherd>`
    const body = { subject: 'Sent', text: 'Sent', html: '<p>Sent</p>', headers: {}, attachments: [] }
    await inTenant(harness.store, tenant.id, async (tx) => {
      await sql`insert into deliveries (mail_id, recipient, kind, status, next_attempt_at, created_at)
                values (${id}, 'billing@meadow.example', 'cause', ${status}, ${tx.now}, ${tx.now})`.execute(tx.q)
      await insertBody(tx, id, body)
    })
    return { path: { id } }
  }
/** Posts inside. @returns the path of the result */
const made = async ({ tenant }: Estate, url: string, body?: object) => {
  const answer = await tenant.inside('POST', url, body)
  return { path: { id: answer.body.id as number | string } }
}
const aSilence = ({ simId }: Estate) => ({ simId, lasts: 'PT1H', reason: 'The meter is replaced' })
/** An address of its own: a tenant may have 20, so it removes all copies but the newest. */
async function newAddress({ tenant }: Estate) {
  const { body } = await tenant.inside('GET', '/internal/addresses')
  const copies = (body as { id: number; kind: string }[]).filter(({ kind }) => kind === 'copy')
  for (const { id } of copies.slice(0, -5)) await tenant.inside('DELETE', `/internal/addresses/${id}`)
  return { kind: 'copy', email: `copy-${next()}@meadow.example` }
}
const freshAddress = async (estate: Estate) => made(estate, '/internal/addresses', await newAddress(estate))
const WEBHOOK = { url: 'https://ops.meadow.example/simherd', events: ['cycle.closed'] }
/** Removes all webhooks but the newest: a tenant may have ten. */
async function roomForWebhook({ tenant }: Estate) {
  const { data } = (await tenant.inside('GET', '/internal/webhooks')).body
  for (const { id } of data.slice(5)) await tenant.inside('DELETE', `/internal/webhooks/${id}`)
}
async function freshWebhook(estate: Estate) {
  await roomForWebhook(estate)
  return made(estate, '/internal/webhooks', WEBHOOK)
}
async function webhookDelivery(estate: Estate) {
  const { path } = await freshWebhook(estate)
  return { path: { ...path, deliveryId: (await made(estate, `/internal/webhooks/${path.id}/test`)).path.id } }
}
/** Rule files that no version has. */
const freshRules = async () =>
  (await readRuleFiles('')).map(({ file, text }) => ({ file, text: `${text}${' '.repeat(next())}` }))
/** A version of the rules that is not in force. */
async function pushedVersion({ harness }: Estate): Promise<number> {
  const body = { files: await freshRules(), author: 'the tests' }
  return (await harness.operate('POST', '/internal/rules/versions', body)).body.version
}
/** A question for a backtest, with room for it: so many may wait. */
async function newBacktest({ harness, tenant }: Estate) {
  const { data } = (await harness.operate('GET', '/internal/rules/backtests')).body
  for (const { id } of data.slice(5)) await harness.operate('DELETE', `/internal/rules/backtests/${id}`)
  return { body: { tenantId: tenant.id, cycles: 1 + (next() % 3) } }
}
async function freshBacktest(estate: Estate) {
  const { body } = await newBacktest(estate)
  return { path: { id: (await estate.harness.operate('POST', '/internal/rules/backtests', body)).body.id as number } }
}
/** A hold of the guard for a rule of its own, in a tenant whose hourly limit becomes 0. */
async function openHold({ tenant, simId, word }: Estate) {
  const settings = { guardLeast: 0, guardPct: 0 }
  await tenant.inside('PATCH', '/internal/tenant/enforcement', settings)
  const ask = { rule: `rule-${next()}`, cycle: '2026-11', simIds: [simId], workflowId: word }
  const { body } = await tenant.inside('POST', '/internal/enforcement/permits', ask)
  return { path: { id: body.holdId as number } }
}
/** A batch of one SIM; no workflow processes it here. */
const batchOf = async (estate: Estate) =>
  made(estate, '/internal/workflows/provision-in-bulk', {
    sims: [{ simId: (await freshSim(estate)).id, tag: `${estate.word} ${next()}` }],
  })
const ENFORCED = { cycle: '2026-11', rule: 'sim-overage' }
const arming = ({ poolId }: Estate) => ({
  poolId,
  ...ENFORCED,
  ruleFile: 'sim/sim-overage.json',
  grace: 'PT0S',
  until: 'renewal',
  signal: 'overLimit',
})
const onSim =
  (make: (estate: Estate) => Promise<{ id: number }>, more: object = {}) =>
  async (estate: Estate) => ({ body: { simId: (await make(estate)).id, ...more } })
const ticketToCancel = async (estate: Estate) =>
  made(estate, '/internal/tickets/suspend', { simId: (await activeSim(estate)).id })
const keyToEnd = (estate: Estate) =>
  made(estate, '/internal/keys', { name: `${estate.word} short-lived`, scopes: ['read'] })
/** A browser that a key of its own has signed in to the console. */
async function signedIn(estate: Estate) {
  const keyId = String((await keyToEnd(estate)).path.id)
  const { tenant, harness, word } = estate
  await inPlatform(harness.store, (tx) => openSession(tx, { id: keyId, tenantId: tenant.id }, { userAgent: word }))
  const { data } = (await tenant.inside('GET', `/internal/sessions?keyId=${keyId}`)).body
  return { id: data[0].id as string, keyId }
}
const suspendInBulk = async (estate: Estate) => ({ type: 'suspend', sims: { ids: [(await activeSim(estate)).id] } })

const TICKET: Pick<Line, 'audit' | 'foreign'> = { audit: ['ticket'], foreign: 404 }
const STEP: Pick<Line, 'audit'> = { audit: ['order'] }
const OWN_IDENTITY = 'the workflow id makes the start idempotent'
const WORKFLOW: Pick<Line, 'audit' | 'asksTemporal'> = { audit: ['workflow'], asksTemporal: true }
const START = { ...WORKFLOW, notOnce: OWN_IDENTITY }
const SCHEDULE: Line = { call: none, audit: ['schedule'], asksTemporal: true }

/** Reads of what the tenant has, that take nothing. */
const READS = `
  getWatchdogMetadata listPools getPoolMetadata getSimMetadata listTickets getTicketMetadata listOrders
  getOrderPricing getOrderMetadata getTenant getBilledTenant listTariffs listOwnTariffs getTariffMetadata listEvents getEventMetadata listKeys listTenants
  getOrderPrices listSessions listRules listShadowLog showRuleCoverage listRuleVersions listBacktests listBulkTickets
  listUsageDeliveries listCycles readEnforcement readNotices listHolds listSuspendingRules listAlerts listAlertCauses readStatus listSilences listAddresses
  listWebhooks readCounts listMails exportSims exportPools exportTariffs exportTickets exportOrders exportEvents`

export const LINES: Readonly<Record<string, Line>> = {
  ...Object.fromEntries(
    READS.trim()
      .split(/\s+/)
      .map((operationId) => [operationId, { call: none }]),
  ),
  // The service document.
  listWatchdogLogs: { call: ({ simId }) => ({ query: { simId } }), foreign: 'empty' },
  createPool: {
    call: ({ tariffId, word }) => ({ body: { type: 0, tariffId, watchdogMode: 1, name: `${word} ${next()}` } }),
    foreign: 404,
    audit: ['pool'],
  },
  getPool: { call: pool },
  updatePool: {
    call: (estate) => ({ ...pool(estate), body: { name: `${estate.word} pool ${next()}`, watchdogMode: 2 } }),
    audit: ['pool'],
  },
  deletePool: {
    call: async ({ tenant, tariffId, word }) => {
      const pool = { type: 0, tariffId, watchdogMode: 1, name: `${word} gone` }
      return { path: { id: (await tenant.ask('POST', '/api/pools', pool)).body.id } }
    },
    audit: ['pool'],
  },
  listPoolSims: { call: pool },
  listPoolWatchdogLogs: { call: pool },
  findObjects: { call: ({ iccid }) => ({ query: { q: iccid } }), foreign: 200 },
  listSims: { call: ({ poolId }) => ({ query: { poolId } }), foreign: 'empty' },
  getSim: {
    call: ({ iccid }) => ({ path: { idOrIccid: iccid } }),
    mixed: (_, { simId }) => ({ path: { idOrIccid: simId } }),
  },
  tagSim: { call: (estate) => ({ ...sim(estate), body: { tag: `${estate.word} tag ${next()}` } }), audit: ['sim'] },
  takeBackQueuedChange: {
    call: async (estate) => {
      const { id } = await activeSim(estate)
      await estate.tenant.ask('POST', `/api/sims/${id}/queue-unprovision`)
      return { path: { id } }
    },
    audit: ['sim'],
  },
  queueReprovision: {
    call: async (estate) => ({ path: { id: (await activeSim(estate)).id }, body: { poolId: estate.otherPoolId } }),
    mixed: (theirs, { poolId }) => ({ ...sim(theirs), body: { poolId } }),
    audit: ['sim'],
  },
  queueUnprovision: { call: async (estate) => ({ path: { id: (await activeSim(estate)).id } }), audit: ['sim'] },
  listSimWatchdogLogs: { call: sim },
  getTicket: { call: ({ ticketId }) => ({ path: { id: ticketId } }) },
  cancelTicket: { call: ticketToCancel, audit: ['ticket'] },
  activateSim: { call: onSim(suspendedSim), ...TICKET },
  suspendSim: { call: onSim(activeSim), ...TICKET },
  refreshSim: { call: onSim(activeSim), ...TICKET },
  sendSms: { call: onSim(activeSim, { message: 'hello' }), ...TICKET },
  provisionSim: {
    call: async (estate) => ({ body: { simId: (await freshSim(estate)).id, poolId: estate.poolId } }),
    mixed: async (theirs, { poolId }) => ({ body: { simId: (await freshSim(theirs)).id, poolId } }),
    ...TICKET,
  },
  createOrder: { call: () => ({ body: { type: 1, quantity: 1 + next(), shippingLine1: '2 Lane' } }), audit: ['order'] },
  getOrder: { call: order },
  cancelOrder: { call: orderAfter(1), audit: ['order'] },
  renameTenant: { call: () => ({ body: { name: `Renamed ${next()}` } }), audit: ['tenant'] },
  changeBillingEmail: { call: () => ({ body: { billingEmail: `m${next()}@renamed.example` } }), audit: ['tenant'] },
  getTariff: { call: ({ tariffId }) => ({ path: { id: tariffId } }) },
  getEvent: { call: ({ eventId }) => ({ path: { id: eventId } }) },

  // Tenants, keys, tariffs, prices, rules.
  createTenant: {
    call: () => ({ body: { name: `Third ${next()}`, billingEmail: 'third@example.com' } }),
    audit: ['tenant', 'key'],
    secret: true,
  },
  createKey: { call: () => ({ body: { name: `key ${next()}`, scopes: ['read'] } }), audit: ['key'], secret: true },
  rotateKey: { call: keyToEnd, audit: ['key', 'key'], secret: true },
  revokeKey: { call: keyToEnd, audit: ['key'] },
  endSession: { call: async (estate) => ({ path: { id: (await signedIn(estate)).id } }), audit: ['session'] },
  endSessionsOfKey: {
    call: async (estate) => ({ path: { id: (await signedIn(estate)).keyId } }),
    audit: ['session'],
  },
  createSignInLink: { call: () => ({}), audit: ['session'], secret: true },
  createTariff: { call: () => ({ body: plainTariff(`Tariff ${next()}`) }), audit: ['tariff'] },
  offerTariff: {
    call: async (estate) => ({ path: { id: await freshTariff(estate) }, body: { isActive: false } }),
    audit: ['tariff'],
  },
  setOrderPrices: { call: () => ({ body: { prices: [{ type: 2, price: next() }] } }), audit: ['order-prices'] },
  loadRules: {
    call: async () => ({ body: { files: await freshRules(), author: 'the tests' } }),
    audit: ['rules'],
    notOnce: 'a rule set that is already in force stays as it is',
  },
  explainRules: { call: ({ simId }) => ({ query: { simId } }) },
  putRuleFile: {
    call: async () => {
      const [file] = await freshRules()
      return { path: { file: file?.file ?? '' }, body: { text: file?.text ?? '', author: 'the tests' } }
    },
    audit: ['rules'],
  },
  removeRuleFile: {
    call: async ({ harness }) => {
      await harness.operate('POST', '/internal/rules', { files: await freshRules(), author: 'the tests' })
      return { path: { file: 'sim/sim-silent.json' }, query: { author: 'the tests' } }
    },
    audit: ['rules'],
  },
  getRuleVersion: { call: async (estate) => ({ path: { version: await pushedVersion(estate) } }) },
  compareRuleVersions: { call: async (estate) => ({ path: { version: await pushedVersion(estate) } }) },
  pushRules: {
    call: async () => ({ body: { files: await freshRules(), author: 'the tests', reason: 'a try' } }),
    audit: ['rules'],
    notOnce: 'the same files keep their version',
  },
  activateRuleVersion: {
    call: async (estate) => ({ path: { version: await pushedVersion(estate) }, body: { author: 'the tests' } }),
    audit: ['rules'],
    notOnce: 'a version that is already in force stays so',
  },
  rollBackRules: {
    call: async (estate) => ({ body: { author: 'the tests', to: await pushedVersion(estate) } }),
    audit: ['rules'],
  },
  askBacktest: { call: newBacktest, audit: 'it changes nothing; it says itself who asked, and when' },
  getBacktest: { call: freshBacktest },
  removeBacktest: { call: freshBacktest, audit: 'nothing of a tenant or the platform goes' },
  listAudit: { call: ({ keyId }) => ({ query: { subjectId: keyId } }), foreign: 'empty' },

  // SIMs and tickets.
  importSims: {
    call: (estate) => ({ body: { sims: [{ iccid: freshIccid(estate) }, { iccid: estate.iccid }] } }),
    foreign: 200,
    audit: ['sim'],
  },
  readSimHistory: { call: sim },
  setSimWatchdog: {
    call: (estate) => ({ ...sim(estate), body: { warningThresholdPct: 1 + (next() % 100) } }),
    audit: ['sim'],
  },
  setSuspensionUntil: {
    call: async (estate) => {
      const workflowId = `suspend-on-overage:${estate.tenant.id}:${next()}:2026-11`
      const { id } = await watchdogSuspendedSim(estate, workflowId)
      return { path: { id }, body: { until: 'manual', workflowId } }
    },
    audit: ['sim'],
  },
  openProvisionTicket: {
    call: async (estate) => ({ body: { simId: (await freshSim(estate)).id, poolId: estate.poolId } }),
    mixed: async (theirs, { poolId }) => ({ body: { simId: (await freshSim(theirs)).id, poolId } }),
    ...TICKET,
  },
  openUnassignTicket: { call: onSim(activeSim), ...TICKET },
  openSuspendTicket: { call: onSim(activeSim), ...TICKET },
  openActivateTicket: { call: onSim(suspendedSim), ...TICKET },
  listTicketDetails: { call: ({ simId }) => ({ query: { simId } }), foreign: 'empty' },
  getTicketDetail: { call: ({ ticketId }) => ({ path: { id: ticketId } }) },
  cancelTicketInternally: { call: ticketToCancel, audit: ['ticket'] },
  startBulkTickets: {
    call: async (estate) => ({ body: await suspendInBulk(estate) }),
    // The run is the other tenant's, and refuses SIMs that this tenant does not have.
    foreign: 202,
    mixed: async (theirs, { poolId }) => ({
      body: { type: 'provision', poolId, sims: { ids: [(await freshSim(theirs)).id] } },
    }),
    audit: ['bulk-tickets'],
  },
  getBulkTickets: { call: bulk },
  listBulkTicketItems: { call: bulk },
  cancelBulkTickets: {
    call: async (estate) => made(estate, '/internal/bulk-tickets', await suspendInBulk(estate)),
    audit: ['bulk-tickets'],
  },

  // Orders.
  getOrderDetail: { call: order },
  listOrderSims: { call: order },
  setOrderPayment: {
    call: (estate) => ({ ...order(estate), body: { paymentInvoiceId: `${estate.word}-${next()}` } }),
    ...STEP,
  },
  processOrder: { call: orderAfter(1), ...STEP },
  shipOrder: {
    call: async (estate) => ({ ...(await orderAfter(1, 'process')(estate)), body: shipment(estate) }),
    // The order leads to its SIMs, so only the order has an audit entry.
    audit: ['order'],
  },
  deliverOrder: { call: orderAfter(1, 'process', 'ship'), ...STEP },
  completeOrder: { call: orderAfter(2, 'process'), ...STEP },
  failOrder: { call: async (estate) => ({ ...(await orderAfter(1)(estate)), body: { reason: 'none left' } }), ...STEP },

  // Usage and cycles. A cycle's key is a month, so it is valid for the other tenant too.
  recordUsage: {
    call: ({ simId, word }) => ({
      body: { records: [{ recordId: `${word}-${next()}`, simId, at: '2026-11-20T11:00:00Z', bytesDown: 10 }] },
    }),
    foreign: 200,
    audit: 'each delivery is recorded: GET /internal/usage-deliveries',
    notOnce: 'each record has an id',
  },
  getUsageDelivery: {
    call: async ({ tenant }) => ({
      path: { id: (await tenant.inside('POST', '/internal/usage', { records: [] })).body.deliveryId as number },
    }),
  },
  listQueuedChanges: { call: cycle, foreign: 200 },
  listSuspensionsToRenew: { call: () => ({ path: { key: '2026-11' } }), foreign: 200 },
  listMonthEndBatches: { call: () => ({ ...cycle(), query: { kind: 'renew' } }), foreign: 200 },
  readMonthEndProgress: { call: cycle, foreign: 200 },
  applyQueuedChanges: {
    call: async (estate) => {
      const { id, key } = await queuedInSeptember(estate, { poolId: estate.otherPoolId })
      return { path: { key }, body: { kind: 'move', afterSimId: id - 1, throughSimId: id } }
    },
    foreign: 200,
    audit: ['cycle'],
  },
  retryFailedChanges: {
    call: async (estate) => {
      const tariffId = await freshTariff(estate)
      const { id, key } = await queuedInSeptember(estate, { tariffId })
      const { inside } = estate.tenant
      await inside('PATCH', `/internal/tariffs/${tariffId}`, { isActive: false })
      const range = { afterSimId: id - 1, throughSimId: id }
      await inside('POST', `/internal/cycles/${key}/changes/apply`, { kind: 'move', ...range })
      return { path: { key }, body: { kind: 'move', afterSimId: id - 1 } }
    },
    foreign: 200,
    audit: ['cycle'],
  },
  returnSuspendedSims: {
    call: async (estate) => ({
      path: { key: '2026-09' },
      body: { simIds: [(await watchdogSuspendedSim(estate, 'gone', '2026-09')).id] },
    }),
    foreign: 200,
    audit: ['cycle'],
  },
  renewCycle: { call: () => ({ path: { key: oldCycle() } }), foreign: 200, audit: ['cycle'] },
  closeCycle: { call: () => ({ path: { key: oldCycle() } }), foreign: 200, audit: ['cycle'] },
  readStatement: { call: cycle, foreign: 200 },
  exportStatement: { call: cycle, foreign: 200 },
  planMonthEnd: { call: cycle, foreign: 200 },
  readCycleCost: { call: cycle, foreign: 200 },

  // Enforcement.
  readSimEnforcement: { call: (estate) => ({ ...sim(estate), query: ENFORCED }) },
  readPoolEnforcement: { call: (estate) => ({ ...pool(estate), query: ENFORCED }) },
  listLargestSims: { call: pool },
  listArmedSims: { call: (estate) => ({ ...pool(estate), query: { cycle: '2026-11' } }) },
  logAction: {
    call: (estate) => ({
      body: {
        simId: estate.simId,
        ...ENFORCED,
        action: 'suspended',
        counter: next(),
        detail: `of ${estate.word}`,
        workflowId: runId(estate),
      },
    }),
    foreign: 404,
    audit: 'it adds to the watchdog log, and entries there never change',
  },
  changeEnforcement: { call: () => ({ body: { guardLeast: 1000 + next() } }), audit: ['tenant'] },
  changeNotices: {
    call: () => ({ body: { timeZone: 'UTC', feedEvery: `PT${60 + next()}M`, escalateAfter: 'PT30M', mailsFrom: 1 } }),
    audit: ['tenant'],
  },
  askPermits: {
    call: (estate) => ({ body: { ...ENFORCED, simIds: [estate.simId], workflowId: runId(estate) } }),
    foreign: 404,
    mixed: ({ simId }, { poolId }) => ({
      body: { rule: 'pool-overage', cycle: '2026-11', poolId, simIds: [simId], workflowId: 'theirs' },
    }),
    audit: 'called by workflows; the holds record its results',
    notOnce: 'the same request gets the same permits',
  },
  getHold: { call: openHold },
  listHeldSims: { call: openHold },
  listSuspensionsOfRule: {
    call: () => ({ query: { rule: 'sim-overage', since: '2026-11-01T00:00:00Z', until: '2026-12-01T00:00:00Z' } }),
  },
  passOverSims: {
    call: async (estate) => ({ body: { simIds: [(await activeSim(estate)).id] } }),
    foreign: 404,
    audit: ['workflow'],
    notOnce: 'a SIM that is passed over stays passed over',
  },
  retryMail: { call: mail('failed'), audit: ['mail'] },
  getMail: { call: mail('sent') },
  resendMail: { call: mail('sent'), audit: ['mail'] },
  getAlert: {
    call: async (estate) => {
      const { body } = await estate.tenant.inside('GET', `/internal/alerts?simId=${await firingSim(estate)}`)
      return { path: { id: body.data[0].id as number } }
    },
  },
  readUsageSeries: {
    call: ({ simId }) => ({
      query: { simId, from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z', step: 'P1D' },
    }),
    foreign: 404,
  },
  acknowledgeAlert: {
    call: async (estate) => ({ body: { rule: 'sim-overage', simId: await firingSim(estate) } }),
    foreign: 404,
    audit: ['alert'],
  },
  addSilence: { call: (estate) => ({ body: aSilence(estate) }), audit: ['silence'] },
  readSilence: { call: (estate) => made(estate, '/internal/silences', aSilence(estate)) },
  endSilence: { call: (estate) => made(estate, '/internal/silences', aSilence(estate)), audit: ['silence'] },
  addAddress: { call: async (estate) => ({ body: await newAddress(estate) }), audit: ['address'] },
  confirmAddress: { call: freshAddress, audit: ['address'] },
  clearAddress: {
    call: async (estate) => {
      const address = await freshAddress(estate)
      await inTenant(estate.harness.store, estate.tenant.id, ({ q, now }) =>
        sql`update addresses set bad_since = ${now} where id = ${address.path.id}`.execute(q),
      )
      return address
    },
    audit: ['address'],
  },
  removeAddress: { call: freshAddress, audit: ['address'] },
  addWebhook: {
    call: async (estate) => {
      await roomForWebhook(estate)
      return { body: WEBHOOK }
    },
    audit: ['webhook'],
    secret: true,
  },
  rotateWebhook: { call: freshWebhook, audit: ['webhook'], secret: true },
  testWebhook: { call: freshWebhook, audit: ['webhook'] },
  disableWebhook: { call: freshWebhook, audit: ['webhook'] },
  enableWebhook: {
    call: async (estate) => {
      const webhook = await freshWebhook(estate)
      await estate.tenant.inside('POST', `/internal/webhooks/${webhook.path.id}/disable`)
      return webhook
    },
    audit: ['webhook'],
  },
  removeWebhook: { call: freshWebhook, audit: ['webhook'] },
  listWebhookDeliveries: { call: freshWebhook },
  replayWebhookDelivery: { call: webhookDelivery, audit: ['webhook'] },
  releaseHold: { call: openHold, audit: ['hold'] },
  discardHold: { call: openHold, audit: ['hold'] },
  armSuspensions: {
    call: async (estate) => ({ body: { simIds: [(await activeSim(estate)).id], ...arming(estate) } }),
    foreign: 404,
    mixed: async (theirs, estate) => ({ body: { simIds: [(await activeSim(theirs)).id], ...arming(estate) } }),
    audit: ['workflow'],
    notOnce: OWN_IDENTITY,
  },

  // Workflows.
  startProvisionAndActivate: {
    call: async (estate) => ({ body: { iccid: (await freshSim(estate)).iccid, poolId: estate.poolId } }),
    foreign: 404,
    mixed: async (theirs, { simId }) => ({ body: { simId } }),
    ...START,
  },
  startProvisionInBulk: {
    call: async (estate) => ({
      body: { sims: [{ iccid: (await freshSim(estate)).iccid }], defaults: { poolId: estate.poolId } },
    }),
    foreign: 404,
    mixed: async (theirs, { poolId }) => ({
      body: { sims: [{ simId: (await freshSim(theirs)).id }], defaults: { poolId } },
    }),
    audit: ['workflow'],
  },
  getProvisionBatch: { call: batchOf },
  listProvisionBatchSims: { call: batchOf },
  noteProvisionBatch: {
    call: async (estate) => ({ ...(await batchOf(estate)), body: { started: [0], ended: [] } }),
    audit: "called by the batch's own workflow; its start is in the audit trail",
    notOnce: 'reporting a SIM twice changes nothing',
  },
  endProvisionBatch: {
    call: batchOf,
    audit: "called by the batch's own workflow; its start and cancellation are in the audit trail",
    notOnce: 'a batch that has ended stays ended',
  },
  startSuspendOnOverage: { call: onSim(activeSim), foreign: 404, ...START },
  startUndoSuspensions: {
    call: () => ({ body: { rule: `rule-${next()}`, since: '2026-11-01T00:00:00Z' } }),
    ...START,
  },
  startMonthEnd: { call: () => ({ body: { cycle: '2026-10' } }), ...START },
  listWorkflows: { call: ({ simId }) => ({ query: { simId } }), foreign: 'empty', asksTemporal: true },
  readWorkflow: { call: startedRun, asksTemporal: true },
  signalWorkflow: {
    call: async (estate) => ({ path: { ...(await startedRun(estate)).path, name: 'standDown' } }),
    ...WORKFLOW,
    notOnce: 'a repeated signal has no further effect',
  },
  updateWorkflow: {
    call: async (estate) => ({ path: { ...(await startedRun(estate)).path, name: 'resume' }, body: {} }),
    ...WORKFLOW,
  },
  cancelWorkflow: { call: startedRun, ...WORKFLOW },
  readPending: { call: startedRun, asksTemporal: true },
  listTroubles: { call: none, asksTemporal: true },
  noteTroubles: {
    call: (estate) => ({ body: { failing: [], ended: [{ workflowId: runId(estate), activityId: '7' }] } }),
    foreign: 404,
    audit: 'sent by workers; it changes nothing that they do',
    notOnce: 'the same report twice changes nothing',
  },
  retryWorkflow: { call: stoppedRun, ...WORKFLOW },
  readMonthEndSchedule: { call: none, asksTemporal: true },
  pauseMonthEndSchedule: { ...SCHEDULE, notOnce: 'a paused Schedule stays paused' },
  resumeMonthEndSchedule: { ...SCHEDULE, notOnce: 'a Schedule that runs keeps running' },
  exportWatchdogLogs: { call: ({ simId }) => ({ query: { simId } }), foreign: 200 },
}

export interface Operation {
  readonly operationId: string
  /** In upper case. */
  readonly method: string
  /** With its parameters in braces. */
  readonly path: string
  readonly listener: 'outside' | 'inside'
  /** Names of its header parameters. */
  readonly headers: readonly string[]
}

interface Described {
  readonly operationId: string
  readonly security?: readonly unknown[]
  readonly parameters?: readonly { readonly $ref?: string }[]
}
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>> }

const operationsOf = (document: Document, listener: Operation['listener']): Operation[] =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, { security }]) => security === undefined || security.length > 0)
      .map(([method, { operationId, parameters = [] }]) => ({
        operationId,
        method: method.toUpperCase(),
        path,
        listener,
        headers: parameters.flatMap(({ $ref }) => $ref?.split('/').at(-1) ?? []),
      })),
  )

/** Every operation of both interfaces that requires a key. */
export const OPERATIONS: readonly Operation[] = [
  ...operationsOf((await openapiDocument()) as Document, 'outside'),
  ...operationsOf((await internalOpenapiDocument()) as Document, 'inside'),
]

/** @throws Error that names the operation, if it has no line */
export function lineOf({ operationId, method, path }: Operation): Line {
  const line = LINES[operationId]
  if (line === undefined)
    throw new Error(`${method} ${path} (${operationId}) has no line in test/api/every-route/calls.ts`)
  return line
}

/** The path and query of a call. */
export function urlOf({ path, operationId }: Operation, call: Call): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = call.path?.[name]
    if (value === undefined) throw new Error(`${operationId} has no example of {${name}}`)
    return encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(call.query ?? {})) query.set(name, String(value))
  return query.size === 0 ? filled : `${filled}?${query.toString()}`
}

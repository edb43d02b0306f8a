/** What the service does at each request, chunk of usage, look, ticket, batch, mail and delivery. */

import { sql } from 'kysely'
import type { Network } from '../../../adapters/carrier/network.ts'
import { otherIccidsOf } from '../../../domain/identifiers.ts'
import { cycleAt, previousCycle } from '../../../domain/time/cycle.ts'
import { tenantsWithMail } from '../../../service/channels/rows/mails.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { COSTS, PLANS } from '../../../service/month-end/keep-answer.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { openBulkTickets } from '../../../service/tickets/open-bulk-tickets.ts'
import { tenantsWithBulkWork } from '../../../service/tickets/rows/bulk.ts'
import { tenantsWithTickets } from '../../../service/tickets/rows/tickets.ts'
import { evaluateSubjects } from '../../../service/watchdog/evaluate-subjects.ts'
import { sweepSubjects } from '../../../service/watchdog/sweep-subjects.ts'
import { carryOutWorkflowRequests } from '../../../service/workflows/carry-out-workflow-requests.ts'
import { tenantsChanged } from '../../../store/changed.ts'
import { markDue, tenantsDue } from '../../../store/due.ts'
import { keptAnswer } from '../../../store/kept-answers.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { requestWorkflows, tenantsWithWorkflowRequests } from '../../../store/outbox.ts'
import { lookAtAll } from '../../../store/shards.ts'
import { inPlatform, inTenant, type TenantTx } from '../../../store/tenancy.ts'
import { evaluationOptions } from '../../service/harness.ts'
import { accepting } from '../../setup/accepting.ts'
import { anAlert } from '../../unit/channels/notifications.ts'
import type { LargeEstate } from './estate.ts'

type Work = (estate: LargeEstate) => Promise<unknown>

/** SIMs in a batch or a chunk: so few that reading a table from end to end is never the cheaper way. */
const FEW = 10
const PAGE = 10

let serial = 0
const next = () => ++serial

/** @throws Error if the answer is another than 200 */
export async function get({ tenant }: Pick<LargeEstate, 'tenant'>, url: string, listener: 'ask' | 'inside' = 'ask') {
  const { status, body } = await tenant[listener]('GET', url)
  if (status !== 200) throw new Error(`GET ${url}: ${status} ${JSON.stringify(body)}`)
  return body
}
async function send(estate: LargeEstate, listener: 'ask' | 'inside', method: string, url: string, body?: object) {
  const answer = await estate.tenant[listener](method, url, body, { 'idempotency-key': `key ${next()}` })
  if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const running = ({ harness }: LargeEstate) => cycleAt('P1M', harness.now)
const ended = (estate: LargeEstate) => previousCycle('P1M', running(estate))
const asTenant = <T>({ harness, tenant }: LargeEstate, work: (tx: TenantTx) => Promise<T>) =>
  inTenant(harness.store, tenant.id, work)
const one = (estate: LargeEstate) => estate.take(1)[0] ?? 0
const poolOf = ({ pools }: LargeEstate) => pools[Math.floor(pools.length / 2)] ?? 0

/** A page that begins a hundred SIMs after the first of the last block: as far into it in every estate. */
const farPage = ({ sims, firstSim }: LargeEstate, share = 1) =>
  Math.floor((share * (Math.max(firstSim, ((firstSim + sims - 1) >> 12) * 4096) - firstSim + 100)) / PAGE)

const list =
  (url: string, listener: 'ask' | 'inside' = 'ask'): Work =>
  (estate) =>
    get(estate, `${url}${url.includes('?') ? '&' : '?'}pageSize=${PAGE}`, listener)

/** The second page of a list of the internal interface, by its cursor. */
const afterPage =
  (url: string): Work =>
  async (estate) => {
    const { headers } = await estate.tenant.inside('GET', `${url}${url.includes('?') ? '&' : '?'}pageSize=${PAGE}`)
    await get(estate, /<([^>]+)>; rel="next"/.exec(headers['link'] ?? '')?.[1] ?? '', 'inside')
  }

/** The id of one of the tenant's rows. */
async function idIn({ harness, tenant }: LargeEstate, table: string): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    select id::text as id from ${sql.table(table)} where tenant_id = ${tenant.id} limit 1`.execute(harness.root)
  return rows[0]?.id ?? ''
}

const record = (estate: LargeEstate, simId: number, over: object = {}) => ({
  recordId: `hot ${next()}`,
  iccid: estate.iccid(simId),
  at: new Date(estate.harness.now - 60_000).toISOString(),
  bytesDown: 1000,
  ...over,
})
const deliver = async (estate: LargeEstate, records: readonly object[], expected: object) => {
  const { accepted, duplicates } = await send(estate, 'inside', 'POST', '/internal/usage', { records })
  const counted = { accepted, duplicates }
  if (JSON.stringify(counted) !== JSON.stringify({ accepted: 0, duplicates: 0, ...expected })) {
    throw new Error(`usage: got ${JSON.stringify(counted)}, expected ${JSON.stringify(expected)}`)
  }
}
const usage =
  (over: (estate: LargeEstate) => object = () => ({})): Work =>
  (estate) =>
    deliver(
      estate,
      estate.take(FEW).map((simId) => record(estate, simId, over(estate))),
      { accepted: FEW },
    )

const evaluate: Work = ({ harness, tenant }) => evaluateSubjects(harness.store, evaluationOptions(), tenant.id)

export const network: Network = {
  credential: 'test',
  perform: async ({ ticketId }) => ({ ticketId, effect: 'done' }),
  ping: async () => undefined,
}
export const TRIES = { leaseMs: 60_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }
const execute: Work = ({ harness, tenant }) => executeTickets(harness.store, network, TRIES, tenant.id)

const queued: Work = async (estate) => {
  const { harness } = estate
  const { now } = harness
  const simIds = estate.take(4)
  harness.now = ended(estate).endsAt - 3_600_000
  for (const simId of simIds) await send(estate, 'ask', 'POST', `/api/sims/${simId}/queue-unprovision`)
  harness.now = now
}

const deliverOutbox: Work = ({ harness }) =>
  carryOutWorkflowRequests(
    harness.store,
    {
      start: async () => ({}),
      signal: async () => ({}),
      signalWithStart: async () => ({ runId: 'run', status: 'RUNNING' }),
      look: async () => ({ runId: 'run', status: 'RUNNING' }),
    },
    {
      onRequestFailed: (_, error) => {
        throw error
      },
      onFailedRun: () => undefined,
    },
  )

const MONTH = 'from=2026-10-20T00:00:00Z&to=2026-11-20T00:00:00Z&step=PT1H'

/** By name. Each does as much in every estate. */
export const HOT: Readonly<Record<string, Work>> = {
  'a SIM by id': (estate) => get(estate, `/api/sims/${one(estate)}`),
  'a SIM by ICCID': (estate) => get(estate, `/api/sims/${estate.iccid(one(estate))}`),
  'SIMs, page 1': list('/api/sims'),
  'SIMs, a far page': (estate) => list(`/api/sims?page=${farPage(estate)}`)(estate),
  'Suspended SIMs, page 1': list('/api/sims?status=2'),
  'Active SIMs, a far page': (estate) => list(`/api/sims?status=1&page=${farPage(estate, 0.8)}`)(estate),
  'SIMs of a pool, page 2': (estate) => list(`/api/sims?page=2&poolId=${poolOf(estate)}`)(estate),
  'Suspended SIMs of a pool': (estate) => list(`/api/sims?status=2&poolId=${poolOf(estate)}`)(estate),
  'search for an ICCID': (estate) => list(`/api/sims?search=${estate.iccid(one(estate))}`)(estate),
  'search for an ICCID in groups': (estate) =>
    list(`/api/sims?search=${estate.iccid(estate.firstSim).replaceAll(/(.{4})/g, '$1%20')}`)(estate),
  'search for a tag': (estate) => list(`/api/sims?search=meter-${estate.sims - 7}`)(estate),
  'find by ICCID': (estate) => get(estate, `/internal/find?q=${estate.iccid(one(estate))}`, 'inside'),
  'find by the beginning of a tag': (estate) => get(estate, '/internal/find?q=meter-', 'inside'),
  'find by number': (estate) => get(estate, `/internal/find?q=26201${one(estate)}`, 'inside'),
  'history of a SIM': (estate) => get(estate, `/internal/sims/${one(estate)}/history`, 'inside'),
  'search for what is not there': list('/api/sims?search=nothing-like-it'),
  'search within a pool': async (estate) => {
    const [simId] = estate.take(1)
    const { iccid, poolId } = await get(estate, `/api/sims/${simId}`)
    await list(`/api/sims?search=${iccid}&poolId=${poolId}`)(estate)
  },
  'search for two characters': list('/api/sims?search=m7'),
  'a pool': (estate) => get(estate, `/api/pools/${poolOf(estate)}`),
  'pools, page 1': list('/api/pools'),
  'pools, the last page': (estate) => list(`/api/pools?page=${Math.floor(estate.pools.length / PAGE)}`)(estate),
  'the largest SIMs of a pool': (estate) => get(estate, `/internal/pools/${poolOf(estate)}/largest-sims`, 'inside'),
  'the SIMs of a pool': (estate) => list(`/api/pools/${poolOf(estate)}/sims`)(estate),
  'a ticket': async (estate) => get(estate, `/api/tickets/${await idIn(estate, 'tickets')}`),
  'all tickets': (estate) => get(estate, '/api/tickets'),
  'tickets with their failures, page 1': list('/internal/tickets', 'inside'),
  'failed tickets': list('/internal/tickets?status=3', 'inside'),
  'tickets of a type': list('/internal/tickets?type=2', 'inside'),
  'failed tickets of a type that has none': list('/internal/tickets?status=3&type=1', 'inside'),
  'tickets of a SIM': (estate) => list(`/internal/tickets?simId=${one(estate)}`, 'inside')(estate),
  'failed tickets after a page': afterPage('/internal/tickets?status=3'),
  'events, page 1': list('/api/events'),
  'events of a type': list('/api/events?type=1'),
  'an event': async (estate) => get(estate, `/api/events/${await idIn(estate, 'events')}`),
  'watchdog logs, page 1': list('/api/watchdog/logs'),
  'watchdog logs of a SIM': (estate) => list(`/api/sims/${one(estate)}/watchdog-logs`)(estate),
  'watchdog logs of a pool': (estate) => list(`/api/pools/${poolOf(estate)}/watchdog-logs`)(estate),
  'alerts, page 1': list('/internal/alerts', 'inside'),
  'alerts of a rule': list('/internal/alerts?rule=common', 'inside'),
  'alerts of a rare rule': list('/internal/alerts?rule=rare', 'inside'),
  'alerts of a SIM': (estate) => list(`/internal/alerts?simId=${one(estate)}`, 'inside')(estate),
  'acknowledged Critical alerts': list('/internal/alerts?level=2&acknowledged=true', 'inside'),
  'causes of alerts': async (estate) => get(estate, '/internal/alerts/causes', 'inside'),
  'status of the tenant': async (estate) => get(estate, '/internal/status', 'inside'),
  'an alert': async (estate) => get(estate, `/internal/alerts/${await idIn(estate, 'alerts')}`, 'inside'),
  'ended alerts': list('/internal/alerts?ended=true', 'inside'),
  'alerts after a page': afterPage('/internal/alerts'),
  'usage of a SIM over time': (estate) => get(estate, `/internal/usage?simId=${one(estate)}&${MONTH}`, 'inside'),
  'usage of a pool over time': (estate) => get(estate, `/internal/usage?poolId=${poolOf(estate)}&${MONTH}`, 'inside'),
  'usage of the tenant over time': (estate) => get(estate, `/internal/usage?${MONTH}`, 'inside'),
  'orders, page 1': list('/api/orders'),
  'tariffs, page 1': list('/api/tariffs'),
  'rules with suspended SIMs': (estate) => get(estate, '/internal/enforcement/suspending-rules', 'inside'),
  'audit trail of a SIM': (estate) => list(`/internal/audit?subject=sim&subjectId=${one(estate)}`, 'inside')(estate),
  'audit trail, page 1': list('/internal/audit', 'inside'),
  'mails, page 1': list('/internal/mails', 'inside'),
  'mails about a SIM': (estate) => list(`/internal/mails?simId=${one(estate)}`, 'inside')(estate),
  'mails of an alert': async (estate) =>
    list(`/internal/mails?alert=${await idIn(estate, 'alerts')}`, 'inside')(estate),
  'a mail': async (estate) => {
    const { data } = await get(estate, '/internal/mails?pageSize=1', 'inside')
    await get(estate, `/internal/mails/${encodeURIComponent(data[0].id)}`, 'inside')
  },
  'deliveries of usage, page 1': list('/internal/usage-deliveries', 'inside'),
  'bulk runs, page 1': list('/internal/bulk-tickets', 'inside'),
  'counts of the tenant': (estate) => get(estate, '/internal/counts', 'inside'),

  'usage, new': usage(),
  'usage, repeated': async (estate) => {
    const records = estate.take(FEW).map((simId) => record(estate, simId))
    await deliver(estate, records, { accepted: FEW })
    await deliver(estate, records, { duplicates: FEW })
  },
  'usage of the cycle before': usage((estate) => ({ at: new Date(ended(estate).endsAt - 3_600_000).toISOString() })),
  'usage of a closed cycle': usage(() => ({ at: '2026-09-20T13:00:00Z' })),
  'usage, corrected': async (estate) => {
    const simIds = estate.take(FEW)
    const records = simIds.map((simId) => record(estate, simId))
    await deliver(estate, records, { accepted: FEW })
    const corrections = simIds.map((simId) => record(estate, simId, { bytesDown: -400, correction: true }))
    await deliver(estate, corrections, { accepted: FEW })
  },
  'a look at what has changed': evaluate,
  'a pool that goes over its capacity': async (estate) => {
    const simId = estate.firstSim + 105 + 10 * (next() % 8)
    const records = Array.from({ length: 100 }, () => record(estate, simId, { bytesDown: 10 ** 12 }))
    await deliver(estate, records, { accepted: 100 })
    await evaluate(estate)
    await get(estate, `/api/sims/${simId}`)
    await list(`/api/pools/${estate.pools[1]}/sims`)(estate)
  },
  'a look at what is due': async (estate) => {
    const simIds = estate.take(FEW)
    await asTenant(estate, (tx) =>
      markDue(
        tx,
        simIds.map((id) => ({ kind: 'sim', id })),
      ),
    )
    await evaluate(estate)
  },
  'a look at all, a shard at a time': async (estate) => {
    const { harness, tenant } = estate
    await asTenant(estate, lookAtAll)
    for (let shard = 0; shard < 4; shard++)
      await sweepSubjects(harness.store, evaluationOptions(), tenant.id, { most: FEW })
    await sql`delete from watch_shards where tenant_id = ${tenant.id} and (from_id > 0 or subject_kind < 3)`.execute(
      harness.root,
    )
  },

  'a dry run of an import, with SIMs that are known by another ICCID': async (estate) => {
    const known = Array.from({ length: FEW }, (_, n) => estate.iccid(estate.firstSim + n))
    const others = known.flatMap(otherIccidsOf)
    const sims = others.map((iccid) => ({ iccid }))
    const { rejected } = await send(estate, 'inside', 'POST', '/internal/sims?dryRun=true', { sims })
    if (rejected.length < sims.length) throw new Error(`rejected ${rejected.length} of ${sims.length} SIMs`)
  },
  'a new tag': (estate) => send(estate, 'ask', 'PATCH', `/api/sims/${one(estate)}/tag`, { tag: `tag ${next()}` }),
  'tickets of single SIMs': async (estate) => {
    const [first, second] = estate.take(2)
    await send(estate, 'ask', 'POST', '/api/tickets/suspend', { simId: first })
    await send(estate, 'ask', 'POST', '/api/tickets/refresh', { simId: second })
    await execute(estate)
  },
  'tickets in bulk': async (estate) => {
    const { harness, tenant } = estate
    const { id } = await send(estate, 'inside', 'POST', '/internal/bulk-tickets', {
      type: 'suspend',
      sims: { ids: estate.take(FEW) },
    })
    await openBulkTickets(harness.store, async () => undefined, tenant.id)
    await execute(estate)
    await get(estate, `/internal/bulk-tickets/${id}`, 'inside')
    const again = { type: 'activate', sims: { run: { id, outcome: 'complete' } } }
    const { touched } = await send(estate, 'inside', 'POST', '/internal/bulk-tickets?dryRun=true', again)
    if (touched.count !== FEW) throw new Error(`touched ${touched.count} of ${FEW} SIMs`)
  },
  'a batch of SIMs to provision': async (estate) => {
    const sims = Array.from({ length: FEW }, (_, n) => ({ simId: estate.firstSim + n }))
    const asked = { sims, skipInvalid: true }
    const { id } = await send(estate, 'inside', 'POST', '/internal/workflows/provision-in-bulk', asked)
    const batch = `/internal/provision-batches/${id}`
    const open = await get(estate, `${batch}/sims?open=true`, 'inside')
    const started = open.sims.map(({ index }: { index: number }) => index)
    await send(estate, 'inside', 'POST', `${batch}/outcomes`, { started, ended: [] })
    await send(estate, 'inside', 'POST', `${batch}/end`)
    await get(estate, batch, 'inside')
  },
  'a POST repeated': async (estate) => {
    const ask = () =>
      estate.tenant.ask('POST', '/api/tickets/refresh', { simId: estate.firstSim + 1 }, { 'idempotency-key': 'again' })
    await ask()
    await ask()
  },
  'a key that is not in memory': async (estate) => {
    const { key } = await send(estate, 'inside', 'POST', '/internal/keys', { name: `key ${next()}`, scopes: ['read'] })
    await estate.harness.outside.inject({ url: '/api/tenant', headers: { authorization: `Bearer ${key}` } })
  },

  'a batch of a month end': async (estate) => {
    await queued(estate)
    const url = `/internal/cycles/${ended(estate).key}`
    const { batches } = await get(estate, `${url}/batches?kind=unassign`, 'inside')
    for (const { afterSimId, throughSimId } of batches) {
      await send(estate, 'inside', 'POST', `${url}/changes/apply`, { kind: 'unassign', afterSimId, throughSimId })
    }
    await execute(estate)
    await get(estate, `${url}/changes`, 'inside')
  },
  'the kept cost and plan of a cycle': (estate) =>
    asTenant(estate, async (tx) => {
      const { key } = running(estate)
      for (const { kind } of [COSTS, PLANS])
        await sql`
          insert into kept_answers (kind, key, answer, as_of) values (${kind}, ${key}, '{}', ${tx.now})
          on conflict do nothing`.execute(tx.q)
      await keptAnswer(tx, COSTS, key)
      await keptAnswer(tx, PLANS, key)
    }),
  'how far a month end is': (estate) => get(estate, `/internal/cycles/${ended(estate).key}/progress`, 'inside'),
  'SIMs that come back': (estate) =>
    send(estate, 'inside', 'POST', `/internal/cycles/${ended(estate).key}/suspensions/return`, {
      simIds: estate.take(FEW),
    }),

  'enforcement of a SIM': (estate) =>
    get(estate, `/internal/sims/${one(estate)}/enforcement?cycle=${running(estate).key}&rule=sim-overage`, 'inside'),
  'picks of a pool': (estate) =>
    get(
      estate,
      `/internal/pools/${estate.pools[1]}/enforcement?cycle=${running(estate).key}&rule=pool-overage`,
      'inside',
    ),
  'permits of the guard': (estate) =>
    send(estate, 'inside', 'POST', '/internal/enforcement/permits', {
      rule: 'pool-overage',
      cycle: running(estate).key,
      poolId: estate.pools[1],
      simIds: estate.take(1),
      workflowId: `enforce-pool:${estate.tenant.id}:${estate.pools[1]}:${running(estate).key}`,
    }),
  'SIMs armed': (estate) =>
    send(estate, 'inside', 'POST', '/internal/workflows/enforce-pool/arm', {
      simIds: estate.take(FEW),
      poolId: estate.pools[1],
      cycle: running(estate).key,
      rule: 'pool-overage',
      ruleFile: 'pool/pool-overage.json',
      grace: 'PT0S',
      until: 'renewal',
      signal: 'overLimit',
    }),
  'armed SIMs of a pool': (estate) =>
    get(estate, `/internal/pools/${estate.pools[1]}/armed-sims?cycle=${running(estate).key}&limit=${FEW}`, 'inside'),
  'suspensions of a rule': (estate) =>
    get(
      estate,
      '/internal/enforcement/suspensions?rule=sim-overage&since=2026-11-01T00:00:00Z&until=2026-12-01T00:00:00Z',
      'inside',
    ),

  mails: async (estate) => {
    const { harness, tenant } = estate
    await asTenant(estate, (tx) =>
      insertNotifications(
        tx,
        Array.from({ length: FEW }, () => ({ body: anAlert({ key: `hot ${next()}` }), dueAt: tx.now })),
      ),
    )
    const render = () => ({ subject: 'mail', text: '', html: '', headers: {} })
    await sendMails(harness.store, { render, ...accepting }, { retryMaxMs: 1000, giveUpAfterMs: 1000 }, tenant.id)
  },
  'the outbox': async (estate) => {
    await asTenant(estate, (tx) =>
      requestWorkflows(
        tx,
        Array.from({ length: FEW }, () => ({ do: 'signal', workflowId: `hot:${next()}`, signal: 'overLimit' })),
      ),
    )
    await deliverOutbox(estate)
  },
  'retrying activities, page 1': list('/internal/workflows/troubles', 'inside'),
  'reports on retrying activities': (estate) => {
    const at = new Date(estate.harness.now).toISOString()
    const times = { since: at, failedAt: at, nextAttemptAt: at }
    const failure = { activity: 'openTicket', attempt: 10, code: 'unavailable', detail: 'away', ...times }
    const reports = estate.take(FEW).map((simId) => ({
      workflowId: `provision-and-activate:${estate.tenant.id}:${simId}`,
      activityId: '1',
      ...failure,
    }))
    const ended = reports.slice(FEW / 2).map(({ workflowId, activityId }) => ({ workflowId, activityId }))
    return send(estate, 'inside', 'POST', '/internal/workflows/troubles', { failing: reports, ended })
  },
  'who has work': ({ harness }) =>
    inPlatform(harness.store, async (tx) => {
      await tenantsChanged(tx)
      await tenantsDue(tx)
      for (const ask of [tenantsWithMail, tenantsWithWorkflowRequests, tenantsWithTickets, tenantsWithBulkWork]) {
        await ask(tx, 100)
      }
    }),
}

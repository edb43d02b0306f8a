/**
 * A small model of the service over HTTP, for tests of workflows: SIMs, tickets, suspensions and cycles in memory, with
 * knobs for what a carrier does. Activities call it as they call the service. Tests that need the real service use
 * real-service/service.ts instead.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { WorkflowClient } from '../../../adapters/temporal/client.ts'
import { monthEndId, suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import type { SuspendOnOverageInput } from '../../../domain/temporal/suspend-on-overage.ts'
import { COMPLETE, cancelledEnd, TICKETS_ENDED } from '../../../domain/temporal/ticket-ends.ts'
import { ticketIdOfStep } from '../../../domain/tickets/ticket-id-of-step.ts'
import { exampleOf } from '../../setup/documents.ts'
import { monthEndRoutes } from '../month-end-reprovision/model.ts'
import { batchRoutes, type ModelBatchSim } from '../provision-in-bulk/batch-model.ts'
import { Accepted, type Requester, type Routes, serveModel } from './server.ts'
import {
  fail,
  type Kind,
  type ModelSim,
  type ModelTicket,
  OPEN,
  refusalOf,
  SOME_TIME,
  STATUS_AFTER,
} from './tickets.ts'

type Body = Record<string, any>

/** The guard's decision on a suspension. */
export type Permit = 'granted' | 'held' | 'discarded' | 'delayed'

export const TENANT = 'acme'
/** Pause between two rounds of the model's work on tickets, in milliseconds. */
const WORKS_EVERY_MS = 10
/** Default values of a SIM in a pool's enforcement. */
const NO_FLAGS = { stopped: false, exempt: false, weaker: false, held: false, refused: false }
const A_ROW = { usageBytes: 0, shareBytes: 0, ...NO_FLAGS }

/** What a test may set, with its default value. */
export const knobs = () => ({
  /** The only API key that is accepted. */
  key: 'key',
  /** How many suspended SIMs have been activated. */
  broughtBack: 0,
  renewals: 0,
  overLimit: true,
  mode: 2,
  exempt: false,
  /** Whether a person has ended enforcement for the cycle. */
  passedOver: false,
  /** Whether the carrier has refused the suspension since the rule began to fire. */
  refused: false,
  /** The guard's decision on each suspension. */
  permits: 'granted' as Permit | (() => Promise<Permit>),
  pool: { over: true, overageBytes: 1000, rows: [] as Body[] },
  /** How many of the next requests get status 503. */
  outages: 0,
  /** How many of the next opened or withdrawn tickets lose their response. */
  lostResponses: 0,
  /** What becomes of the signals of tickets' ends. */
  signals: 'sent' as 'sent' | 'lost' | 'twice',
  /** Awaited before a request is handled, so that a test can hold it. */
  before: async (_line: string): Promise<void> => {},
})

export async function startServiceModel(workflowClient: () => WorkflowClient) {
  const sims = new Map<number, ModelSim>()
  const tickets: ModelTicket[] = []
  const responses = new Map<string, unknown>()
  const model = {
    ...knobs(),
    /** The tenant of all SIMs. */
    tenantId: TENANT as string,
    sims,
    tickets,
    actions: [] as Body[],
    /** The watchdog's actions in a cycle, in order, as `action/counter`. */
    actionsOf: (cycle: string) =>
      model.actions.filter((a) => a['cycle'] === cycle).map((a) => `${a['action']}/${a['counter']}`),
    /** Tickets of the month end, by `kind/simId`. */
    begun: new Map<string, ModelTicket>(),
    /** Batches of changes that are refused, as `kind/afterSimId`. */
    refusedBatches: new Set<string>(),
    closed: [] as Body[],
    /** Kinds of ticket that stay Pending until removed from here. */
    pending: new Set<Kind>(),
    /** Kinds of ticket that stay Processing until removed from here. */
    processing: new Set<Kind>(),
    /** Tickets of one SIM that stay Processing, as `kind/simId`. */
    stuck: new Set<string>(),
    /** The SIMs of the only batch. */
    batch: [] as ModelBatchSim[],
    /** Failure codes of tickets that fail, by kind, or by `kind/simId` for one SIM. */
    failing: new Map<string, string>(),
    /** SIMs that pools have armed, by `pool/cycle`. */
    arms: new Map<string, Set<number>>(),
    cycles: [] as Body[],
    /** Cycles that are not open yet: their month end opens them. */
    missing: [] as Body[],
    /** Forgets the idempotency keys, as the service does after a day. */
    forgetKeys: () => responses.clear(),
    requests: [] as string[],
    calls: (path: string) => model.requests.filter((request) => request.includes(path)).length,
    ticketsOf: (simId: number) => tickets.filter((t) => t.simId === simId).map((t) => `${t.kind}:${t.status}`),
    url: '',
    /** @throws Error if a request or a response differed from the OpenAPI documents */
    close: async (): Promise<void> => {},
  }

  const simOf = (id: number) => sims.get(id) ?? fail('sim_not_found', `no SIM ${id}`)
  const ticketOf = (id: string) => tickets.find((t) => t.id === id) ?? fail('ticket_not_found', id)

  function open(kind: Kind, body: Body, id: string = randomUUID()): { id: string } {
    const sim = simOf(body['simId'])
    // A repeated step gets its first ticket, whatever its status.
    if (tickets.some((ticket) => ticket.id === id)) return { id }
    const before = openTicketsOf(body['simId'])
    const status = before.reduce((now, ticket) => STATUS_AFTER[ticket.kind](now), sim.status)
    const refusal = refusalOf(kind, status, body)
    if (refusal !== null) fail(refusal, `SIM ${body['simId']} is ${status}`)
    const ticket: ModelTicket = { id, kind, simId: body['simId'], status: 0, failureCode: null, body }
    tickets.push(ticket)
    return { id: ticket.id }
  }

  const openTicketsOf = (simId: number) => tickets.filter((t) => t.simId === simId && OPEN.has(t.status))

  /** Works on a ticket if it is the first of its SIM's queue. Reading a ticket does that too. */
  function advance(ticket: ModelTicket): void {
    if (!OPEN.has(ticket.status) || model.pending.has(ticket.kind)) return
    if (openTicketsOf(ticket.simId)[0] !== ticket) return
    ticket.status = 1
    if (model.processing.has(ticket.kind) || model.stuck.has(`${ticket.kind}/${ticket.simId}`)) return
    const sim = simOf(ticket.simId)
    const code =
      refusalOf(ticket.kind, sim.status, ticket.body) ??
      model.failing.get(`${ticket.kind}/${ticket.simId}`) ??
      model.failing.get(ticket.kind)
    ticket.status = code === undefined ? 2 : 3
    ticket.failureCode = code ?? null
    if (code === undefined) apply(ticket, sim)
    tellEnd(ticket)
  }

  /** Signals the end of a ticket to the workflow that opened it, as the service's outbox does. */
  function tellEnd({ id: ticketId, status, failureCode, body }: ModelTicket): void {
    const workflowId = body['cause']?.workflowId
    if (workflowId === undefined || model.signals === 'lost') return
    const end =
      status === 2
        ? COMPLETE
        : status === 4
          ? cancelledEnd(ticketId)
          : { status: 'failed', code: failureCode, detail: 'the carrier said no' }
    const times = model.signals === 'twice' ? 2 : 1
    for (let time = 0; time < times; time += 1) {
      // The workflow may have ended.
      workflowClient()
        .signal(workflowId, TICKETS_ENDED, [[{ ticketId, ...end }]])
        .catch(() => undefined)
    }
  }

  function apply({ kind, body }: ModelTicket, sim: ModelSim): void {
    if (kind === 'provision') {
      Object.assign(sim, { poolId: body['poolId'] ?? sim.poolId, tariffId: body['tariffId'] ?? sim.tariffId })
      if (sim.status === 0) sim.status = 2
      else sim.change = null
    } else if (kind === 'activate') {
      if (sim.suspension !== null) model.broughtBack += 1
      Object.assign(sim, { status: 1, suspension: null })
    } else if (kind === 'unassign') {
      Object.assign(sim, { status: 0, poolId: null, tariffId: null, change: null, suspension: null })
    } else {
      const { by = 'user', workflowId = null, until = 'manual' } = body['cause'] ?? {}
      const cause = by === 'watchdog' ? 'watchdog' : 'user'
      Object.assign(sim, { status: 2, suspension: { cause, workflowId, until } })
    }
  }

  const TYPE = { activate: 0, suspend: 1, provision: 2, unassign: 2 } as const
  const shown = ({ id, simId, kind, status, body }: ModelTicket) => ({
    id,
    simId,
    type: TYPE[kind],
    status,
    created: SOME_TIME,
    provisioningInfo:
      TYPE[kind] < 2
        ? null
        : {
            pendingPoolId: body['poolId'] ?? null,
            pendingTariffId: body['tariffId'] ?? null,
            pendingUnassign: kind === 'unassign',
            pendingTag: body['tag'] ?? null,
          },
  })
  const pageOf = (query: URLSearchParams, has: (sim: ModelSim) => boolean) => {
    const rest = [...sims]
      .filter(([id, sim]) => id > Number(query.get('afterSimId')) && has(sim))
      .filter(([id]) => id <= Number(query.get('throughSimId') ?? Number.MAX_SAFE_INTEGER))
      .sort(([a], [b]) => a - b)
    const page = rest.slice(0, Number(query.get('limit')))
    return { page, nextAfterSimId: rest.length > page.length ? (page.at(-1)?.[0] ?? null) : null, total: rest.length }
  }

  const stepId = ({ key }: Requester) => (key === undefined ? undefined : ticketIdOfStep(model.tenantId, key))
  /** A ticket's cause as the service records it. That of a suspension comes from its workflow's input. */
  async function causeOf(workflowId: string | undefined): Promise<Body> {
    if (workflowId?.startsWith('suspend-on-overage:') !== true) return { by: 'workflow', workflowId }
    const { rule, cycleKey: cycle, until } = (await workflowClient().describe(workflowId, model.tenantId)).input as Body
    return { by: 'watchdog', rule, cycle, until, workflowId }
  }

  const routes: Routes = {
    ...batchRoutes(model.batch),
    ...monthEndRoutes(model, { simOf, ticketOf, open, advance, pageOf }),
    'GET /api/sims/*': ([id]) => {
      const { status, poolId, tariffId } = simOf(Number(id))
      const processingTicket = tickets.some((t) => t.simId === Number(id) && OPEN.has(t.status))
      return { ...exampleOf('getSim'), id: Number(id), status, poolId, tariffId, processingTicket }
    },
    'GET /api/tickets/*': ([id]) => {
      const ticket = ticketOf(id)
      advance(ticket)
      return shown(ticket)
    },
    'DELETE /api/tickets/*': ([id], _, __, { workflowId }) => {
      const ticket = ticketOf(id)
      if (ticket.status === 4 && ticket.withdrawnBy === workflowId) return shown(ticket)
      if (ticket.status !== 0) fail('ticket_not_pending', 'too late')
      Object.assign(ticket, { status: 4, withdrawnBy: workflowId })
      tellEnd(ticket)
      return shown(ticket)
    },
    'GET /internal/tickets/*': ([id]) => {
      const ticket = ticketOf(id)
      const failed = { attempts: 3, failureCode: ticket.failureCode, failureText: 'the carrier said no' }
      return { ...exampleOf('getTicketDetail'), ...shown(ticket), ...failed }
    },
    'POST /api/tickets/*': async ([kind], body, _, by) =>
      open(kind as Kind, { ...body, cause: await causeOf(by.workflowId) }, stepId(by)),
    'POST /internal/tickets/*': async ([kind], body, _, by) =>
      open(kind as Kind, { ...body, cause: await causeOf(by.workflowId) }, stepId(by)),
    'PATCH /api/sims/*/tag': ([id], { tag }) => {
      simOf(Number(id)).tag = tag
      return { id: Number(id) }
    },
    'GET /internal/sims/*/enforcement': ([id]) => {
      const open = tickets.filter((t) => t.simId === Number(id) && OPEN.has(t.status))
      for (const ticket of open) advance(ticket)
      const { status, poolId, suspension } = simOf(Number(id))
      const { overLimit, mode, exempt, passedOver, refused } = model
      return {
        simId: Number(id),
        iccid: '8999900000000000017',
        status,
        poolId,
        processing: open.some((ticket) => OPEN.has(ticket.status)),
        overLimit,
        mode,
        exempt,
        enforcementEnabled: true,
        passedOver,
        refused,
        suspension: suspension && { rule: null, cycle: null, openedAt: SOME_TIME, ...suspension },
      }
    },
    'POST /internal/enforcement/permits': async (_, { simIds }) => {
      const permit = typeof model.permits === 'string' ? model.permits : await model.permits()
      const none = { granted: [], held: [], discarded: [], delayed: [] }
      return { ...none, [permit]: simIds, holdId: permit === 'held' ? 7 : null }
    },
    'PATCH /internal/sims/*/suspension': ([id], { until, workflowId }) => {
      const { suspension } = simOf(Number(id))
      if (suspension === null || suspension.workflowId !== workflowId) {
        return fail('sim_state_conflict', `not suspended by ${workflowId}`)
      }
      suspension.until = until
      return { id: Number(id) }
    },
    'GET /api/pools/*': ([id]) => ({ ...exampleOf('getPool'), id: Number(id), watchdogMode: model.mode }),
    'GET /internal/pools/*/enforcement': ([id], _, query) => {
      const rows = model.pool.rows.map((row) => ({ ...A_ROW, ...row }))
      const armed = model.arms.get(`${id}/${query.get('cycle')}`)?.size ?? 0
      const none = { stoppedExcessBytes: 0, passedOver: 0, armed }
      return { poolId: Number(id), enforcementEnabled: true, ...none, ...model.pool, rows }
    },
    'GET /internal/pools/*/armed-sims': ([id], _, query) => {
      const [after, limit] = [Number(query.get('afterSimId')), Number(query.get('limit'))]
      const armed = [...(model.arms.get(`${id}/${query.get('cycle')}`) ?? [])].sort((a, b) => a - b)
      const simIds = armed.filter((simId) => simId > after).slice(0, limit)
      return { simIds, nextAfterSimId: simIds.length === limit ? (simIds.at(-1) ?? null) : null }
    },
    'POST /internal/watchdog/actions': (_, body) => {
      model.actions.push(body)
      return { logged: true }
    },
    'POST /internal/workflows/enforce-pool/arm': async (
      _,
      { simIds, poolId, cycle, rule, ruleFile, grace, until, signal },
    ) => {
      const key = `${poolId}/${cycle}`
      const arms = model.arms.get(key) ?? new Set<number>()
      const before = arms.size
      if (signal === 'overLimit' && poolId != null) {
        model.arms.set(key, arms)
        for (const simId of simIds) arms.add(simId)
      }
      const cycleEndsAt = model.cycles[0]?.['endsAt']
      for (const simId of simIds) {
        const start = aSuspension(simId, cycle, { cycleEndsAt, rule, ruleFile, grace, until })
        await (signal === 'overLimit'
          ? workflowClient().signalWithStart(start)
          : workflowClient().signal(start.workflowId, signal))
      }
      return { told: simIds.length, started: 0, armed: arms.size - before }
    },
    'POST /internal/workflows/month-end-reprovision': (_, { cycle }) => {
      const row = [...model.cycles, ...model.missing].find(({ key }) => key === cycle) ?? fail('cycle_not_found', cycle)
      const workflowId = monthEndId(TENANT, cycle)
      const times = { cycleKey: cycle, cycleEndsAt: row['endsAt'], closeAfter: 'PT0S' }
      const input = { tenantId: TENANT, ...times, pageSize: 2, parallel: 2, perRun: 100 }
      return workflowClient()
        .start({ type: 'month-end-reprovision', workflowId, input })
        .then(({ started, ...run }) => (started ? new Accepted(run) : run))
    },
    'GET /internal/enforcement/suspensions': (_, __, query) => {
      const { page, nextAfterSimId, total } = pageOf(query, (sim) => sim.suspension?.cause === 'watchdog')
      const suspensions = page.map(([simId, { suspension }]) => ({
        simId,
        workflowId: suspension?.workflowId ?? `suspend-on-overage:${TENANT}:${simId}:gone`,
        suspended: true,
      }))
      return { suspensions, nextAfterSimId, total }
    },
    'POST /internal/enforcement/pass-over': (_, { simIds }) => ({ passedOver: simIds.length }),
    'POST /internal/workflows/*/updates/*': ([id, name], body) =>
      workflowClient().update(decodeURIComponent(id), name, body, randomUUID()),
    'POST /internal/workflows/*/signals/*': async ([id, name]) => {
      await workflowClient().signal(decodeURIComponent(id), name)
      return new Accepted({})
    },
    'POST /internal/workflows/troubles': () => ({}),
    'GET /internal/workflows/*': async ([id]) => {
      const { startId: _startId, ...run } = await workflowClient().describe(decodeURIComponent(id), TENANT)
      return run
    },
  }

  const patterns = Object.entries(routes).map(
    ([route, handle]) => [new RegExp(`^${route.replaceAll('*', '([^/]+)')}$`), handle] as const,
  )

  async function respond(request: IncomingMessage, text: string): Promise<unknown> {
    const url = new URL(request.url ?? '', 'http://model')
    const line = `${request.method} ${url.pathname}`
    model.requests.push(line)
    if (request.headers.authorization !== `Bearer ${model.key}` || request.headers['x-tenant-id'] !== model.tenantId)
      fail('unauthorized', '')
    if (model.outages > 0) {
      model.outages -= 1
      fail('unavailable', 'away for a moment')
    }
    await model.before(line)
    const key = request.headers['idempotency-key']
    if (typeof key === 'string' && responses.has(key)) return responses.get(key)
    for (const [pattern, handle] of patterns) {
      const found = pattern.exec(line)
      if (found === null) continue
      const requester = request.headers['simherd-workflow']
      const workflowId = requester === undefined ? undefined : decodeURI(String(requester))
      const by = { workflowId, key: typeof key === 'string' ? key : undefined }
      const result = await handle(
        found.slice(1) as [string, string],
        text === '' ? {} : JSON.parse(text),
        url.searchParams,
        by,
      )
      if (typeof key === 'string') responses.set(key, result)
      if (model.lostResponses > 0 && /^(POST|DELETE) .*\/tickets\//.test(line)) {
        model.lostResponses -= 1
        fail('unavailable', 'done, but the response is lost')
      }
      return result
    }
    return fail('not_found', line)
  }

  const server = await serveModel(respond)
  // Works as the service's worker does, whoever looks.
  const work = setInterval(() => {
    for (const ticket of tickets.filter(({ status }) => OPEN.has(status))) advance(ticket)
  }, WORKS_EVERY_MS)
  const close = async () => {
    clearInterval(work)
    await server.close()
  }
  Object.assign(model, server, { close })
  return model
}
export type ServiceModel = Awaited<ReturnType<typeof startServiceModel>>

/** A valid SIM: Active, with a pool and a tariff. */
export const aSim = (sim: Partial<ModelSim> = {}): ModelSim => ({
  status: 1,
  poolId: 7,
  tariffId: 3,
  suspension: null,
  change: null,
  ...sim,
})

/** A SIM that a person has suspended. */
export const aSimOfPerson = () => aSim({ status: 2, suspension: { cause: 'user', workflowId: null, until: 'manual' } })

/** The start of a suspension by an overage. Its cycle ends in an hour. */
export const aSuspension = (simId: number, cycleKey: string, more: Partial<SuspendOnOverageInput> = {}) => {
  const cycleEndsAt = new Date(Date.now() + 3_600_000).toISOString()
  const rule = { rule: 'r', ruleFile: 'r.json', grace: 'PT0S', until: 'renewal' } as const
  const input: SuspendOnOverageInput = { tenantId: TENANT, simId, cycleKey, cycleEndsAt, ...rule, ...more }
  const workflowId = suspendOnOverageId(input.tenantId, simId, cycleKey)
  return { do: 'signalWithStart', type: 'suspend-on-overage', workflowId, input, signal: 'overLimit' } as const
}

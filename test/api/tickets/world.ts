/** A tenant and its model: both get each request, and then the API must show the SIMs and tickets of the model. */
import { expect } from 'vitest'
import type { Network } from '../../../adapters/carrier/network.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import type { aBridge } from '../../setup/bridge.ts'
import { withOnlySim } from '../../setup/only-sim.ts'
import { anIccid, aPool, aTariff, aTenant, type Harness, type Tenant } from '../harness.ts'
import {
  type CarrierResponse,
  conflictOf,
  dropIdle,
  execution,
  isOpen,
  type Kind,
  type LineState,
  OPTIONS,
  opened,
  openTickets,
  type SimModel,
  stateAfter,
  TICKET,
  typeOf,
  unprovisioned,
  type WantedTicket,
} from './model.ts'

export interface Model {
  readonly sims: readonly SimModel[]
  /** Ids in the order of opening, over all SIMs. */
  readonly order: string[]
}
export interface Real {
  readonly harness: Harness
  readonly bridge: Awaited<ReturnType<typeof aBridge>>
  readonly tenant: Tenant
  /** By number: none, two Standard pools, one that does not exist. */
  readonly poolIds: readonly (number | null)[]
  /** By number: none, two Standard tariffs, one for Dynamic pools, one that does not exist. */
  readonly tariffIds: readonly (number | null)[]
}

export const NONE = 0
const DYNAMIC = 3
const UNKNOWN_ID = 2_000_000_000
const BEGIN = Date.UTC(2026, 10, 20, 12)
/** A cycle boundary before every history. */
const BOUNDARY = '2026-11-01T00:00:00.000Z'

/** A tenant with SIMs: the first is unprovisioned, the others are Active, as most requests need them. */
export async function aWorld(
  harness: Harness,
  bridge: Real['bridge'],
  count: number,
): Promise<{ model: Model; real: Real }> {
  harness.now = BEGIN
  const tenant = await aTenant(harness, 'Meadow')
  const tariffs = [await aTariff(tenant, 0), await aTariff(tenant, 0), await aTariff(tenant, 1)]
  const pools = [await aPool(tenant, { tariffId: tariffs[0] }), await aPool(tenant, { tariffId: tariffs[1] })]
  const lines = Array.from({ length: count }, () => ({ iccid: anIccid() }))
  const { body } = await tenant.inside('POST', '/internal/sims', { sims: lines })
  const sims: SimModel[] = body.created.map(({ id }: { id: number }) => ({ id, state: unprovisioned, tickets: [] }))
  const model = { sims, order: [] }
  const among = (ids: readonly number[]) => [null, ...ids, UNKNOWN_ID]
  const real = { harness, bridge, tenant, poolIds: among(pools), tariffIds: among(tariffs) }
  for (const sim of sims.slice(1)) {
    await open(model, real, sim, { ...plain, kind: 'provision', pool: 1 })
    await open(model, real, sim, { ...plain, kind: 'activate' })
    await workOff(model, real, sim, [], [])
  }
  return { model, real }
}

/** A ticket to open; pool and tariff by number. */
export interface Ask {
  readonly kind: Kind
  readonly by: WantedTicket['by']
  readonly pool: number
  readonly tariff: number
  readonly tag: string | null
  readonly atBoundary: boolean
}

export const plain = { by: 'user', pool: NONE, tariff: NONE, tag: null, atBoundary: false } as const

const watchdog = { by: 'watchdog', rule: 'r', cycle: '2026-11', until: 'renewal', workflowId: 'w' }
const monthEnd = { by: 'month-end', cycle: '2026-10' }

export function send({ tenant, poolIds, tariffIds }: Real, simId: number, ask: Ask) {
  const [poolId, tariffId] = [poolIds[ask.pool], tariffIds[ask.tariff]]
  const effectiveAt = ask.atBoundary ? BOUNDARY : null
  switch (ask.kind) {
    case 'activate':
    case 'refresh':
      return tenant.ask('POST', `/api/tickets/${ask.kind}`, { simId })
    case 'sms':
      return tenant.ask('POST', '/api/tickets/send-sms', { simId, message: 'moo' })
    case 'suspend':
      if (ask.by === 'user') return tenant.ask('POST', '/api/tickets/suspend', { simId })
      return tenant.inside('POST', '/internal/tickets/suspend', { simId, cause: watchdog })
    case 'provision':
      if (ask.tag === null) return tenant.ask('POST', '/api/tickets/provision', { simId, poolId, tariffId })
      return tenant.inside('POST', '/internal/tickets/provision', { simId, poolId, tariffId, tag: ask.tag })
    case 'move': {
      const body = { simId, poolId, tariffId, tag: ask.tag, cause: monthEnd, effectiveAt }
      return tenant.inside('POST', '/internal/tickets/provision', body)
    }
    case 'unassign': {
      const cause = ask.by === 'month-end' ? { cause: monthEnd, effectiveAt } : {}
      return tenant.inside('POST', '/internal/tickets/unassign', { simId, ...cause })
    }
  }
}

const assigns = (ask: Ask) => ask.kind === 'provision' || ask.kind === 'move'

/** The expected response to opening a ticket. */
export function answerTo(
  real: Real,
  sim: SimModel,
  ask: Ask,
): { wanted: WantedTicket; status: number; code: string | null } {
  const wanted: WantedTicket = {
    kind: ask.kind,
    by: ask.kind === 'move' ? 'month-end' : ask.kind === 'suspend' || ask.kind === 'unassign' ? ask.by : 'user',
    poolId: assigns(ask) ? (real.poolIds[ask.pool] ?? null) : null,
    tariffId: assigns(ask) ? (real.tariffIds[ask.tariff] ?? null) : null,
    tag: assigns(ask) ? ask.tag : null,
    atBoundary: ask.atBoundary,
  }
  const conflict = conflictOf(sim, wanted)
  if (conflict !== null) return { wanted, status: 409, code: conflict }
  const poolAfter = wanted.poolId ?? stateAfter(sim).poolId
  return { wanted, ...assignmentFault(real, wanted, poolAfter) }
}

function assignmentFault(real: Real, wanted: Pick<WantedTicket, 'poolId' | 'tariffId'>, poolAfter: number | null) {
  if (wanted.poolId === UNKNOWN_ID) return { status: 404, code: 'pool_not_found' }
  if (wanted.tariffId === UNKNOWN_ID) return { status: 404, code: 'tariff_not_found' }
  if (wanted.tariffId !== null && wanted.tariffId === real.tariffIds[DYNAMIC] && poolAfter === null) {
    return { status: 422, code: 'tariff_needs_pool' }
  }
  return { status: 200, code: null }
}

export async function open(model: Model, real: Real, sim: SimModel, ask: Ask): Promise<void> {
  const { wanted, status, code } = answerTo(real, sim, ask)
  const answer = await send(real, sim.id, ask)
  const got = { status: answer.status, code: answer.body.code ?? null }
  expect(got, `${ask.kind} on SIM ${sim.id}`).toEqual({ status, code })
  if (status !== 200) return
  opened(sim, wanted, answer.body.id, real.harness.now)
  model.order.push(answer.body.id)
}

export async function cancel(model: Model, real: Real, which: number): Promise<void> {
  const id = model.order[which % Math.max(1, model.order.length)]
  if (id === undefined) return
  const ticket = model.sims.flatMap(({ tickets }) => tickets).find((one) => one.id === id)
  const pending = ticket?.status === TICKET.pending
  const answer = await real.tenant.ask('DELETE', `/api/tickets/${id}`)
  expect({ status: answer.status, got: pending ? answer.body.status : answer.body.code }, `cancel ${id}`).toEqual(
    pending ? { status: 200, got: TICKET.cancelled } : { status: 409, got: 'ticket_not_pending' },
  )
  if (!pending) return
  ticket.status = TICKET.cancelled
  const sim = model.sims.find(({ tickets }) => tickets.includes(ticket))
  if (sim !== undefined) dropIdle(sim)
}

class Killed extends Error {}

/** Executes the tickets of one SIM. @param workers how many do that at once */
export const execute = (
  { harness: { store }, bridge, tenant }: Real,
  simId: number,
  { network = bridge.network, workers = 1 }: { readonly network?: Network; readonly workers?: number } = {},
) =>
  withOnlySim(store, tenant.id, simId, async () => {
    const atWork = Array.from({ length: workers }, () => executeTickets(store, network, OPTIONS, tenant.id))
    await Promise.all(atWork).catch((error) => {
      if (!(error instanceof Killed)) throw error
    })
  })

/** Expects the interface to show the SIMs and tickets of the model. */
export async function compare(model: Model, { tenant }: Real): Promise<void> {
  const [sims, tickets] = [await tenant.ask('GET', '/api/sims'), await tenant.ask('GET', '/api/tickets')]
  expect(sims.body.data, 'the SIMs').toMatchObject(
    model.sims.map((sim) => {
      const { status, poolId, tariffId, tag, pending } = sim.state
      const open = openTickets(sim).length
      return {
        id: sim.id,
        status,
        poolId,
        tariffId,
        tag,
        pendingPoolId: pending?.poolId ?? null,
        pendingTariffId: pending?.tariffId ?? null,
        pendingUnassign: pending?.unassign ?? false,
        processingTicket: open > 0,
        processingTicketCount: open,
      }
    }),
  )
  const known = new Map(
    model.sims.flatMap((sim) => sim.tickets.map((ticket) => [ticket.id, { ticket, simId: sim.id }])),
  )
  expect(tickets.body, 'the tickets, newest first').toMatchObject(
    model.order.toReversed().map((id) => {
      const one = known.get(id)
      return { id, simId: one?.simId, type: one && typeOf(one.ticket.kind), status: one?.ticket.status }
    }),
  )
}

export type Meanwhile = (model: Model, real: Real, sim: SimModel) => Promise<void>

/** Executes a SIM's tickets. The carrier gives these responses, then `ok`. `meanwhile` runs in its first request. */
export async function workOff(
  model: Model,
  real: Real,
  sim: SimModel,
  answers: readonly CarrierResponse[],
  meanwhile: readonly Meanwhile[],
): Promise<void> {
  const left = { answers: [...answers], meanwhile: [...meanwhile] }
  const running = execution(sim, real.harness.now)
  let expected = running.next()
  let wrong: unknown
  const network: Network = {
    ...real.bridge.network,
    perform: async (request, options) => {
      const answer = left.answers.shift() ?? 'ok'
      try {
        expect(request.ticketId, 'the ticket the carrier is asked for').toBe(expected.value?.id)
        for (const act of left.meanwhile.splice(0)) await act(model, real, sim)
        await compare(model, real)
        // Another worker finds the SIM claimed, and does nothing.
        await execute(real, sim.id)
      } catch (error) {
        wrong ??= error
      }
      expected = running.next(answer)
      if (answer === 'killed') throw new Killed('the process was killed here')
      real.bridge.answer = () => answer
      return real.bridge.network.perform(request, options)
    },
  }
  await execute(real, sim.id, { network })
  if (wrong !== undefined) throw wrong
  expect(expected.done, `the carrier was to be asked for ${expected.value?.id}`).toBe(true)
}

/** Queues a change for the end of the cycle. */
export async function queue(
  real: Real,
  sim: SimModel,
  to: { readonly pool: number; readonly tariff: number } | 'unprovision',
): Promise<void> {
  const { pending } = sim.state
  const { status, poolId } = stateAfter(sim)
  const set = (next: LineState['pending']) => {
    sim.state = { ...sim.state, pending: next }
  }
  const path = `/api/sims/${sim.id}/queue-${to === 'unprovision' ? 'unprovision' : 'reprovision'}`
  const body = to === 'unprovision' ? undefined : { poolId: real.poolIds[to.pool], tariffId: real.tariffIds[to.tariff] }
  const answer = await real.tenant.ask('POST', path, body)
  const got = { status: answer.status, code: answer.body.code ?? null }
  if (status === 0) return expect(got, path).toEqual({ status: 409, code: 'sim_state_conflict' })
  if (body === undefined) {
    expect(got, path).toEqual({ status: 200, code: null })
    return set({ poolId: null, tariffId: null, unassign: true })
  }
  const nothing = body.poolId === null && body.tariffId === null
  const [poolNext, tariffNext] = [body.poolId ?? pending?.poolId, body.tariffId ?? pending?.tariffId]
  const next = { poolId: poolNext ?? null, tariffId: tariffNext ?? null }
  const expected = nothing ? { status: 200, code: null } : assignmentFault(real, next, next.poolId ?? poolId)
  expect(got, path).toEqual(expected)
  if (expected.status === 200 && !nothing) set({ ...next, unassign: false })
}

export async function tag({ tenant }: Real, sim: SimModel, label: string): Promise<void> {
  expect((await tenant.ask('PATCH', `/api/sims/${sim.id}/tag`, { tag: label })).status).toBe(200)
  sim.state = { ...sim.state, tag: label }
}

/** Compares failure codes of tickets and the number of requests to the carrier. */
export async function compareDetails(model: Model, { tenant }: Real): Promise<void> {
  for (const ticket of model.sims.flatMap(({ tickets }) => tickets)) {
    const { body } = await tenant.inside('GET', `/internal/tickets/${ticket.id}`)
    const { status, attempts, failure } = ticket
    expect(body, `ticket ${ticket.id}: ${ticket.kind}`).toMatchObject({ status, attempts, failureCode: failure })
    expect(body.finishedAt === null, `ticket ${ticket.id} has an end when it has ended`).toBe(isOpen(ticket))
  }
}

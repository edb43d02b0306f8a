/** Activities that take a SIM from Unprovisioned to Active, a ticket at a time. */
import { ApplicationFailure } from '@temporalio/activity'
import { labelOf, SimStatus } from '../domain/codes.ts'
import type { Waits } from '../domain/temporal/waits.ts'
import { bodyOf, type ServiceClient } from './client.ts'
import { lookAtTicket, postTicket, STATE_CODES, type TicketEnd, ticketOfStep } from './tickets.ts'
import { poll } from './waits.ts'

/** A SIM as this workflow sees it. */
export interface SimNow {
  readonly simId: number
  readonly status: string
  readonly poolId: number | null
  readonly tariffId: number | null
  /** Who suspended it; null where it is not Suspended, or was not activated since it was provisioned. */
  readonly suspendedBy: 'user' | 'watchdog' | null
  /** Whether a ticket of it has not ended: then it may be another in a moment. */
  readonly unsettled: boolean
}

export interface NextInput {
  readonly tenantId: string
  readonly simId: number
  /** `activate`: the run itself has provisioned the SIM. */
  readonly from: 'provision' | 'activate'
  /** Idempotency keys of the two steps. */
  readonly keys: { readonly provision: string; readonly activate: string }
  readonly poolId?: number
  readonly tariffId?: number
  readonly tag?: string
}

/** Why a step cannot be: a code of the service, and the same in words. */
export interface StepRefusal {
  readonly step: 'check' | 'provision' | 'activate'
  readonly code: string
  readonly detail: string
}
/** A ticket is under way, the SIM is Active there, tickets of others have to end first, or it cannot be. */
export type NextResult =
  | { readonly do: 'wait'; readonly kind: 'provision' | 'activate'; readonly ticketId: string }
  | { readonly do: 'stay' }
  | { readonly do: 'later' }
  | { readonly do: 'refuse'; readonly refusal: StepRefusal }

async function readSim(client: ServiceClient, simId: number): Promise<SimNow> {
  const path = { idOrIccid: String(simId) }
  const sim = await bodyOf(client.api.GET('/api/sims/{idOrIccid}', { params: { path } }))
  return {
    simId,
    status: labelOf(SimStatus, sim.status),
    poolId: sim.poolId,
    tariffId: sim.tariffId,
    suspendedBy: sim.status === SimStatus.Suspended ? await suspenderOf(client, simId) : null,
    unsettled: sim.processingTicket,
  }
}

async function suspenderOf({ internal }: ServiceClient, simId: number): Promise<SimNow['suspendedBy']> {
  const params = { path: { id: simId } }
  const { suspension } = await bodyOf(internal.GET('/internal/sims/{id}/enforcement', { params }))
  return suspension?.cause ?? null
}

/** Why a provisioned SIM cannot be taken to Active; null where it can, or is. Pure. */
function refusalOf({ poolId, tariffId }: Pick<NextInput, 'poolId' | 'tariffId'>, sim: SimNow): StepRefusal | null {
  const place = (pool: number | null, tariff: number | null) => `pool ${pool ?? 'none'}, tariff ${tariff ?? 'none'}`
  const [asked, there] = [place(poolId ?? null, tariffId ?? null), place(sim.poolId, sim.tariffId)]
  if (asked !== there) {
    const detail = `SIM ${sim.simId} is ${sim.status} elsewhere: ${there}; asked for: ${asked}`
    return { step: 'check', code: 'sim_already_assigned', detail }
  }
  if (sim.suspendedBy === null) return null
  const detail = `SIM ${sim.simId} was suspended by the ${sim.suspendedBy}; activate it by a ticket`
  return { step: 'check', code: 'sim_state_conflict', detail }
}

async function setTag({ api }: ServiceClient, simId: number, tag: string): Promise<void> {
  await bodyOf(api.PATCH('/api/sims/{id}/tag', { params: { path: { id: simId } }, body: { tag } }))
}

type Opened = { readonly ticketId: string } | StepRefusal

/** Opens a ticket; what the service refuses for good is an answer. */
async function open(client: ServiceClient, kind: 'provision' | 'activate', ask: NextInput): Promise<Opened> {
  const { tenantId, simId, keys, poolId, tariffId, tag } = ask
  const place = { ...(poolId === undefined ? {} : { poolId }), ...(tariffId === undefined ? {} : { tariffId }) }
  try {
    const ticket = { tenantId, kind, simId, key: keys[kind], ...(kind === 'provision' ? place : {}) }
    // With the activation: a SIM that could not be provisioned keeps the tag it had. Once: it may have another since.
    if (kind === 'activate' && tag !== undefined && (await ticketOfStep(client, ticket)) === undefined) {
      await setTag(client, simId, tag)
    }
    return { ticketId: (await postTicket(client, ticket)).id }
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) throw error
    return { step: kind, code: error.type ?? 'internal_error', detail: error.message }
  }
}

const refuse = (refusal: StepRefusal): NextResult => ({ do: 'refuse', refusal })

/** What a SIM that is not Unprovisioned, or has open tickets, needs; undefined: it can be activated. */
function decideNext(ask: NextInput, sim: SimNow): NextResult | undefined {
  if (sim.status === 'Unprovisioned') {
    const detail = `SIM ${sim.simId} was unprovisioned by somebody else since`
    if (sim.unsettled || ask.from === 'provision') return { do: 'later' }
    return refuse({ step: 'activate', code: 'sim_state_conflict', detail })
  }
  const refusal = refusalOf(ask, sim)
  if (refusal !== null) return sim.unsettled ? { do: 'later' } : refuse(refusal)
  // Behind a ticket that is about to suspend it, an activation would undo what somebody has just asked for.
  if (sim.status === 'Active') return { do: sim.unsettled ? 'later' : 'stay' }
  return undefined
}

export interface ActivationInput {
  readonly tenantId: string
  readonly simId: number
  readonly ticketId: string
  readonly waits: Waits
}

export const provisionActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /**
   * Opens the ticket that takes a SIM on its way to Active: provision, or activate where it was not activated since.
   *
   * Asks for the ticket first and looks at the SIM where that is refused: one request on the normal path, and the
   * service itself validates. Safe to run twice, however late: each of the two steps has one ticket.
   *
   * @throws ApplicationFailure `sim_not_found`, not retried
   */
  async openNextTicket(ask: NextInput): Promise<NextResult> {
    const client = clientOf(ask.tenantId)
    const first = await open(client, ask.from, ask)
    if ('ticketId' in first) return { do: 'wait', kind: ask.from, ticketId: first.ticketId }
    if (!STATE_CODES.has(first.code)) return refuse(first)
    const answer = decideNext(ask, await readSim(client, ask.simId))
    if (answer !== undefined) return answer
    const second = await open(client, 'activate', ask)
    if ('ticketId' in second) return { do: 'wait', kind: 'activate', ticketId: second.ticketId }
    // Another activation is under way, or its end has come in between.
    return STATE_CODES.has(second.code) ? { do: 'later' } : refuse(second)
  },

  /** Waits until an activate ticket is final, however long that takes; then reads the SIM back, where it completed. */
  async awaitActivation(ask: ActivationInput): Promise<{ readonly end: TicketEnd; readonly sim: SimNow | null }> {
    const client = clientOf(ask.tenantId)
    const end = await poll(ask.waits, () => lookAtTicket(client, ask.ticketId))
    return { end, sim: end.status === 'complete' ? await readSim(client, ask.simId) : null }
  },
})

/** Activities that take a SIM from Unprovisioned to Active, one ticket at a time. */
import { labelOf, SimStatus } from '../domain/codes.ts'
import type { ProvisionAndActivateInput } from '../domain/temporal/provision-and-activate.ts'
import { bodyOf, finalRefusal, type ServiceClient } from './client.ts'
import { postTicket, STATE_CODES, ticketOfStep } from './tickets.ts'

/** A SIM, as provision-and-activate sees it. */
export interface SimNow {
  readonly simId: number
  readonly status: string
  readonly poolId: number | null
  readonly tariffId: number | null
  /** The origin of its suspension; null if it is not Suspended, or was not activated since it was provisioned. */
  readonly suspendedBy: 'user' | 'watchdog' | null
  /** Whether the SIM has an open ticket: then its state may change in a moment. */
  readonly unsettled: boolean
}

export interface NextInput extends Omit<ProvisionAndActivateInput, 'batchId'> {
  /** `activate` if the run itself has provisioned the SIM. */
  readonly from: 'provision' | 'activate'
  /** Idempotency keys of the two steps. */
  readonly keys: { readonly provision: string; readonly activate: string }
}

/** Why a step is not possible: a code of the service, and the reason in words. */
export interface StepRefusal {
  readonly step: 'check' | 'provision' | 'activate'
  readonly code: string
  readonly detail: string
}
/**
 * `wait`: a ticket is under way. `stay`: the SIM is Active there already. `later`: tickets of others have to end first.
 * `refuse`: it is not possible.
 */
export type NextResult =
  | {
      readonly do: 'wait'
      readonly kind: 'provision' | 'activate'
      readonly ticketId: string
      /** The activate ticket behind a provision ticket, if that is open too. */
      readonly activateTicketId?: string
    }
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

/** Why a provisioned SIM cannot be made Active; null if it can, or is Active already. Pure. */
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

type OpenResult = { readonly ticketId: string } | StepRefusal

/** Opens a ticket. @returns its id, or why the service refuses it for good */
async function open(client: ServiceClient, kind: 'provision' | 'activate', ask: NextInput): Promise<OpenResult> {
  const { simId, tag } = ask
  const ticket = { ...ask, kind, key: ask.keys[kind] }
  try {
    // Set the tag with the activation: a SIM that cannot be provisioned keeps its tag. Set it only before the ticket is
    // first opened, because it may be changed afterwards.
    if (kind === 'activate' && tag !== undefined && (await ticketOfStep(client, ticket)) === undefined) {
      await bodyOf(client.api.PATCH('/api/sims/{id}/tag', { params: { path: { id: simId } }, body: { tag } }))
    }
    return { ticketId: (await postTicket(client, ticket)).id }
  } catch (error) {
    return { step: kind, ...finalRefusal(error) }
  }
}

const refuse = (refusal: StepRefusal): NextResult => ({ do: 'refuse', refusal })

/** Decides the next step for a SIM after its state has refused the first ticket; undefined if it can be activated. */
function decideNext(ask: NextInput, sim: SimNow): NextResult | undefined {
  if (sim.status === 'Unprovisioned') {
    if (sim.unsettled || ask.from === 'provision') return { do: 'later' }
    const detail = `SIM ${sim.simId} was unprovisioned by somebody else since`
    return refuse({ step: 'activate', code: 'sim_state_conflict', detail })
  }
  const refusal = refusalOf(ask, sim)
  if (refusal !== null) return sim.unsettled ? { do: 'later' } : refuse(refusal)
  // Wait for open tickets: an activation would undo a suspension that is about to happen.
  if (sim.status === 'Active') return { do: sim.unsettled ? 'later' : 'stay' }
  return undefined
}

/** Opens the next ticket on a SIM's way to Active. The SIM is read only if that is refused: one request as a rule. */
async function openNext(client: ServiceClient, ask: NextInput): Promise<NextResult> {
  const first = await open(client, ask.from, ask)
  if ('ticketId' in first) return { do: 'wait', kind: ask.from, ticketId: first.ticketId }
  if (!STATE_CODES.has(first.code)) return refuse(first)
  const answer = decideNext(ask, await readSim(client, ask.simId))
  if (answer !== undefined) return answer
  const second = await open(client, 'activate', ask)
  if ('ticketId' in second) return { do: 'wait', kind: 'activate', ticketId: second.ticketId }
  // Another activation is under way, or has ended in between.
  return STATE_CODES.has(second.code) ? { do: 'later' } : refuse(second)
}

export const provisionActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /** Opens the next ticket, one a step, however often it runs. @throws ApplicationFailure `sim_not_found` */
  openNextTicket: (ask: NextInput): Promise<NextResult> => openNext(clientOf(ask.tenantId), ask),

  /**
   * Opens both tickets of an unprovisioned SIM, one behind the other: the SIM's queue keeps their order, and refuses
   * the second if the first fails. Opens only the first if the second is refused, or if there is a tag: it is set
   * between the two. For any other SIM does what {@link openNext} does.
   *
   * Safe to run twice, however late: if a worker dies between the two requests, the next attempt finds the first
   * ticket.
   *
   * @throws ApplicationFailure `sim_not_found`, not retried
   */
  async openBothTickets(ask: NextInput): Promise<NextResult> {
    const client = clientOf(ask.tenantId)
    const first = await openNext(client, ask)
    if (first.do !== 'wait' || first.kind !== 'provision' || ask.tag !== undefined) return first
    const second = await open(client, 'activate', ask)
    return 'ticketId' in second ? { ...first, activateTicketId: second.ticketId } : first
  },

  readSim: ({ tenantId, simId }: { readonly tenantId: string; readonly simId: number }): Promise<SimNow> =>
    readSim(clientOf(tenantId), simId),
})

/** A simple second implementation of the rules for SIMs and tickets: the service is compared with it. */

export const TICKET = { pending: 0, processing: 1, complete: 2, failed: 3, cancelled: 4 } as const
/** Codes of the service document; unassignments and moves are provisions. */
const TYPE = { activate: 0, suspend: 1, provision: 2, move: 2, unassign: 2, sms: 3, refresh: 4 } as const
export type Kind = keyof typeof TYPE
export const typeOf = (kind: Kind) => TYPE[kind]

export interface LineState {
  /** 0 Unprovisioned, 1 Active, 2 Suspended. */
  readonly status: 0 | 1 | 2
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly tag: string
  readonly suspendedBy: 'user' | 'watchdog' | null
  readonly pending: Pending | null
}
interface Pending {
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly unassign: boolean
}
export interface WantedTicket {
  readonly kind: Kind
  readonly by: 'user' | 'watchdog' | 'month-end'
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly tag: string | null
  /** Whether it takes effect at the cycle boundary, which is before the history. */
  readonly atBoundary: boolean
}
interface TicketModel extends WantedTicket {
  readonly id: string
  status: number
  attempts: number
  failure: string | null
  /** Epoch milliseconds; no worker claims it earlier. */
  notBefore: number
}
export interface SimModel {
  readonly id: number
  state: LineState
  readonly tickets: TicketModel[]
}

export const unprovisioned: LineState = {
  status: 0,
  poolId: null,
  tariffId: null,
  tag: '',
  suspendedBy: null,
  pending: null,
}

type Effect =
  | { readonly is: 'refused'; readonly code: string }
  | { readonly is: 'already' }
  | { readonly is: 'change'; readonly to: LineState; readonly asksCarrier: boolean }

const refused = (code: string): Effect => ({ is: 'refused', code })
const asking = (to: LineState): Effect => ({ is: 'change', to, asksCarrier: true })

/** The effect of a ticket on a SIM in this state. */
function effectOf(state: LineState, wanted: WantedTicket): Effect {
  const { status } = state
  if (wanted.kind === 'unassign') {
    return status === 0 ? { is: 'already' } : asking({ ...unprovisioned, tag: state.tag })
  }
  if (wanted.kind === 'provision') {
    if (status !== 0) return refused('sim_already_assigned')
    const { poolId, tariffId, tag } = wanted
    return asking({ ...state, status: 2, poolId, tariffId, tag: tag ?? state.tag })
  }
  if (status === 0) return refused('sim_state_conflict')
  switch (wanted.kind) {
    case 'move': {
      const [poolId, tariffId] = [wanted.poolId ?? state.poolId, wanted.tariffId ?? state.tariffId]
      if (poolId === state.poolId && tariffId === state.tariffId) return { is: 'already' }
      // A change that was queued since the boundary stays: it is for the next one.
      const pending = wanted.atBoundary ? state.pending : null
      return asking({ ...state, poolId, tariffId, tag: wanted.tag ?? state.tag, pending })
    }
    case 'activate':
      return status === 1 ? { is: 'already' } : asking({ ...state, status: 1, suspendedBy: null })
    case 'suspend': {
      const suspendedBy = wanted.by === 'watchdog' ? 'watchdog' : 'user'
      if (status === 1) return asking({ ...state, status: 2, suspendedBy })
      if (state.suspendedBy === 'watchdog' && wanted.by === 'user') {
        return { is: 'change', to: { ...state, suspendedBy }, asksCarrier: false }
      }
      return { is: 'already' }
    }
    case 'sms':
    case 'refresh':
      return status === 1 ? asking(state) : refused('sim_state_conflict')
  }
}

export const isOpen = (ticket: TicketModel) => ticket.status === TICKET.pending || ticket.status === TICKET.processing
export const openTickets = (sim: SimModel) => sim.tickets.filter(isOpen)

/** The state a SIM will have after its open tickets. */
export const stateAfter = (sim: SimModel): LineState =>
  openTickets(sim).reduce((state, ticket) => {
    const effect = effectOf(state, ticket)
    return effect.is === 'change' ? effect.to : state
  }, sim.state)

/** The error code if opening the ticket fails, else null. A ticket without effect fails too. */
export function conflictOf(sim: SimModel, wanted: WantedTicket): string | null {
  const effect = effectOf(stateAfter(sim), wanted)
  if (effect.is === 'change') return null
  return effect.is === 'refused' ? effect.code : 'sim_state_conflict'
}

/** Drops the queued change of an unprovisioned SIM without open tickets. */
export function dropIdle(sim: SimModel): void {
  if (sim.state.status === 0 && openTickets(sim).length === 0) sim.state = { ...sim.state, pending: null }
}

export function opened(sim: SimModel, wanted: WantedTicket, id: string, now: number): void {
  sim.tickets.push({ ...wanted, id, status: 0, attempts: 0, failure: null, notBefore: now })
}

export const OPTIONS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 3, patienceMs: 3_600_000 }
export type CarrierResponse = 'ok' | 'refused' | 'away' | 'lost' | 'killed'

/** Executes a SIM's tickets as far as the carrier's responses allow. */
export function* execution(sim: SimModel, now: number): Generator<TicketModel, void, CarrierResponse> {
  for (;;) {
    const ticket = sim.tickets.find(isOpen)
    if (ticket === undefined || ticket.notBefore > now) return
    const effect = effectOf(sim.state, ticket)
    if (effect.is === 'refused') {
      ticket.status = TICKET.failed
      ticket.failure = 'sim_state_conflict'
      dropIdle(sim)
      continue
    }
    if (effect.is === 'already' || !effect.asksCarrier) {
      if (effect.is === 'change') sim.state = effect.to
      ticket.status = TICKET.complete
      dropIdle(sim)
      continue
    }
    ticket.status = TICKET.processing
    ticket.attempts++
    ticket.notBefore = now + OPTIONS.leaseMs
    const answer = yield ticket
    switch (answer) {
      case 'ok': {
        // Computed again: a change may have been queued meanwhile.
        const after = effectOf(sim.state, ticket)
        if (after.is === 'change') sim.state = after.to
        ticket.status = TICKET.complete
        continue
      }
      case 'refused':
        ticket.status = TICKET.failed
        ticket.failure = 'not_allowed'
        dropIdle(sim)
        continue
      case 'killed':
        return
      case 'away':
      case 'lost':
        if (ticket.attempts >= OPTIONS.attempts) {
          ticket.status = TICKET.failed
          ticket.failure = answer === 'away' ? 'carrier_unavailable' : 'carrier_unreachable'
          dropIdle(sim)
          continue
        }
        ticket.notBefore = now + Math.min(OPTIONS.retryMaxMs, OPTIONS.retryMinMs * 2 ** (ticket.attempts - 1))
        return
    }
  }
}

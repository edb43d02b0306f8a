/**
 * Decides the effect of a ticket on a SIM. Pure. Checked when the ticket is opened, against the state that the SIM will
 * have after its earlier tickets, and again when the ticket's turn comes.
 */
import { SimStatus, TicketType } from '../codes.ts'
import type { ErrorCode } from '../errors.ts'
import type { Cause } from './ticket.ts'

/** Reasons why a SIM cannot get a pool and a tariff, in any state. */
export const ASSIGNMENT_PROBLEMS = [
  'sim_not_found',
  'pool_not_found',
  'tariff_not_found',
  'tariff_inactive',
  'tariff_needs_pool',
  'tariff_has_no_effect',
] as const satisfies readonly ErrorCode[]

/** The part of a SIM that tickets change. */
export interface SimState {
  readonly status: SimStatus
  readonly poolId: number | null
  readonly tariffId: number | null
  /** The cause of the SIM's suspension; null without one, or before the first activation since it was provisioned. */
  readonly suspendedBy: 'user' | 'watchdog' | null
}

/** The part of a ticket that decides its effect. */
export interface TicketRequest {
  readonly type: TicketType
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly unassign: boolean
  readonly cause: Cause
}

export type TicketDecision =
  /** A request to the carrier is needed. */
  | { readonly do: 'carrier'; readonly operation: CarrierOperation }
  /** Only our own record of the SIM changes. */
  | { readonly do: 'record' }
  /** The SIM already is in the requested state. */
  | { readonly do: 'nothing'; readonly detail: string }
  | { readonly do: 'refuse'; readonly code: ErrorCode; readonly detail: string }

export type CarrierOperation = 'provision' | 'activate' | 'suspend' | 'unprovision' | 'move' | 'refresh' | 'sendSms'

const refuse = (code: ErrorCode, detail: string): TicketDecision => ({ do: 'refuse', code, detail })
const carrier = (operation: CarrierOperation): TicketDecision => ({ do: 'carrier', operation })

/** Whether a Provision ticket is a move. Only the month end moves SIMs; all others provision unprovisioned SIMs. */
const isMove = (ask: TicketRequest): boolean => ask.cause.by === 'month-end' && !ask.unassign

function decideProvision(state: SimState, ask: TicketRequest): TicketDecision {
  if (ask.unassign) {
    return state.status === SimStatus.Unprovisioned
      ? { do: 'nothing', detail: 'the SIM is unprovisioned already' }
      : carrier('unprovision')
  }
  if (isMove(ask)) {
    if (state.status === SimStatus.Unprovisioned)
      return refuse('sim_state_conflict', 'an unprovisioned SIM cannot be moved')
    const there = (ask.poolId ?? state.poolId) === state.poolId && (ask.tariffId ?? state.tariffId) === state.tariffId
    return there ? { do: 'nothing', detail: 'the SIM is there already' } : carrier('move')
  }
  return state.status === SimStatus.Unprovisioned
    ? carrier('provision')
    : refuse('sim_already_assigned', 'only an unprovisioned SIM can be provisioned')
}

function decideSuspend(state: SimState, ask: TicketRequest): TicketDecision {
  if (state.status === SimStatus.Active) return carrier('suspend')
  if (state.status === SimStatus.Unprovisioned)
    return refuse('sim_state_conflict', 'an unprovisioned SIM cannot be suspended')
  if (state.suspendedBy === 'watchdog' && ask.cause.by === 'user') return { do: 'record' }
  return { do: 'nothing', detail: 'the SIM is suspended already' }
}

/** Decides the effect of a ticket on a SIM in this state. */
export function decide(state: SimState, ask: TicketRequest): TicketDecision {
  switch (ask.type) {
    case TicketType.Provision:
      return decideProvision(state, ask)
    case TicketType.Suspend:
      return decideSuspend(state, ask)
    case TicketType.Activate:
      if (state.status === SimStatus.Active) return { do: 'nothing', detail: 'the SIM is active already' }
      return state.status === SimStatus.Suspended
        ? carrier('activate')
        : refuse('sim_state_conflict', 'an unprovisioned SIM cannot be activated')
    case TicketType.Refresh:
    case TicketType['Send SMS']:
      if (state.status !== SimStatus.Active) return refuse('sim_state_conflict', 'the SIM is not active')
      return carrier(ask.type === TicketType.Refresh ? 'refresh' : 'sendSms')
  }
}

/** The state of a SIM after a ticket has completed. Unchanged if the ticket is refused or does nothing. */
export function stateAfter(state: SimState, ask: TicketRequest): SimState {
  const decision = decide(state, ask)
  if (decision.do === 'refuse' || decision.do === 'nothing') return state
  switch (ask.type) {
    case TicketType.Activate:
      return { ...state, status: SimStatus.Active, suspendedBy: null }
    case TicketType.Suspend:
      return { ...state, status: SimStatus.Suspended, suspendedBy: ask.cause.by === 'watchdog' ? 'watchdog' : 'user' }
    case TicketType.Provision:
      if (ask.unassign) return { status: SimStatus.Unprovisioned, poolId: null, tariffId: null, suspendedBy: null }
      if (state.status !== SimStatus.Unprovisioned) {
        return { ...state, poolId: ask.poolId ?? state.poolId, tariffId: ask.tariffId ?? state.tariffId }
      }
      return { status: SimStatus.Suspended, poolId: ask.poolId, tariffId: ask.tariffId, suspendedBy: null }
    case TicketType.Refresh:
    case TicketType['Send SMS']:
      return state
  }
}

/** Why a ticket may not be opened behind these open ones; undefined if it may. Without effect it is a conflict too. */
export function mayOpen(
  state: SimState,
  before: readonly TicketRequest[],
  ask: TicketRequest,
): { readonly code: ErrorCode; readonly detail: string } | undefined {
  const decision = decide(before.reduce(stateAfter, state), ask)
  if (decision.do === 'refuse') return { code: decision.code, detail: decision.detail }
  if (decision.do === 'nothing') return { code: 'sim_state_conflict', detail: decision.detail }
  return undefined
}

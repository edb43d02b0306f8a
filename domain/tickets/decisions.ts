/**
 * What a ticket may do to a SIM. Pure: judged when it is opened, against the state the SIM will have after
 * the tickets before it, and again when its turn comes.
 */
import { SimStatus, TicketType } from '../codes.ts'
import type { ErrorCode } from '../errors.ts'
import type { Cause } from './ticket.ts'

/** Why a SIM cannot be given a pool and a tariff, whatever its state. */
export const ASSIGNMENT_PROBLEMS = [
  'sim_not_found',
  'pool_not_found',
  'tariff_not_found',
  'tariff_inactive',
  'tariff_needs_pool',
  'tariff_has_no_effect',
] as const satisfies readonly ErrorCode[]

/** The part of a SIM that tickets change. */
export interface Line {
  readonly status: SimStatus
  readonly poolId: number | null
  readonly tariffId: number | null
  /** Who suspended it; null where it is not suspended, or was not yet activated. */
  readonly suspendedBy: 'user' | 'watchdog' | null
}

/** The part of a ticket that decides. */
export interface TicketRequest {
  readonly type: TicketType
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly unassign: boolean
  readonly cause: Cause
}

export type Judgement =
  /** The carrier is to be asked. */
  | { readonly do: 'carrier'; readonly operation: CarrierOperation }
  /** Only our own record changes. */
  | { readonly do: 'record' }
  /** It is so already. */
  | { readonly do: 'nothing'; readonly detail: string }
  | { readonly do: 'refuse'; readonly code: ErrorCode; readonly detail: string }

export type CarrierOperation = 'provision' | 'activate' | 'suspend' | 'unprovision' | 'move' | 'refresh' | 'sendSms'

const refuse = (code: ErrorCode, detail: string): Judgement => ({ do: 'refuse', code, detail })
const carrier = (operation: CarrierOperation): Judgement => ({ do: 'carrier', operation })

/** Moves are the month end's own; everybody else provisions what is unprovisioned. */
const isMove = (ask: TicketRequest): boolean => ask.cause.by === 'month-end' && !ask.unassign

function judgeProvision(line: Line, ask: TicketRequest): Judgement {
  if (ask.unassign) {
    return line.status === SimStatus.Unprovisioned
      ? { do: 'nothing', detail: 'the SIM is unprovisioned already' }
      : carrier('unprovision')
  }
  if (isMove(ask)) {
    if (line.status === SimStatus.Unprovisioned)
      return refuse('sim_state_conflict', 'an unprovisioned SIM cannot be moved')
    const there = (ask.poolId ?? line.poolId) === line.poolId && (ask.tariffId ?? line.tariffId) === line.tariffId
    return there ? { do: 'nothing', detail: 'the SIM is there already' } : carrier('move')
  }
  return line.status === SimStatus.Unprovisioned
    ? carrier('provision')
    : refuse('sim_already_assigned', 'only an unprovisioned SIM can be provisioned')
}

function judgeSuspend(line: Line, ask: TicketRequest): Judgement {
  if (line.status === SimStatus.Active) return carrier('suspend')
  if (line.status === SimStatus.Unprovisioned)
    return refuse('sim_state_conflict', 'an unprovisioned SIM cannot be suspended')
  if (line.suspendedBy === 'watchdog' && ask.cause.by === 'user') return { do: 'record' }
  return { do: 'nothing', detail: 'the SIM is suspended already' }
}

/** What a ticket does to a SIM in this state. */
export function judge(line: Line, ask: TicketRequest): Judgement {
  switch (ask.type) {
    case TicketType.Provision:
      return judgeProvision(line, ask)
    case TicketType.Suspend:
      return judgeSuspend(line, ask)
    case TicketType.Activate:
      if (line.status === SimStatus.Active) return { do: 'nothing', detail: 'the SIM is active already' }
      return line.status === SimStatus.Suspended
        ? carrier('activate')
        : refuse('sim_state_conflict', 'an unprovisioned SIM cannot be activated')
    case TicketType.Refresh:
    case TicketType['Send SMS']:
      if (line.status !== SimStatus.Active) return refuse('sim_state_conflict', 'the SIM is not active')
      return carrier(ask.type === TicketType.Refresh ? 'refresh' : 'sendSms')
  }
}

/** The state of a SIM after a ticket has completed on it. */
export function lineAfter(line: Line, ask: TicketRequest): Line {
  const judgement = judge(line, ask)
  if (judgement.do === 'refuse' || judgement.do === 'nothing') return line
  switch (ask.type) {
    case TicketType.Activate:
      return { ...line, status: SimStatus.Active, suspendedBy: null }
    case TicketType.Suspend:
      return { ...line, status: SimStatus.Suspended, suspendedBy: ask.cause.by === 'watchdog' ? 'watchdog' : 'user' }
    case TicketType.Provision:
      if (ask.unassign) return { status: SimStatus.Unprovisioned, poolId: null, tariffId: null, suspendedBy: null }
      if (line.status !== SimStatus.Unprovisioned) {
        return { ...line, poolId: ask.poolId ?? line.poolId, tariffId: ask.tariffId ?? line.tariffId }
      }
      return { status: SimStatus.Suspended, poolId: ask.poolId, tariffId: ask.tariffId, suspendedBy: null }
    case TicketType.Refresh:
    case TicketType['Send SMS']:
      return line
  }
}

/**
 * Whether a ticket may be opened on a SIM with these open tickets before it.
 *
 * @returns why not, or undefined: pointless and impossible are both conflicts
 */
export function mayOpen(
  line: Line,
  before: readonly TicketRequest[],
  ask: TicketRequest,
): { readonly code: ErrorCode; readonly detail: string } | undefined {
  const judgement = judge(before.reduce(lineAfter, line), ask)
  if (judgement.do === 'refuse') return { code: judgement.code, detail: judgement.detail }
  if (judgement.do === 'nothing') return { code: 'sim_state_conflict', detail: judgement.detail }
  return undefined
}

/** The state of a SIM's suspension, its events and its commands. Instants are epoch milliseconds. */

import type { SuspendSignal } from '../temporal/signals.ts'
import type {
  SuspendedUntil,
  SuspendOnOverageInput,
  SuspendOnOverageResult,
  SuspendOnOverageState,
  SuspendUpdates,
} from '../temporal/suspend-on-overage.ts'
import { COMPLETE, type TicketEnd } from '../temporal/ticket-ends.ts'
import type { SimAction } from './enforcement.ts'
import type { SuspensionAnswer } from './refusal.ts'

export type SuspensionPhase = SuspendOnOverageState['phase']
export type SuspensionOutcome = SuspendOnOverageResult['outcome']

/** An ending; `boundary` is the cycle's end by the machine's own clock. */
export type SuspensionEnding = 'cancelled' | 'personActed' | 'resumed' | 'renewed' | 'boundary'

/** The request to suspend a SIM. `rule`: null if a person asks. */
export type SuspensionOrder = Pick<SuspendOnOverageInput, 'rule' | 'grace' | 'until' | 'cycleEndsAt'>

/**
 * The command whose answer is awaited. `rest`: none. `seen`: `overs` at the request. `warnedOf`: the end of grace in the
 * last warning.
 */
type Position =
  | { readonly on: 'rest' | 'takeOver' | 'suspended' | 'return' }
  | { readonly on: 'grace'; readonly beganAt: number; readonly warnedOf: number | null }
  | { readonly on: 'request'; readonly n: number; readonly seen: number }
  | { readonly on: 'usage'; readonly n: number; readonly seen: number }
  | { readonly on: 'guard'; readonly n: number; readonly holdId: number }
  | { readonly on: 'suspendTicket'; readonly n: number; readonly ticketId: string }
  | { readonly on: 'retry'; readonly why: string; readonly until: number | null }
  | { readonly on: 'record'; readonly until: SuspendedUntil }
  | { readonly on: 'activation'; readonly n: number; readonly attempt: number; readonly ticketId: string | null }
  | { readonly on: 'returnRetry'; readonly attempt: number; readonly until: number }
  | { readonly on: 'end'; readonly outcome: SuspensionOutcome }

export interface SuspensionState {
  readonly order: SuspensionOrder
  readonly at: Position
  readonly phase: SuspensionPhase
  /** Why it is in this phase. */
  readonly reason: string
  /**
   * The watchdog's request for the SIM. `refused`: the last attempt did not suspend it; another overLimit tries again.
   * `discarded`: a person has discarded the guard's hold. Another overLimit then has no effect until the overage has
   * cleared, or the watchdog has stood down.
   */
  readonly demand: 'over' | 'cleared' | 'stoodDown' | 'refused' | 'discarded'
  /** Counts overLimit signals, to detect another during an attempt. */
  readonly overs: number
  readonly ending: SuspensionEnding | null
  /** The decision about the guard's hold since the last request. It may come before the answer that names the hold. */
  readonly guard: 'released' | 'discarded' | null
  /** How long a suspension lasts: as ordered, or as a person has decided since. */
  readonly until: SuspendedUntil
  /** The same, as the service has recorded it. */
  readonly recordedUntil: SuspendedUntil
  readonly isSuspended: boolean
  /** The log says that the SIM stays suspended though the watchdog has stood down. */
  readonly isLetGo: boolean
  readonly suspendTickets: readonly string[]
  readonly activateTickets: readonly string[]
  /** Null if no grace period runs. */
  readonly graceEndsAt: number | null
  /** The grace of this overage has passed. Another attempt to suspend gets no grace. */
  readonly gracePassed: boolean
  /** How often each action was taken. Makes log entries unique. */
  readonly counts: Partial<Readonly<Record<SimAction, number>>>
  /** Where the counters begin. A later run of the same name writes new log entries. */
  readonly countFrom: number
  /** Failed attempts to suspend in a row. They determine the pause before the next one. */
  readonly failures: number
  readonly failure: SuspendOnOverageResult['failure']
}

/** The suspension found by a run started again under its name. */
export interface SuspensionFound {
  /** `this`: by the same name, in an earlier run. */
  readonly suspendedBy: 'this' | 'another workflow' | 'a person' | 'nobody'
  readonly until: SuspendedUntil
  readonly overLimit: boolean
}

/** An update by a person. Its argument has the fields that its name takes in {@link SuspendUpdates}. */
export interface SuspensionUpdate {
  readonly name: keyof SuspendUpdates
  readonly ask: SuspendUpdates['extendGrace']
}

/** The answer to a command. `failed`: it could not be carried out. `withdrawn`: the command cancelled the ticket. */
export type SuspensionReply =
  | { readonly type: 'found'; readonly found: SuspensionFound }
  | { readonly type: 'answered'; readonly answer: SuspensionAnswer }
  | { readonly type: 'opened'; readonly ticketId: string }
  | { readonly type: 'ended'; readonly ended: TicketEnd; readonly withdrawn: boolean }
  | { readonly type: 'recorded'; readonly isOwn: boolean }
  | ({ readonly type: 'failed' } & Pick<TicketEnd, 'code' | 'detail'>)

export type SuspensionEvent =
  | { readonly type: 'goOn' }
  | { readonly type: 'signal'; readonly signal: SuspendSignal | 'cancelled' }
  | { readonly type: 'update'; readonly update: SuspensionUpdate }
  | SuspensionReply

export const GO_ON: SuspensionEvent = { type: 'goOn' }
export const ACTIVE: SuspensionEvent = { type: 'ended', ended: COMPLETE, withdrawn: false }

/**
 * A command, and the event that answers it: `goOn` if none is named, or `failed`.
 *
 * - `note`: shows an ended step. `log`: makes the service log an action, once per counter.
 * - `look`: reads the SIM's suspension once it has no open ticket; `found`.
 * - `suspend`: opens the `n`th suspend ticket if the SIM is still over, enforced and not exempt; `answered`.
 * - `activate`: opens the `n`th activate ticket, to take effect now or at the boundary; `opened`, or
 *   {@link ACTIVE} if the SIM is so already.
 * - `awaitTicket`: waits until a ticket has ended. Cancels it while it is Pending and {@link withdrawsTicket}; `ended`.
 * - `record`: makes the service record how long the suspension lasts; `recorded`.
 * - `passOver`: makes enforcement pass the SIM over for the cycle.
 * - `wait`: until the instant `at` (null: for any time), or until `goOn` gives another command. `what`, `until` and `why`
 *   are shown to people.
 */
export type SuspensionCommand =
  | { readonly do: 'note'; readonly step: string; readonly outcome: string; readonly ticketId: string | null }
  | {
      readonly do: 'log'
      readonly action: SimAction
      readonly counter: number
      readonly detail: string
      readonly ticketId: string | null
    }
  | { readonly do: 'look' | 'passOver' }
  | { readonly do: 'suspend'; readonly n: number }
  | { readonly do: 'activate'; readonly n: number; readonly isAtBoundary: boolean }
  | { readonly do: 'awaitTicket'; readonly kind: 'suspend' | 'activate'; readonly ticketId: string }
  | { readonly do: 'record'; readonly until: SuspendedUntil }
  | {
      readonly do: 'wait'
      readonly at: number | null
      readonly what: string
      readonly until: number
      readonly why: string
    }
  | { readonly do: 'end'; readonly outcome: SuspensionOutcome }

/** A state under change in a step. */
export type SuspensionDraft = { -readonly [Key in keyof SuspensionState]: SuspensionState[Key] } & {
  readonly now: number
  readonly commands: SuspensionCommand[]
}

/** Goes to a phase. Only `grace` keeps an end of the grace period. */
export function goTo(run: SuspensionDraft, phase: SuspensionPhase, reason: string): void {
  run.phase = phase
  run.reason = reason
  if (phase !== 'grace') run.graceEndsAt = null
}

/** Endings from weakest to strongest; the strongest stays. A person's cancel or action outweighs the cycle. */
const STRENGTH: readonly (SuspensionEnding | null)[] = [
  null,
  'boundary',
  'renewed',
  'resumed',
  'personActed',
  'cancelled',
]

/** Records an ending, unless a stronger one is there. */
export function end(run: SuspensionDraft, ending: SuspensionEnding): void {
  if (STRENGTH.indexOf(ending) > STRENGTH.indexOf(run.ending)) run.ending = ending
}

export const boundaryOf = ({ order }: Pick<SuspensionState, 'order'>): number => Date.parse(order.cycleEndsAt)

/** Formats an instant, even one outside the range of dates. */
export const iso = (at: number): string =>
  Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : 'no instant there is'

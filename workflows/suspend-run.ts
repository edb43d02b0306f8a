/** What one run of suspend-on-overage knows, and how it tells of itself. */
import { ActivityFailure, log, workflowInfo } from '@temporalio/workflow'
import type { SimAction } from '../domain/enforcement.ts'
import type { SuspendOnOverageInput, SuspendOnOverageResult, SuspendOnOverageState } from '../domain/lifecycle.ts'
import { short } from './calls.ts'
import type { Demand, Mailbox } from './suspend-messages.ts'
import { showState } from './visibility.ts'

type Counts = Partial<Record<SimAction, number>>

export interface SuspendRun {
  readonly input: SuspendOnOverageInput
  readonly mailbox: Mailbox
  /** End of the cycle in epoch milliseconds. */
  readonly boundaryAt: number
  readonly state: {
    phase: SuspendOnOverageState['phase']
    graceEndsAt: string | null
    suspendTickets: string[]
    activateTickets: string[]
    reason: string
  }
  isSuspended: boolean
  /** Each action so far: makes its log entries and tickets one of a kind. */
  readonly counts: Counts
  /** Failed attempts in a row; sets the pause before the next. */
  failures: number
  failure: SuspendOnOverageResult['failure']
}

/** What a continued run takes over. */
export interface Carried {
  readonly demand: Demand
  readonly isSuspended: boolean
  readonly state: SuspendOnOverageState
  readonly counts: Counts
  readonly failures: number
}

export const beginRun = (input: SuspendOnOverageInput, mailbox: Mailbox, carried?: Carried): SuspendRun => ({
  input,
  mailbox,
  boundaryAt: Date.parse(input.cycleEndsAt),
  state: {
    phase: carried?.state.phase ?? 'idle',
    graceEndsAt: null,
    suspendTickets: [...(carried?.state.suspendTickets ?? [])],
    activateTickets: [...(carried?.state.activateTickets ?? [])],
    reason: carried?.state.reason ?? 'started',
  },
  isSuspended: carried?.isSuspended ?? false,
  counts: { ...carried?.counts },
  failures: carried?.failures ?? 0,
  failure: null,
})

export const carriedOf = ({ mailbox, isSuspended, state, counts, failures }: SuspendRun): Carried => ({
  demand: mailbox.demand,
  isSuspended,
  state,
  counts,
  failures,
})

/** Phases that last are shown in Temporal's lists too; passing ones only in the answer to the query. */
const LASTING: ReadonlySet<string> = new Set(['idle', 'grace', 'suspended'])

export function phaseTo(run: SuspendRun, phase: SuspendOnOverageState['phase'], reason: string): void {
  const changed = run.state.phase !== phase
  run.state.phase = phase
  run.state.reason = reason
  if (phase !== 'grace') run.state.graceEndsAt = null
  if (changed && LASTING.has(phase)) showState(phase, reason)
}

/**
 * Has the service log what was done and tell whoever has to know, once for each counter.
 *
 * An entry that the service refuses is no reason to leave the SIM alone: it is noted in the worker's log.
 */
export async function tell(run: SuspendRun, action: SimAction, detail: string, ticketId: string | null): Promise<void> {
  const { tenantId, simId, cycleKey, rule } = run.input
  const counter = run.counts[action] ?? 0
  run.counts[action] = counter + 1
  const { workflowId } = workflowInfo()
  const entry = { simId, cycle: cycleKey, rule, action, counter, detail, workflowId }
  try {
    await short.logAction({ tenantId, entry: { ...entry, ...(ticketId === null ? {} : { ticketId }) } })
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error
    log.error('the service refuses a log entry', { action, simId, reason: error.cause?.message })
  }
}

/** Pause before the next attempt: a minute, doubled with each failure in a row, an hour at the longest. */
export const backoffMs = (failures: number): number => Math.min(60_000 * 2 ** Math.max(0, failures - 1), 3_600_000)

/**
 * Suspends a SIM that is over its limit, and owns its return until the billing cycle is renewed.
 *
 *   idle ──overLimit──▶ grace ──still over?──▶ suspending ──▶ suspended
 *    ▲                    │ cleared, standDown      │              │ cleared
 *    └────────────────────┴── ticket taken back ────┘              │
 *    └───────────────────────── activating ◀───────────────────────┘
 *
 * personActed and cancel end it and leave the SIM as it is; resume and renewed bring the SIM back and end it.
 * At the cycle's end whatever has not led to a suspension is dropped. One run for each SIM and billing cycle:
 * the workflow id says which. Cancelling never changes the SIM.
 */
import { condition, continueAsNew, workflowInfo } from '@temporalio/workflow'
import type { SuspendOnOverageInput, SuspendOnOverageResult } from '../domain/lifecycle.ts'
import { endCancelled, heedingCancel } from './cancelling.ts'
import { sitOutGrace } from './suspend-grace.ts'
import { end, openMailbox } from './suspend-messages.ts'
import { beginRun, type Carried, carriedOf, phaseTo, type SuspendRun } from './suspend-run.ts'
import { bringBack, suspend } from './suspend-steps.ts'
import { answerState, showState } from './visibility.ts'

/** @param carried what a continued run takes over; absent on the first */
export async function suspendOnOverage(
  input: SuspendOnOverageInput,
  carried?: Carried,
): Promise<SuspendOnOverageResult> {
  const mailbox = openMailbox(carried?.demand)
  const run = beginRun(input, mailbox, carried)
  answerState(() => structuredCloneOf(run))
  const outcome = await heedingCancel(
    () => live(run),
    () => end(mailbox, 'cancelled'),
  )
  phaseTo(run, 'ended', `ended: ${outcome}`)
  showState(outcome, run.state.reason)
  const { suspended = 0, broughtBack = 0 } = run.counts
  const result: SuspendOnOverageResult = { outcome, suspended, broughtBack, failure: run.failure }
  if (outcome === 'cancelled') endCancelled(result, 'cancelled; the SIM stays as it is')
  return result
}

const structuredCloneOf = ({ state }: SuspendRun) => ({
  ...state,
  suspendTickets: [...state.suspendTickets],
  activateTickets: [...state.activateTickets],
})

async function live(run: SuspendRun): Promise<SuspendOnOverageResult['outcome']> {
  for (;;) {
    const outcome = run.isSuspended ? await whileSuspended(run) : await whileActive(run)
    if (outcome !== null) return outcome
    if (workflowInfo().continueAsNewSuggested && run.mailbox.ending === null) {
      await continueAsNew<typeof suspendOnOverage>(run.input, carriedOf(run))
    }
  }
}

/** The SIM is not suspended: waits to be armed, sits out the grace, suspends. */
async function whileActive(run: SuspendRun): Promise<SuspendOnOverageResult['outcome'] | null> {
  const { mailbox } = run
  if (mailbox.demand !== 'over') {
    const woken = () => mailbox.demand === 'over' || mailbox.ending !== null || workflowInfo().continueAsNewSuggested
    if (!(await beforeBoundary(run, woken))) end(mailbox, 'boundary')
  }
  if (mailbox.ending !== null) return outcomeOfActive(mailbox.ending)
  if (mailbox.demand === 'over' && (await sitOutGrace(run))) await suspend(run)
  return null
}

function outcomeOfActive(ending: NonNullable<SuspendRun['mailbox']['ending']>): SuspendOnOverageResult['outcome'] {
  return ending === 'boundary' || ending === 'renewed' ? 'released' : ending
}

/** The SIM is suspended by this run: waits for what brings it back. */
async function whileSuspended(run: SuspendRun): Promise<SuspendOnOverageResult['outcome'] | null> {
  const { mailbox, input } = run
  const manual = input.until === 'manual'
  const woken = () =>
    mailbox.ending !== null || (mailbox.demand === 'cleared' && !manual) || workflowInfo().continueAsNewSuggested
  // The month end signals the return, after the SIM's own change; only a suspension that stays ends by the timer.
  if (!manual) await condition(woken)
  else if (!(await beforeBoundary(run, woken))) end(mailbox, 'boundary')

  const { ending } = mailbox
  if (ending === 'personActed' || ending === 'cancelled') return ending
  if (manual && (ending === 'renewed' || ending === 'boundary')) return 'manual'
  if (ending === null && mailbox.demand !== 'cleared') return null
  const back = await bringBack(run)
  if (back === 'failed') return 'failed'
  if (back === 'released') return 'released'
  return afterReturn(run, back)
}

/** What the run is after its SIM has come back, or a cancel or a person has kept it from coming back. */
function afterReturn(run: SuspendRun, back: 'back' | 'kept'): SuspendOnOverageResult['outcome'] | null {
  const { ending } = run.mailbox
  if (back === 'kept') return ending === 'cancelled' ? 'cancelled' : 'personActed'
  if (ending === null) return null
  return ending === 'boundary' ? 'renewed' : ending
}

/** Waits for something, at the longest until the cycle ends; false when it has ended. */
async function beforeBoundary(run: SuspendRun, what: () => boolean): Promise<boolean> {
  const left = run.boundaryAt - Date.now()
  return left > 0 ? await condition(what, left) : what()
}

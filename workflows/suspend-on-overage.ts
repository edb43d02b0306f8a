/**
 * Suspends a SIM that is over its limit, and is responsible for its return until the billing cycle is renewed.
 *
 *   idle ──overLimit──▶ grace ──still over?──▶ suspending ──▶ suspended
 *    ▲                    │ cleared, standDown      │ ▲            │ cleared
 *    │                    │                    held─┘ └─released   │
 *    └────────────────────┴── ticket taken back ────┘              │
 *    └───────────────────────── activating ◀───────────────────────┘
 *
 * personActed and cancel end it and leave the SIM unchanged; resume and renewed bring the SIM back and end it. At the
 * cycle's end, an overage without a suspension is dropped. There is one run per SIM and billing cycle; both are in the
 * workflow id. Cancelling never changes the SIM.
 */
import { condition, continueAsNew, workflowInfo } from '@temporalio/workflow'
import type { SuspendOnOverageInput, SuspendOnOverageResult } from '../domain/temporal/suspend-on-overage.ts'
import { short } from './run/activities.ts'
import { endCancelled, heedingCancel } from './run/cancellation.ts'
import { answerState, showState } from './run/timeline.ts'
import { sitOutGrace } from './suspend-on-overage/grace.ts'
import { end, openMailbox } from './suspend-on-overage/messages.ts'
import { bringBack, recordUntil } from './suspend-on-overage/return.ts'
import {
  beforeBoundary,
  beginRun,
  type Carried,
  carriedOf,
  endOverage,
  endRun,
  type SuspendRun,
  stateOf,
} from './suspend-on-overage/run.ts'
import { suspend } from './suspend-on-overage/steps.ts'
import { takeOver } from './suspend-on-overage/take-over.ts'
import { takeUpdates } from './suspend-on-overage/updates.ts'

/** @param carried state of the run that this one continues; absent in the first run */
export async function suspendOnOverage(
  input: SuspendOnOverageInput,
  carried?: Carried,
): Promise<SuspendOnOverageResult> {
  const mailbox = openMailbox(carried?.demand)
  const run = beginRun(input, mailbox, carried)
  answerState(() => stateOf(run))
  const living = heedingCancel(
    () => untilItsEnd(run, carried === undefined && input.takeOver === true),
    () => end(mailbox, 'cancelled'),
  )
  // Only now, when the first phase has begun: it decides about updates sent before the run.
  takeUpdates(run)
  const outcome = await living
  endRun(run, `ended: ${outcome}`)
  showState(outcome)
  const { suspended = 0, broughtBack = 0 } = run.counts
  const result: SuspendOnOverageResult = { outcome, suspended, broughtBack, failure: run.failure }
  if (outcome === 'cancelled') endCancelled(result, 'cancelled; the SIM stays as it is')
  return result
}

type Outcome = SuspendOnOverageResult['outcome']

/** Endings requested by a person. */
const BY_PERSON: ReadonlySet<Outcome> = new Set<Outcome>(['resumed', 'personActed', 'cancelled'])

/** Runs until an ending. If a person has ended it, enforcement passes the SIM over for the cycle. */
async function untilItsEnd(run: SuspendRun, again: boolean): Promise<Outcome> {
  const outcome = await live(run, again)
  const { tenantId, simId, cycleKey } = run.input
  if (BY_PERSON.has(outcome)) await short.passOver({ tenantId, simId, cycleKey })
  return outcome
}

async function live(run: SuspendRun, again: boolean): Promise<Outcome> {
  if (again) await takeOver(run)
  for (;;) {
    const outcome = run.isSuspended ? await whileSuspended(run) : await whileActive(run)
    if (outcome !== null) return outcome
    if (workflowInfo().continueAsNewSuggested && run.mailbox.ending === null) {
      await continueAsNew<typeof suspendOnOverage>(run.input, carriedOf(run))
    }
  }
}

/** While the SIM is not suspended: waits for overLimit, waits out the grace, and suspends it. */
async function whileActive(run: SuspendRun): Promise<Outcome | null> {
  const { mailbox, timeline } = run
  if (mailbox.demand !== 'over') {
    endOverage(run)
    const woken = () => mailbox.demand === 'over' || mailbox.ending !== null || workflowInfo().continueAsNewSuggested
    timeline.waits({ what: 'its next overage', until: run.input.cycleEndsAt, why: run.state.reason })
    if (!(await beforeBoundary(run, woken))) end(mailbox, 'boundary')
    timeline.waits(null)
  }
  // A suspension still desired when the cycle ends is not tried again.
  if (Date.now() >= run.boundaryAt) end(mailbox, 'boundary')
  if (mailbox.ending !== null) return outcomeOfActive(mailbox.ending)
  if (mailbox.demand === 'over' && (await sitOutGrace(run))) await suspend(run)
  return null
}

function outcomeOfActive(ending: NonNullable<SuspendRun['mailbox']['ending']>): Outcome {
  return ending === 'boundary' || ending === 'renewed' ? 'released' : ending
}

/** While the SIM is suspended by this run: waits for an event that brings it back. */
async function whileSuspended(run: SuspendRun): Promise<Outcome | null> {
  const { mailbox, state } = run
  if (state.until !== run.recordedUntil) {
    await recordUntil(run)
    return null
  }
  const manual = state.until === 'manual'
  const woken = () =>
    mailbox.ending !== null ||
    (mailbox.demand === 'cleared' && !manual) ||
    state.until !== run.recordedUntil ||
    workflowInfo().continueAsNewSuggested
  await suspended(run, manual, woken)

  const { ending } = mailbox
  if (state.until !== run.recordedUntil) return null
  if (ending === 'personActed' || ending === 'cancelled') return ending
  if (manual && (ending === 'renewed' || ending === 'boundary')) return 'manual'
  if (ending === null && (manual || mailbox.demand !== 'cleared')) return null
  const back = await bringBack(run)
  if (back === 'failed') return 'failed'
  if (back === 'released') return 'released'
  return afterReturn(run, back)
}

async function suspended(run: SuspendRun, manual: boolean, woken: () => boolean): Promise<void> {
  const { mailbox, timeline, state, input } = run
  const what = manual ? 'a person: resume, keepSuspended, or a ticket' : 'the renewal of the billing cycle'
  const why = manual ? `${state.reason}; where nobody acts the workflow ends then, and the SIM stays` : state.reason
  timeline.waits({ what, until: input.cycleEndsAt, why })
  // The month end signals the return, after the SIM's own change. Only a suspension that stays ends by this timer.
  if (!manual) await condition(woken)
  else if (!(await beforeBoundary(run, woken))) end(mailbox, 'boundary')
  timeline.waits(null)
}

/** The outcome once the SIM has come back, or a cancel or a person has kept it suspended; null if the run goes on. */
function afterReturn(run: SuspendRun, back: 'back' | 'kept'): Outcome | null {
  const { ending } = run.mailbox
  if (back === 'kept') return ending === 'cancelled' ? 'cancelled' : 'personActed'
  if (ending === null) return null
  return ending === 'boundary' ? 'renewed' : ending
}

/** The state of one run of a month end, and how it is shown. */
import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow'
import type { MonthEndLook } from '../../activities/month-end.ts'
import type {
  MonthEndCarried,
  MonthEndInput,
  MonthEndState,
  MonthEndStep,
  MonthEndWork,
  StepFigures,
  WorkLooks,
} from '../../domain/temporal/month-end-reprovision.ts'
import { durationMs } from '../../domain/time/duration.ts'
import type { Cancel } from '../run/cancellation.ts'
import { openTimeline, showState, type TimelineWriter } from '../run/timeline.ts'

export interface MonthEndRun {
  readonly input: MonthEndInput
  readonly cancel: Cancel
  readonly timeline: TimelineWriter
  /** The boundary: the cycle's end, in epoch milliseconds. */
  readonly endsAt: number
  /** When the cycle is to be closed, in epoch milliseconds. */
  readonly closesAt: number
  readonly looks: Record<MonthEndWork, WorkLooks>
  /** The service's last counts in this run; null before the first. */
  look: MonthEndLook | null
  step: MonthEndStep
  afterSimId: number
  renewedAt: number | null
  renewedAgain: boolean
  retries: number
  /** Whether changes have been retried since the last wait for tickets. */
  retried: boolean
  closing: boolean
  /** How many batches this run has started. */
  batches: number
  readonly broken: string[]
}

const UNSEEN: WorkLooks = { first: null, last: { at: 0, total: 0, done: 0, failed: 0, left: 0 } }
const WORK = ['unassign', 'move', 'renew'] as const satisfies readonly MonthEndWork[]

export function beginRun(input: MonthEndInput, cancel: Cancel): MonthEndRun {
  const { carried } = input
  const endsAt = Date.parse(input.cycleEndsAt)
  return {
    input,
    cancel,
    timeline: openTimeline(carried?.view),
    endsAt,
    closesAt: endsAt + durationMs(input.closeAfter),
    looks: { ...(carried?.looks ?? { unassign: UNSEEN, move: UNSEEN, renew: UNSEEN }) },
    look: null,
    step: carried?.step ?? 'waiting',
    afterSimId: carried?.afterSimId ?? 0,
    renewedAt: carried?.renewedAt ?? null,
    renewedAgain: carried?.renewedAgain ?? false,
    retries: carried?.retries ?? 0,
    retried: false,
    closing: false,
    batches: 0,
    broken: [...(carried?.broken ?? [])],
  }
}

function carriedOf(run: MonthEndRun): MonthEndCarried {
  const { step, afterSimId, timeline, looks, renewedAt, renewedAgain, retries, broken } = run
  return { step, afterSimId, view: timeline.read(), looks: { ...looks }, renewedAt, renewedAgain, retries, broken }
}

export const stateOf = ({ step, looks, timeline }: MonthEndRun): MonthEndState => ({
  step,
  progress: { unassign: figuresOf(looks.unassign), move: figuresOf(looks.move), renew: figuresOf(looks.renew) },
  ...timeline.read(),
})

/** The figures of a step. Its rate follows from the counts when the run entered the step, and the last ones. */
function figuresOf({ first, last }: WorkLooks): StepFigures {
  const { total, done, failed, left, at } = last
  const seconds = first === null ? 0 : (at - first.at) / 1000
  const rate = first === null || seconds <= 0 ? 0 : Math.max(0, done + failed - first.ended) / seconds
  const endsAt = left > 0 && rate > 0 ? new Date(at + (left / rate) * 1000).toISOString() : null
  return { total, done, failed, left, ratePerSecond: Math.round(rate * 100) / 100, estimatedEndAt: endsAt }
}

/** Takes over the service's latest counts. */
export function note(run: MonthEndRun, look: MonthEndLook): void {
  run.look = look
  for (const work of WORK) run.looks[work] = { ...run.looks[work], last: { ...look[work], at: Date.now() } }
}

/** Goes to a step. Its rate is measured from now on. */
export function enter(run: MonthEndRun, step: MonthEndStep): void {
  run.step = step
  run.afterSimId = 0
  run.timeline.goesOn()
  showState(step)
  if (step !== 'unassign' && step !== 'move' && step !== 'renew') return
  const { last } = run.looks[step]
  run.looks[step] = { first: { at: Date.now(), ended: last.done + last.failed }, last }
}

/** Continues as new if this run has grown. Not after a cancel, because the new run would not get it. */
export async function goOnAsNew(run: MonthEndRun): Promise<void> {
  if (run.batches < run.input.perRun && !workflowInfo().continueAsNewSuggested) return
  await condition(allHandlersFinished)
  if (run.cancel.requested) return
  await continueAsNew({ ...run.input, carried: carriedOf(run) } satisfies MonthEndInput)
}

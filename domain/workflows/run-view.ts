/** Reads the state of a run: its timeline, progress and outcome, and whether it retries. */
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { WorkflowInfo, WorkflowPending } from './workflow.ts'

const Text = Type.Union([Type.String(), Type.Null()])
/** The fields that the state of every workflow has. Source: domain/temporal/timeline.ts. */
const View = Type.Object({
  steps: Type.Array(Type.Object({ step: Type.String(), at: Type.String(), outcome: Type.String(), ticketId: Text })),
  waitsFor: Type.Union([Type.Object({ what: Type.String(), until: Text, why: Type.String() }), Type.Null()]),
})
/** Any object. */
export const Fields = Type.Record(Type.String(), Type.Unknown())
const Outcome = Type.Object({ outcome: Type.String() })

/** The timeline; null if no worker has answered. */
export const viewOf = (state: unknown): Static<typeof View> | null => (Value.Check(View, state) ? state : null)

/** The outcome in one word. Null while it runs, and for types without outcomes. */
export const outcomeOf = ({ result }: Pick<WorkflowInfo, 'result'>): string | null =>
  Value.Check(Outcome, result) ? result.outcome : null

/** The word that describes a run: its outcome, else its phase or step. Empty: none is known. */
export function wordOf(run: Pick<WorkflowInfo, 'state' | 'result'>): string {
  const { state } = run
  if (typeof state === 'string') return state
  const own = Value.Check(Fields, state) ? (state['phase'] ?? state['step']) : undefined
  return outcomeOf(run) ?? (typeof own === 'string' ? own : '')
}

/** The counts of a run, or of one of its steps. */
const Figures = Type.Object({
  left: Type.Integer(),
  ratePerSecond: Type.Optional(Type.Number()),
  estimatedEndAt: Type.Optional(Text),
  done: Type.Optional(Type.Integer()),
  failed: Type.Optional(Type.Integer()),
  counts: Type.Optional(Type.Record(Type.String(), Type.Integer())),
})
export type Figures = Static<typeof Figures>
/** A month end counts each of its steps. */
const BySteps = Type.Object({ step: Type.String(), progress: Type.Record(Type.String(), Figures) })

/** The counts of a run; null if it counts nothing, or counts by steps. */
export const figuresOf = (state: unknown): Figures | null => (Value.Check(Figures, state) ? state : null)

/** The counts of the steps of a month end, and its present step; null for other types. */
export const stepFiguresOf = (state: unknown): Static<typeof BySteps> | null =>
  Value.Check(BySteps, state) ? state : null

/** SIMs that have ended, of all, in a run or in a step of it. */
export interface Progress {
  /** Null: the run has no steps that count. */
  readonly step: string | null
  readonly ended: number
  readonly failed: number
  readonly total: number
  readonly ratePerSecond: number
  readonly estimatedEndAt: string | null
}

/** The progress of a run's steps. */
export function progressOf(state: unknown): Progress[] {
  const figures = figuresOf(state)
  if (figures !== null) return [toProgress(null, figures)]
  return Object.entries(stepFiguresOf(state)?.progress ?? {}).map(([step, one]) => toProgress(step, one))
}

function toProgress(step: string | null, figures: Figures): Progress {
  const { done = 0, failed = 0, left, counts, ratePerSecond = 0, estimatedEndAt = null } = figures
  if (counts === undefined)
    return { step, ended: done + failed, failed, total: done + failed + left, ratePerSecond, estimatedEndAt }
  const total = Object.values(counts).reduce((sum, one) => sum + one, 0)
  const undone = (counts['failed'] ?? 0) + (counts['compensated'] ?? 0)
  return { step, ended: total - left, failed: undone, total, ratePerSecond, estimatedEndAt }
}

const Failures = Type.Object({ failures: Type.Array(Type.Object({ simId: Type.Integer(), code: Text, detail: Text })) })

/** SIMs that failed in an undo or a batch: the first 100. */
export const failuresOf = ({ state, result }: Pick<WorkflowInfo, 'state' | 'result'>) =>
  [result, state].find((one) => Value.Check(Failures, one))?.failures ?? []

/** Outcomes of a run completed for Temporal, but without success. */
const FAILED_OUTCOMES: ReadonlySet<string> = new Set(['failed', 'compensated', 'cancelled', 'doneWithFailures'])

/** Whether a run has ended without success. */
export function hasFailed(run: Pick<WorkflowInfo, 'status' | 'result'>): boolean {
  if (run.status !== 'completed') return run.status !== 'running'
  const outcome = outcomeOf(run)
  return outcome !== null && FAILED_OUTCOMES.has(outcome)
}

/** Why a run cannot be started again, in words behind its id; null if it can. */
export function whyNotRetried(run: Pick<WorkflowInfo, 'type' | 'status' | 'result'>): string | null {
  if (run.status === 'running') return 'runs'
  const outcome = outcomeOf(run)
  if (!hasFailed(run)) return `has ended well${outcome === null ? '' : `: ${outcome}`}`
  if (run.type === 'month-end-batch') return 'is a part of a month end: start that again'
  // Every SIM of the list has its outcome, so nothing is left to begin.
  return run.type === 'provision-in-bulk' && outcome !== null
    ? 'is through its list: start the SIMs that failed again by a batch of their own'
    : null
}

/** Whether a running workflow repeats a failed activity, or its own code on a worker. */
export const isRetrying = ({ status, task, activities }: WorkflowPending): boolean =>
  status === 'running' && ((task?.attempt ?? 1) > 1 || activities.some(({ attempt }) => attempt > 1))

/** What Temporal's lists and UI show of a workflow: its state in words, and the query `state` for all of it. */
import { defineQuery, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow'
import type { StepDone, Timeline, WaitsFor } from '../../domain/temporal/timeline.ts'

/**
 * Answers the query `state`.
 *
 * @param read makes a copy, so that a response does not change afterwards
 */
export const answerState = (read: () => object): void => setHandler(defineQuery<object>('state'), read)

/**
 * Sets the search attribute SimherdState. Use it for lasting states and for the outcome: it costs one history event.
 */
export function showState(state: string): void {
  upsertSearchAttributes([{ key: { name: 'SimherdState', type: 'KEYWORD' }, value: state }])
}

/** How many steps a timeline keeps: the newest. A run that suspends and brings back all month has more. */
const MOST_STEPS = 40

/** Records what a workflow has done and what it waits for. Costs nothing in the history. */
export interface TimelineWriter {
  /** Records a step that has ended, well or not. */
  done(step: string, outcome: string, ticketId?: string | null): void
  /** Sets what the workflow waits for; null if it waits for nothing. */
  waits(what: WaitsFor | null): void
  /** A copy, for the query and for a continued run. */
  read(): Timeline
}

let waitingNow: WaitsFor | null = null
/** What this run waits for now, in one line. A timer that is set now is for that. */
export const waitText = (): string | null => (waitingNow === null ? null : `${waitingNow.what}: ${waitingNow.why}`)

/** @param carried what a continued run takes over */
export function openTimeline(carried?: Timeline): TimelineWriter {
  const steps: StepDone[] = [...(carried?.steps ?? [])]
  let waitsFor: WaitsFor | null = carried?.waitsFor ?? null
  const show = () => setCurrentDetails(detailsOf(steps, waitsFor))
  return {
    done(step, outcome, ticketId = null) {
      steps.push({ step, at: new Date(Date.now()).toISOString(), outcome, ticketId })
      if (steps.length > MOST_STEPS) steps.shift()
      show()
    },
    waits(what) {
      waitsFor = what
      waitingNow = what
      show()
    },
    read: () => ({ steps: [...steps], waitsFor }),
  }
}

/** An ISO instant as text in UTC, like `2026-11-21 15:06:26`. */
const clock = (instant: string): string => instant.slice(0, 19).replace('T', ' ')

/** Markdown for Temporal's UI: first what the run waits for, then the steps. */
function detailsOf(steps: readonly StepDone[], waitsFor: WaitsFor | null): string {
  const done = steps.map(({ step, at, outcome, ticketId }) => {
    const ticket = ticketId === null ? '' : `, ticket \`${ticketId}\``
    return `- ${clock(at)} **${step}**${ticket}: ${outcome}`
  })
  if (waitsFor === null) return done.join('\n')
  const until = waitsFor.until === null ? '' : ` until ${clock(waitsFor.until)} UTC`
  return [`**Waits for ${waitsFor.what}${until}**: ${waitsFor.why}`, '', ...done].join('\n')
}

/** What Temporal's own lists and UI show of a workflow: its readable state, and the query for all of it. */
import { defineQuery, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow'
import type { StepDone, Timeline, WaitsFor } from '../../domain/temporal/timeline.ts'

/**
 * Answers the query `state`.
 *
 * @param read makes a copy, so that an answer does not change afterwards
 */
export const answerState = (read: () => object): void => setHandler(defineQuery<object>('state'), read)

/** Sets the search attribute SimherdState: for states that last, and for the outcome. One event in the history. */
export function showState(state: string): void {
  upsertSearchAttributes([{ key: { name: 'SimherdState', type: 'KEYWORD' }, value: state }])
}

/** Steps that a diary keeps: the newest. A run that suspends and brings back all month has more. */
const MOST_STEPS = 40

/** What a workflow has done and what it waits for. Costs nothing in the history. */
export interface TimelineWriter {
  /** Notes a step that has ended, well or not. */
  done(step: string, outcome: string, ticketId?: string | null): void
  /** Says what the workflow waits for; null where it goes on by itself. */
  waits(what: WaitsFor | null): void
  /** A copy, for the query and for a continued run. */
  read(): Timeline
}

let waitingNow: WaitsFor | null = null
/** What this run waits for at this moment, in a line: a timer that is set now is for that. */
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

/** `2026-11-21 15:06:26` of an instant in UTC. */
const clock = (instant: string): string => instant.slice(0, 19).replace('T', ' ')

/** Markdown, as Temporal's UI shows it: what is waited for, then the steps. */
function detailsOf(steps: readonly StepDone[], waitsFor: WaitsFor | null): string {
  const done = steps.map(({ step, at, outcome, ticketId }) => {
    const ticket = ticketId === null ? '' : `, ticket \`${ticketId}\``
    return `- ${clock(at)} **${step}**${ticket}: ${outcome}`
  })
  if (waitsFor === null) return done.join('\n')
  const until = waitsFor.until === null ? '' : ` until ${clock(waitsFor.until)} UTC`
  return [`**Waits for ${waitsFor.what}${until}**: ${waitsFor.why}`, '', ...done].join('\n')
}

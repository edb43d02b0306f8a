/** The state of a workflow in Temporal's lists and UI, in words; and the query `state` for its details. */
import { defineQuery, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow'
import type { StepDone, Timeline, WaitsFor } from '../../domain/temporal/timeline.ts'

/** Answers the query `state`. @param read makes a copy, so that a response does not change afterwards */
export const answerState = (read: () => object): void => setHandler(defineQuery<object>('state'), read)

/** Sets the search attribute SimherdState. For lasting states and the outcome: each call is an event of the history. */
export function showState(state: string): void {
  upsertSearchAttributes([{ key: { name: 'SimherdState', type: 'KEYWORD' }, value: state }])
}

/** How many steps a timeline keeps: the newest. A run that suspends and brings back all month has more. */
const MOST_STEPS = 40

/** Records the steps and the wait of a workflow. Costs nothing in the history. */
export interface TimelineWriter {
  /** Records the end of a step, successful or not. */
  done(step: string, outcome: string, ticketId?: string | null): void
  /** Sets the workflow's wait. @param until ISO 8601; null if only an event ends it */
  waits(what: string, why: string, until?: string | null): void
  /** Ends the wait. */
  goesOn(): void
  /** A copy, for the query and for a continued run. */
  read(): Timeline
}

let waitingNow: WaitsFor | null = null
/** The present wait of this run, in one line. A timer set now belongs to it. */
export const waitText = (): string | null => (waitingNow === null ? null : `${waitingNow.what}: ${waitingNow.why}`)

/** @param carried timeline of the run that this one continues */
export function openTimeline(carried?: Timeline): TimelineWriter {
  const steps: StepDone[] = [...(carried?.steps ?? [])]
  let waitsFor: WaitsFor | null = carried?.waitsFor ?? null
  const show = () => setCurrentDetails(detailsOf(steps, waitsFor))
  const wait = (what: WaitsFor | null) => {
    waitsFor = what
    waitingNow = what
    show()
  }
  return {
    done(step, outcome, ticketId = null) {
      steps.push({ step, at: new Date(Date.now()).toISOString(), outcome, ticketId })
      if (steps.length > MOST_STEPS) steps.shift()
      show()
    },
    waits: (what, why, until = null) => wait({ what, until, why }),
    goesOn: () => wait(null),
    read: () => ({ steps: [...steps], waitsFor }),
  }
}

/** An ISO instant as text in UTC, like `2026-11-21 15:06:26`. */
const clock = (instant: string): string => instant.slice(0, 19).replace('T', ' ')

/** Markdown for Temporal's UI: first the wait, then the steps. */
function detailsOf(steps: readonly StepDone[], waitsFor: WaitsFor | null): string {
  const done = steps.map(({ step, at, outcome, ticketId }) => {
    const ticket = ticketId === null ? '' : `, ticket \`${ticketId}\``
    return `- ${clock(at)} **${step}**${ticket}: ${outcome}`
  })
  if (waitsFor === null) return done.join('\n')
  const until = waitsFor.until === null ? '' : ` until ${clock(waitsFor.until)} UTC`
  return [`**Waits for ${waitsFor.what}${until}**: ${waitsFor.why}`, '', ...done].join('\n')
}

/**
 * Applies the guard on firing to an alert. It limits the subjects for which a rule begins tellings or actions in an
 * hour: beyond the limit, notices and wishes are held until a person decides. Pure. Source: decision 0042.
 */
import type { AlertState } from './alert-state.ts'

/**
 * The guard's answer for an alert. `pass`: there is room; a telling or an action takes it. `released`: a person
 * released it. `discarded`: a person discarded it. A number: it waits in the hold of this id.
 */
export type GuardAnswer = 'pass' | 'released' | 'discarded' | number

export interface GuardStep {
  readonly state: AlertState
  /** Whether it takes a place in the rule's hour. */
  readonly counts: boolean
}

/** The id of the hold that an alert is in; undefined if it is in none. */
export const holdOf = ({ guard }: AlertState): number | undefined => (guard?.is === 'held' ? guard.hold : undefined)

/** Whether tellings and actions of the alert are blocked: it waits for a person, or was discarded. */
export const isHeld = ({ phase, guard, part }: AlertState): boolean =>
  phase === 'firing' && guard !== undefined && guard.is !== 'passed' && guard.part === part

export interface GuardQuestion {
  readonly answer: GuardAnswer
  /** Whether a telling or an action is due now. */
  readonly isDue: boolean
  /** Whether a notice is to be mailed of it. */
  readonly isMailed: boolean
}

/** Asks the guard about an alert after an evaluation. An end by its conditions begins a new episode. */
export function guardState(state: AlertState, { answer, isDue, isMailed }: GuardQuestion): GuardStep {
  const { guard, ...rest } = state
  if (guard !== undefined && state.phase === 'resolved' && state.withdrawn !== true)
    return { state: rest, counts: false }
  if (state.phase !== 'firing') return { state, counts: false }
  const { part, mailed } = state
  const mark = guard?.part === part ? guard : undefined
  const fired = `fired${part}`
  if (mark?.is === 'held') {
    if (answer === 'released') return { state: { ...rest, guard: { part, is: 'passed' } }, counts: false }
    if (answer === 'discarded') {
      const { hold } = mark
      // Counts as mailed, and so does its end: its start was not mailed either.
      const told = isMailed && !mailed.includes(fired) ? [...mailed, fired, `resolved${part}`] : mailed
      return {
        state: { ...rest, mailed: told, guard: { part, is: 'discarded', ...(hold && { hold }) } },
        counts: false,
      }
    }
  } else if (mark !== undefined || mailed.includes(fired) || !isDue) return { state, counts: false }
  if (typeof answer === 'number')
    return { state: { ...rest, guard: { part, is: 'held', hold: answer } }, counts: false }
  return { state: { ...rest, guard: { part, is: 'passed' } }, counts: true }
}

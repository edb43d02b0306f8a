/**
 * What the guard on firing does to an alert. It bounds for how many subjects a rule begins to tell or to act in an hour:
 * beyond that, notices and wishes are held until a person decides. Pure. Source: decision 0042.
 */
import type { AlertState } from './state.ts'

/**
 * What the guard says of an alert. `pass`: there is room for it, which it takes if it tells or acts. `released`: a person
 * let it go. `discarded`: a person said no. A number: it waits in the hold of this id.
 */
export type GuardAnswer = 'pass' | 'released' | 'discarded' | number

export interface Guarded {
  readonly state: AlertState
  /** Whether it takes a place in the rule's hour. */
  readonly counts: boolean
}

/** The id of the hold that an alert is in; undefined if it is in none. */
export const holdOf = ({ guard }: AlertState): number | undefined => (guard?.is === 'held' ? guard.hold : undefined)

/** Whether the alert is not told and not acted on: it waits for a person, or a person said no. */
export const isHeld = ({ phase, guard, part }: AlertState): boolean =>
  phase === 'firing' && guard !== undefined && guard.is !== 'passed' && guard.part === part

export interface GuardQuestion {
  readonly answer: GuardAnswer
  /** Whether it would be told or acted on now. */
  readonly isDue: boolean
  /** Whether a notice is to be mailed of it. */
  readonly isMailed: boolean
}

/** Asks the guard about an alert whose conditions were evaluated. An end by its conditions begins anew. */
export function guardState(state: AlertState, { answer, isDue, isMailed }: GuardQuestion): Guarded {
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
      // It counts as told, and its end too: nobody was mailed that it began.
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

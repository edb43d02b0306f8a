/** Takes back notices of an alert that are obsolete and in no mail yet. Pure. */

import type { AlertState } from './alert-state.ts'
import { type AlertName, keyOfTelling, withoutStep } from './keys.ts'
import type { Telling } from './telling.ts'

interface FiringNotice {
  readonly key: string
  /** Last part of the key. */
  readonly part: string
}

export interface TakeBack {
  /**
   * Newest first. Several only for a rule with a ladder: one for each step of an episode. Notices taken back were never
   * mailed, so their end is not mailed either.
   */
  readonly fired: readonly FiringNotice[]
  /** `lower`: only steps below the present one, which continues. */
  readonly what: 'all' | 'lower'
}

/** The notices of an alert's episode, if people were to be mailed any. */
export function takeBackOf(name: AlertName, state: AlertState, what: TakeBack['what']): TakeBack | null {
  const fired = partsOf(state)
    .slice(what === 'lower' ? 1 : 0)
    .map((part) => ({ part, key: keyOfTelling(name, part, 'fired') }))
  return fired.length === 0 ? null : { fired, what }
}

/** Last parts of the keys under which the firing of the present or last episode was mailed, newest first. */
function partsOf({ mailed, step }: AlertState): string[] {
  const parts = mailed.filter((mark) => mark.startsWith('fired')).map((mark) => mark.slice('fired'.length))
  const last = parts.at(-1)
  if (last === undefined) return []
  if (step === undefined) return [last]
  return parts.filter((part) => withoutStep(part) === withoutStep(last)).toReversed()
}

/** A decision as far as it depends on what could be taken back. */
interface TakeBackStep {
  readonly next: AlertState
  readonly notices: readonly Telling[]
  readonly takeBack: TakeBack | null
}

/** The state and the notices of a decision, to write and to mail. @param taken keys of those taken back */
export function settled(decision: TakeBackStep, taken: ReadonlySet<string>): Pick<TakeBackStep, 'next' | 'notices'> {
  const { next, notices, takeBack } = decision
  const gone = takeBack?.fired.filter(({ key }) => taken.has(key)) ?? []
  if (takeBack === null || gone.length === 0) return { next, notices }
  const marks = new Set(gone.flatMap(({ part }) => [`fired${part}`, `resolved${part}`]))
  const mailed = next.mailed.filter((mark) => !marks.has(mark))
  const [newest] = takeBack.fired
  if (takeBack.what === 'lower' || newest === undefined || !taken.has(newest.key))
    return { next: { ...next, mailed }, notices }
  const { mailedAt: _, ...untold } = next
  const left = takeBack.fired.find(({ key }) => !taken.has(key))
  if (left === undefined) return { next: { ...untold, mailed }, notices: [] }
  // A lower step was mailed: its end replaces the end of the step that was not.
  const ends = notices.filter(({ kind }) => kind === 'resolved').slice(0, 1)
  return {
    next: { ...next, mailed: [...mailed, ...ends.map(() => `resolved${left.part}`)] },
    notices: ends.map((end) => ({ ...end, key: left.key.replace(/fired$/, 'resolved') })),
  }
}

/**
 * Alerts that stand still, because their rule could not be decided, or its facts are out of date: they stay in their
 * phase, and its time does not pass. Pure; instants are epoch milliseconds.
 */
import type { Rule } from '../rule.ts'
import type { AlertState } from './alert-state.ts'

/**
 * Whether alerts of a rule stand still: its facts of usage are out of date. @param staleSince null: the feed is not
 * stale
 */
export const standsStill = ({ readsUsage }: Rule, staleSince: number | null): staleSince is number =>
  readsUsage && staleSince !== null

/** The state while it stands still. @param from since when, if it does not yet */
export function standStill(state: AlertState, from: number): AlertState {
  if (state.phase !== 'pending' && state.phase !== 'recovering') return state
  return { ...state, stillSince: state.stillSince ?? Math.max(from, state.since) }
}

/** The state once it can be decided again. */
export const goOn = ({ stillSince, ...state }: AlertState, now: number): AlertState =>
  stillSince === undefined ? state : { ...state, since: state.since + Math.max(0, now - stillSince) }

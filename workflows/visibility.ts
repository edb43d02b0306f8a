/** What Temporal's own lists and UI show of a workflow: its readable state, and the query for all of it. */
import { defineQuery, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow'

/**
 * Answers the query `state`.
 *
 * @param read makes a copy, so that an answer does not change afterwards
 */
export const answerState = (read: () => object): void => setHandler(defineQuery<object>('state'), read)

/** Sets the search attribute SimherdState: for states that last, and for the outcome. One event in the history. */
export function showState(state: string, why: string): void {
  upsertSearchAttributes([{ key: { name: 'SimherdState', type: 'KEYWORD' }, value: state }])
  setCurrentDetails(why)
}

/**
 * Stops SIMs of a pool each time the pool is found over its capacity, until the cycle ends.
 *
 *   overLimit ──▶ pick by the rule's policy ──▶ ask the guard ──▶ arm what it grants
 *                          ▲                         └── held ──▶ wait for a person
 *                          └── guardReleased, guardDiscarded ◀───────────┘
 *   cleared, standDown ──▶ the same signal to those armed; nothing waits any more
 *
 * Signals during a round lead to one more round in total.
 *
 * The service keeps the armed SIMs, so a run started again after a cancel or a termination signals them too. If its
 * first round finds the pool under its limit, those SIMs have missed `cleared`.
 */

import {
  ActivityFailure,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { PoolRound } from '../activities/enforcement.ts'
import { counted } from '../domain/quantity.ts'
import type { EnforcePoolInput, EnforcePoolState } from '../domain/temporal/enforce-pool.ts'
import { ALERT_SIGNALS, type AlertSignal, GUARD_SIGNALS } from '../domain/temporal/signals.ts'
import type { Timeline } from '../domain/temporal/timeline.ts'
import { failureOf, logAction, long } from './run/activities.ts'
import { answerState, openTimeline, showState } from './run/timeline.ts'

/** The state passed on to a continued run. */
interface CarriedState {
  readonly state: PoolState
  readonly timeline: Timeline
  readonly next: Next
  readonly toldTooLittle: boolean
}
/** The next action. `decided`: a person has decided about a hold of the guard. */
type Next = AlertSignal | 'decided' | null

type PoolState = { -readonly [Key in keyof Omit<EnforcePoolState, keyof Timeline>]: EnforcePoolState[Key] }

/** @param carried state of the run that this one continues; absent in the first run, which begins with a round */
export async function enforcePool(input: EnforcePoolInput, carried?: CarriedState): Promise<EnforcePoolState> {
  const timeline = openTimeline(carried?.timeline)
  const none: PoolState = { armed: 0, rounds: 0, over: false, tooLittle: false, held: 0, holdId: null }
  const state = carried?.state ?? none
  const told = { tooLittle: carried?.toldTooLittle ?? false }
  let next: Next = carried === undefined ? 'overLimit' : carried.next
  const answer = () => ({ ...state, ...timeline.read() })
  answerState(answer)
  for (const name of ALERT_SIGNALS) {
    setHandler(defineSignal(name), () => {
      next = name
    })
  }
  for (const name of GUARD_SIGNALS) {
    // Keep a waiting signal of the watchdog: its round asks the guard again anyway.
    setHandler(defineSignal(name), () => {
      next ??= 'decided'
    })
  }

  for (;;) {
    const left = Date.parse(input.cycleEndsAt) - Date.now()
    timeline.waits(...waitOf(input, state))
    if (left <= 0 || !(await condition(() => next !== null, left))) break
    const ask = next
    next = null
    timeline.goesOn()
    const before = wordOf(state)
    const outcome = await outliving(
      () => (ask === 'cleared' || ask === 'standDown' ? passOn(input, state, ask) : round(input, state, told)),
      { round: ask, poolId: input.poolId },
    )
    if (wordOf(state) !== before) showState(wordOf(state))
    // A pool still over is signalled at least every minute. A round without effect is not worth a step.
    if (outcome !== '') timeline.done(`${ask}/${state.rounds}`, outcome)
    if (workflowInfo().continueAsNewSuggested) {
      const toldTooLittle = told.tooLittle
      await continueAsNew<typeof enforcePool>(input, { state, timeline: timeline.read(), next, toldTooLittle })
    }
  }
  showState('ended')
  timeline.goesOn()
  return answer()
}

/** Survives a round that fails for good: the next signal begins another. @returns the actions taken, or why none */
async function outliving(act: () => Promise<string>, about: Readonly<Record<string, unknown>>): Promise<string> {
  try {
    return await act()
  } catch (error) {
    if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error
    const { code, detail } = failureOf(error)
    log.error('a round of enforcement has failed', { ...about, code, detail })
    return `failed: ${code}: ${detail}`
  }
}

/** The state shown in lists. */
function wordOf({ held, over }: PoolState): 'held' | 'over' | 'under' {
  if (held > 0) return 'held'
  return over ? 'over' : 'under'
}

/** What a pool waits for, why, and until when. */
function waitOf({ cycleEndsAt, rule }: EnforcePoolInput, { over, held, holdId }: PoolState): [string, string, string] {
  if (held === 0) return ['the next evaluation of the pool', over ? 'over' : 'under', cycleEndsAt]
  const why = `rule ${rule} may not suspend so many in an hour: ${counted(held, 'SIM')} held until a person decides`
  return [`the release or discard of hold ${holdId}`, why, cycleEndsAt]
}

/** Picks SIMs, asks the guard, and arms those it grants. @returns the actions taken; empty if nothing changed */
async function round(input: EnforcePoolInput, state: PoolState, told: { tooLittle: boolean }): Promise<string> {
  const { tenantId, poolId, cycleKey, rule, ruleFile, target, grace, until } = input
  const { workflowId } = workflowInfo()
  const ask = { tenantId, poolId, cycleKey, rule, ruleFile, target, grace, until, workflowId }
  const done = await long.stopPool(ask)
  const changed = note(state, done)
  const isNews = state.tooLittle && !told.tooLittle
  told.tooLittle ||= state.tooLittle
  if (isNews) await logTooLittle(input, done)
  const isFirst = state.rounds === 0
  state.rounds += 1
  if (isFirst && !done.over && done.armed > 0) return `under: ${await passOn(input, state, 'cleared')}`
  return changed || done.added > 0 ? wordsOf(done) : ''
}

/** @returns whether the pool's state changed: over or not, waiting for a person or not */
function note(state: PoolState, { over, tooLittle, held, holdId, armed }: PoolRound): boolean {
  const changed = over !== state.over || held !== state.held
  Object.assign(state, { over, tooLittle, held, holdId: held > 0 ? holdId : null, armed })
  return changed
}

const wordsOf = ({ over, told, held, holdId }: PoolRound): string =>
  `${over ? 'over' : 'under'}: ${counted(told, 'SIM')} armed, ${held === 0 ? 'none held' : `${held} held by hold ${holdId}`}`

/** Makes the service log, once, that stopping SIMs cannot end the pool's overage: a person has to look. */
async function logTooLittle(input: EnforcePoolInput, { overageMB, passedOver }: PoolRound): Promise<void> {
  const { tenantId, poolId, cycleKey: cycle, rule } = input
  const detail =
    `it is ${overageMB} MB over, and stopping all that rule ${rule} may stop does not cover it; ` +
    `left alone as exempt, in a weaker mode or held: ${counted(passedOver, 'SIM')}`
  const { workflowId } = workflowInfo()
  await logAction(tenantId, { poolId, cycle, rule, action: 'tooLittleToPick', counter: 0, detail, workflowId })
}

/** Passes a signal on to the armed SIMs. The service has withdrawn held permits. @returns the actions taken */
async function passOn(
  { tenantId, poolId, cycleKey: cycle, rule, ruleFile, grace, until }: EnforcePoolInput,
  state: PoolState,
  signal: 'cleared' | 'standDown',
): Promise<string> {
  const told = await long.tellArmed({ tenantId, poolId, cycle, rule, ruleFile, grace, until, signal })
  const withdrawn = state.held === 0 ? '' : `, ${state.held} that waited are left alone`
  Object.assign(state, { held: 0, holdId: null })
  if (signal === 'cleared') Object.assign(state, { over: false, tooLittle: false })
  return `${counted(told, 'SIM')} told${withdrawn}`
}

/**
 * Decides an alert after an evaluation of its rule: its next state, its tellings, and its wish to enforcement. Pure;
 * instants are epoch milliseconds. The caller decides only whether to carry the decision out.
 */

import type { ShadowAct } from '../../domain/alerts/shadow-entry.ts'
import type { LogLevel } from '../../domain/codes.ts'
import { levelAt } from '../ladder.ts'
import type { Rule } from '../rule.ts'
import { type AlertState, isFiring, isOpen, type ShadowMarks, unseen, type WithholdReason } from './alert-state.ts'
import { guardState, isHeld } from './guard.ts'
import { type AlertName, keyOfTelling } from './keys.ts'
import type { Permission } from './permission.ts'
import { goOn, lastingMs, nextState, standStill, standsStill, withdrawnState } from './phases.ts'
import { type TakeBack, takeBackOf } from './take-back.ts'
import { type AlertQuestion, alertNameOf, escalatesAt, type Telling, tell } from './telling.ts'

/**
 * The wish of an alert to enforcement.
 *
 * `over`: suspend. `clear`: its earlier wish is over. `standDown`: leave SIMs alone that are not yet suspended. `keep`:
 * no change, because no decision was possible, the facts are out of date, the alert recovers, or the cycle has ended.
 */
export type Wish = 'over' | 'clear' | 'standDown' | 'keep'

/** The reason why a telling or a wish is left out. */
export type AlertReason = WithholdReason | 'pending' | 'told' | 'error' | 'withdrawn'

export interface ShadowTelling extends Telling {
  readonly does: ShadowAct
}

export interface AlertDecision {
  readonly next: AlertState
  readonly entries: readonly Telling[]
  readonly notices: readonly Telling[]
  /** Notices that fired, and are no longer to be mailed; null if there are none. See `settled`. */
  readonly takeBack: TakeBack | null
  readonly wish: Wish
  readonly reasons: readonly AlertReason[]
  /** Whether it takes a place of its rule's hour: the guard on firing counts it. */
  readonly counts: boolean
  /** The effects that a rule in shadow would have had: for the operator alone. */
  readonly shadow: readonly ShadowTelling[]
  /** When the subject needs another evaluation even if nothing happens: a `for`, a silence or the like ends. */
  readonly nextCheckAt?: number
}

const NOTHING: Omit<AlertDecision, 'next'> = {
  entries: [],
  notices: [],
  takeBack: null,
  wish: 'keep',
  reasons: [],
  counts: false,
  shadow: [],
}

/** The time of an alert never goes back, though clocks and workers differ. */
const timeOf = ({ previous, now }: Pick<AlertQuestion, 'previous' | 'now'>): number =>
  Math.max(now, previous?.since ?? now)

/** Decides an alert of a rule that covers its subject. */
export function decideAlert(asked: AlertQuestion): AlertDecision {
  const { permission, previous } = asked
  const { shadow: before, ...open } = previous ?? { shadow: undefined }
  const decision = decideOpenly('phase' in open ? { ...asked, previous: open } : asked)
  if (permission.shadow === undefined) return decision
  const marks = before ?? marksOf(previous ?? unseen(asked.now), undefined)
  const would = decideOpenly({
    ...asked,
    permission: permission.shadow,
    guard: 'pass',
    previous: 'phase' in open ? asMarked(open, marks) : null,
  })
  return inShadow(decision, would, marks, asked)
}

/** The decision on an alert whose rule is in shadow. @param would the decision if the rule were permitted everything */
function inShadow(decision: AlertDecision, would: AlertDecision, { suspended }: ShadowMarks, asked: AlertQuestion) {
  const { next, wish } = would
  const { part, began } = next
  const isCut = wish === 'over' && asked.permission.shadow?.suspend === 'do' && suspended !== part
  const key = keyOfTelling(alertNameOf(asked), part, 'fired')
  const cut: ShadowTelling[] = isCut ? [{ does: 'suspend', kind: 'fired', key, since: began, times: 1 }] : []
  const marks = marksOf(next, isCut ? part : suspended)
  const checks = [decision.nextCheckAt, would.nextCheckAt].filter((at) => at !== undefined)
  return {
    ...decision,
    next: isEmpty(marks) ? decision.next : { ...decision.next, shadow: marks },
    shadow: [...doing('log', would.entries), ...doing('mail', would.notices), ...cut],
    ...(checks.length === 0 ? {} : { nextCheckAt: Math.min(...checks) }),
  }
}

const doing = (does: ShadowAct, tellings: readonly Telling[]): ShadowTelling[] =>
  tellings.map((telling) => ({ ...telling, does }))

const marksOf = ({ told, mailed, mailedAt }: AlertState, suspended: string | undefined): ShadowMarks => ({
  told,
  mailed,
  ...(mailedAt === undefined ? {} : { mailedAt }),
  ...(suspended === undefined ? {} : { suspended }),
})

const isEmpty = ({ told, mailed, suspended }: ShadowMarks): boolean =>
  told.length === 0 && mailed.length === 0 && suspended === undefined

/** The state as if the tellings of the rule in shadow had been sent. */
function asMarked({ mailedAt: _, ...open }: AlertState, { told, mailed, mailedAt }: ShadowMarks): AlertState {
  return { ...open, told, mailed, ...(mailedAt === undefined ? {} : { mailedAt }) }
}

/** Decides an alert by what its rule may do. */
function decideOpenly(asked: AlertQuestion): AlertDecision {
  const question = { ...asked, now: timeOf(asked) }
  const { outcome, cycle, now, staleSince } = question
  const previous = question.previous ?? unseen(now)
  if (outcome.error !== undefined)
    return { ...NOTHING, next: { ...standStill(previous, now), error: outcome.error }, reasons: ['error'] }
  const { rule } = outcome
  const state = { ...previous, error: null }
  const isStill = standsStill(rule, staleSince)
  const moved = isStill ? standStill(state, staleSince) : nextState(goOn(state, now), { outcome, cycle, now })
  const isTold = isKnown(moved, question)
  const { state: guarded, counts } = isTold ? askGuard(moved, question) : { state: moved, counts: false }
  const { next: told, entries, notices } = isTold ? tell(guarded, question) : { ...NOTHING, next: moved }
  const withheld = withheldOf(told, question)
  const { withheld: _, ...free } = told
  const next = withheld.length === 0 ? free : { ...free, withheld }
  const isToldBefore = next.phase === 'firing' && entries.length + notices.length === 0
  const checkAt = nextCheckAt(next, question)
  return {
    ...NOTHING,
    next,
    entries,
    notices,
    takeBack: toTakeBack(alertNameOf(question), previous, next),
    // In an ended cycle, no more actions.
    wish: isStill || now >= cycle.endsAt ? 'keep' : wishOf(rule, next, question.permission),
    counts,
    reasons: [
      ...(isToldBefore ? (['told'] as const) : []),
      ...(next.phase === 'pending' ? (['pending'] as const) : []),
      ...withheld,
    ],
    ...(checkAt === null ? {} : { nextCheckAt: checkAt }),
  }
}

function wishOf(rule: Rule, state: AlertState, { suspend }: Permission): Wish {
  if (state.phase === 'recovering') return 'keep'
  if (state.phase !== 'firing' || rule.event.params.suspend === undefined) return 'clear'
  return suspend === 'do' && isHeld(state) ? 'keep' : 'over'
}

/** Whether its tellings are certain: an alert that stands still, but whose conditions are no longer met, waits. */
const isKnown = ({ phase }: AlertState, { outcome: { rule, met }, staleSince }: AlertQuestion): boolean =>
  !standsStill(rule, staleSince) || (phase === 'firing' && met)

/** Asks the guard if a telling or an action is due. While a notice is held back, only an action takes a place. */
function askGuard(state: AlertState, { outcome: { rule }, permission, quiet, guard = 'pass' }: AlertQuestion) {
  const { actions, suspend } = rule.event.params
  const isMailed = actions.includes('email') && permission.notify
  const isActedOn = suspend !== undefined && permission.suspend === 'do'
  const asked = guardState(state, { answer: guard, isDue: isMailed || isActedOn, isMailed })
  return isActedOn || quiet === null ? asked : { ...asked, counts: false }
}

/** The reasons why a firing alert has fewer tellings and wishes than its rule might have. */
function withheldOf(state: AlertState, question: AlertQuestion): WithholdReason[] {
  const { outcome, permission, quiet, staleSince } = question
  const { rule } = outcome
  if (!isFiring(state)) return []
  const { actions, suspend } = rule.event.params
  const mails = actions.includes('email')
  const isUnsubscribed = mails && permission.isUnsubscribed === true
  const isLess =
    !permission.log ||
    (mails && !permission.notify && !isUnsubscribed) ||
    (suspend !== undefined && permission.suspend !== 'do')
  return [
    ...(mails && permission.notify && quiet !== null ? [quiet.reason] : []),
    ...(isUnsubscribed ? (['unsubscribed'] as const) : []),
    ...(isHeld(state) ? (['held'] as const) : []),
    ...(standsStill(rule, staleSince) ? (['nodata'] as const) : []),
    ...(isLess && permission.limit !== null ? [permission.limit] : []),
  ]
}

/** The earliest instant at which time alone may change the decision; null if none. */
function nextCheckAt(next: AlertState, question: AlertQuestion): number | null {
  const { outcome, cycle, quiet, staleSince } = question
  const { rule } = outcome
  const silencedUntil = quiet?.reason === 'silenced' && next.withheld?.includes('silenced') ? quiet.until : null
  const ofPhase = [
    next.phase === 'pending' ? next.since + lastingMs(rule.for, cycle) : null,
    next.phase === 'recovering' ? next.since + lastingMs(rule.keepFiring, cycle) : null,
  ]
  const ofTelling = [silencedUntil, escalatesAt(next, question)]
  const instants = [
    ...(standsStill(rule, staleSince) ? [] : ofPhase),
    ...(isKnown(next, question) ? ofTelling : []),
  ].filter((at) => at !== null)
  return instants.length === 0 ? null : Math.min(...instants)
}

/**
 * Finds notices to take back that no mail has yet: of an ended alert, of one that another alert now inhibits, of a
 * level that the tenant no longer accepts, or of a lower step of a ladder once a higher one is mailed.
 */
function toTakeBack(name: AlertName, previous: AlertState, next: AlertState): TakeBack | null {
  const has = ({ withheld = [] }: AlertState) => withheld.includes('inhibited') || withheld.includes('unsubscribed')
  if ((isFiring(previous) && next.phase === 'resolved') || (!has(previous) && has(next)))
    return takeBackOf(name, next, 'all')
  const isHigher = next.steppedAt !== undefined && next.steppedAt !== previous.steppedAt
  return isHigher ? takeBackOf(name, next, 'lower') : null
}

/**
 * The level that an alert of a covered subject will have. Without a ladder it is the rule's.
 *
 * Quiet and subscriptions depend on the level, so it is computed before the decision.
 */
export function levelOf({
  outcome,
  cycle,
  staleSince,
  previous,
  now,
}: Pick<AlertQuestion, 'outcome' | 'cycle' | 'staleSince' | 'previous' | 'now'>): LogLevel {
  const { rule } = outcome
  if (rule.ladder === null) return rule.level
  const state = previous ?? unseen(now)
  const stays = outcome.error !== undefined || standsStill(rule, staleSince)
  return levelAt(rule, (stays ? state : nextState(state, { outcome, cycle, now })).step)
}

interface WithdrawalQuestion {
  readonly name: AlertName
  readonly previous: AlertState
  readonly now: number
}

/**
 * Ends an alert whose rule no longer covers its subject: the rule or the subject is gone, or they no longer match.
 * Reported to the log only, and only if the log has the alert.
 */
export function withdrawAlert({ name, previous, now }: WithdrawalQuestion): AlertDecision {
  const { shadow: marks, ...open } = previous
  const decision = withdrawOpenly({ name, previous: open, now })
  if (marks === undefined) return decision
  const would = withdrawOpenly({ name, previous: asMarked(open, marks), now })
  return { ...decision, next: { ...decision.next, shadow: marks }, shadow: doing('log', would.entries) }
}

function withdrawOpenly({ name, previous, now: at }: WithdrawalQuestion): AlertDecision {
  const now = timeOf({ previous, now: at })
  const fired = previous.told.findLast((mark) => mark.startsWith('fired'))
  const part = fired?.slice('fired'.length) ?? ''
  const isTold = isOpen(previous) && fired !== undefined && !previous.told.includes(`resolved${part}`)
  const next = withdrawnState(previous, now)
  return {
    ...NOTHING,
    next,
    entries: isTold ? [{ kind: 'withdrawn', key: keyOfTelling(name, part, 'withdrawn'), since: now, times: 1 }] : [],
    takeBack: isFiring(previous) ? takeBackOf(name, next, 'all') : null,
    wish: 'standDown',
    reasons: ['withdrawn'],
  }
}

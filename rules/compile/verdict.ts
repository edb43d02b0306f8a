/** The verdict of compiled rules on a subject: whether an evaluation by the engine would change an alert. Pure. */
import type { LogLevel } from '../../domain/codes.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import { decideAlert, type Leveled, levelOf } from '../alerts/decide.ts'
import type { GuardAnswer } from '../alerts/guard.ts'
import type { Permission } from '../alerts/permission.ts'
import type { Quiet } from '../alerts/quiet.ts'
import { standsStill } from '../alerts/stand-still.ts'
import { type AlertState, isSame } from '../alerts/state.ts'
import type { RuleOutcome } from '../engine/evaluate.ts'
import { type Answer, NO, UNKNOWN, YES } from './answer.ts'
import type { CompiledRule } from './compile-rule.ts'
import { type FlipMoment, NEVER, nextLookAt } from './flip.ts'
import type { FactRow } from './row.ts'

export interface Known {
  readonly subject: Subject
  readonly cycle: Cycle
  readonly now: number
  readonly permission: Permission
  readonly quiet: Quiet | null
  readonly escalateAfterMs: number | null
  /** Since when the tenant's usage feed is stale; null: it is not. */
  readonly staleSince: number | null
  readonly guard?: GuardAnswer
  /** State of the rule's alert in its scope; null if there is none yet. */
  readonly stored: AlertState | null
}

/**
 * `unchanged`: an evaluation would leave the alert unchanged, without tellings. `unknown`: a fact that was not read
 * decides. The wishes of a firing alert are not compared.
 */
export type Verdict = 'unchanged' | 'changed' | 'unknown'

/** The verdict on one rule, and when an alert that stays pending needs an evaluation; epoch milliseconds. */
export interface RuleVerdict {
  readonly verdict: Verdict
  readonly checkAt?: number | undefined
}

/** Whether an evaluation would surely leave it that there is no alert of a rule. */
export const beginsNothing = ({ holds }: CompiledRule, row: FactRow): boolean => holds(row) === NO

/**
 * The earliest instant at which time alone may change an answer of rules attached to a subject; {@link NEVER} if it
 * cannot.
 *
 * @param tariffs bit of the governing tariff of a SIM (`tariffBit`); 0 for other subjects
 */
export function flipsAt(
  attached: readonly CompiledRule[],
  row: FactRow,
  moment: FlipMoment & { readonly staleSince: number | null },
  tariffs: number,
): number {
  let first = NEVER
  for (const one of attached) {
    first = Math.min(first, one.flipAt(row, moment, tariffs))
    // A look notices the end of a stand-still.
    if (standsStill(one.rule, moment.staleSince)) first = Math.min(first, nextLookAt(moment.now, moment.cycle))
  }
  return first
}

/** Decides on one rule attached to a subject. */
export function verdictOn(compiled: CompiledRule, row: FactRow, known: Known): RuleVerdict {
  const { holds, clear, occurrence } = compiled
  const { stored } = known
  if (stored === null && beginsNothing(compiled, row)) return { verdict: 'unchanged' }
  const held = holds(row)
  if (held === UNKNOWN) return { verdict: 'unknown' }
  const cleared = clear === null ? null : clear(row)
  const which = occurrence(row)
  if (cleared === UNKNOWN || which === undefined) return { verdict: 'unknown' }
  const { next, nextCheckAt } = decideAlert({
    outcome: outcomeOf(compiled, row, { isMet: held === YES, cleared, which }),
    subject: known.subject,
    cycle: known.cycle,
    permission: known.permission,
    quiet: known.quiet,
    escalateAfterMs: known.escalateAfterMs,
    staleSince: known.staleSince,
    ...(known.guard === undefined ? {} : { guard: known.guard }),
    previous: stored,
    now: known.now,
  })
  // A telling always changes the state.
  const stays = stored === null ? next.phase === 'inactive' : isSame(next, stored)
  return stays ? { verdict: 'unchanged', checkAt: nextCheckAt } : { verdict: 'changed' }
}

interface Answered {
  readonly isMet: boolean
  /** Null: the rule has no clear conditions. */
  readonly cleared: Answer | null
  readonly which: string | null
}

/** The answer that the engine would give. */
function outcomeOf({ rule, step }: CompiledRule, row: FactRow, { isMet, cleared, which }: Answered): RuleOutcome {
  const reached = isMet ? step(row) : null
  return {
    rule,
    met: isMet,
    ...(reached === null ? {} : { step: reached }),
    ...(cleared === null ? {} : { clear: cleared === YES }),
    occurrence: which,
    explanation: [],
  }
}

/** The level that a rule's alert will have. An unknown answer makes the verdict unknown, and the level irrelevant. */
export function levelIn(compiled: CompiledRule, row: FactRow, known: Omit<Leveled, 'outcome'>): LogLevel {
  const { rule, holds, clear, occurrence } = compiled
  if (rule.ladder === null) return rule.level
  const answered = { isMet: holds(row) === YES, cleared: clear?.(row) ?? null, which: occurrence(row) ?? null }
  return levelOf({ ...known, outcome: outcomeOf(compiled, row, answered) })
}

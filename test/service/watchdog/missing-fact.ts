/** Rules after a fault of the service: a fact that they read is missing. */

import { type Answer, NO, YES } from '../../../rules/compile/comparisons.ts'
import type { RulesInForce } from '../../../service/rules/rules-in-force.ts'

const ANSWERS: readonly Answer[] = [YES, NO]

/**
 * Rules that the engine cannot decide, because it misses a fact. A look finds their subjects changed, so each is evaluated.
 *
 * @param names of the rules; the others stay as they are
 */
export function missingFact(inForce: RulesInForce, names: ReadonlySet<string>): RulesInForce {
  const { rules, compiled } = inForce
  const conditions = { all: [{ fact: 'noSuchFact', operator: 'greaterThan', value: 0 }] }
  const attach: typeof compiled.attach = (to) =>
    compiled.attach(to).flatMap((one) => {
      if (!names.has(one.rule.name)) return [one]
      // One of the two changes the alert, whatever its state; a stale feed holds back neither.
      const rule = { ...one.rule, readsUsage: false }
      return ANSWERS.map((answer) => ({ ...one, rule, holds: () => answer }))
    })
  return {
    ...inForce,
    rules: rules.map((rule) => (names.has(rule.name) ? { ...rule, conditions } : rule)),
    compiled: { ...compiled, attach },
  }
}

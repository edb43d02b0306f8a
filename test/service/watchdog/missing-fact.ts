/** Rules after a fault of the service: a fact that they read is missing. */
import { type Answer, NO, YES } from '../../../rules/compile/comparisons.ts'
import type { ReadRules, RulesInForce } from '../../../service/rules/rules-in-force.ts'
import type { EvaluationOptions } from '../../../service/watchdog/evaluation-options.ts'

const ANSWERS: readonly Answer[] = [YES, NO]

/** Rules that the engine cannot decide, because it misses a fact. A look finds their subjects changed, so each is evaluated. */
function undecidable(inForce: RulesInForce, names: ReadonlySet<string>): RulesInForce {
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

/** From now on the engine misses a fact that these rules read. @param names at any time */
export function missFact(options: EvaluationOptions, names: ReadonlySet<string>): void {
  const read = options.rules
  const rules: ReadRules = async (tx) => {
    const inForce = await read(tx)
    return names.size === 0 ? inForce : undecidable(inForce, names)
  }
  Object.assign(options, { rules })
}

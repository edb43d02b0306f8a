/** Which rules a backtest tests. One that was tested lately, and decides the same since, may be promoted to `enforce`. */
import { createHash } from 'node:crypto'
import { decisionOf } from '../../rules/diff.ts'
import type { Rule } from '../../rules/rule.ts'
import { isTested, type TestedRules } from '../../store/replay/backtests.ts'
import type { PlatformTx } from '../../store/tenancy.ts'

/** A backtest counts for so long. */
const COUNTS_DAYS = 30

const hashOf = (rule: Rule): string => createHash('sha256').update(decisionOf(rule)).digest('hex')

/** The rules that a backtest tests: a rule in `off` is not decided. Pure. */
export const testedOf = (rules: readonly Rule[]): TestedRules =>
  Object.fromEntries(rules.filter(({ event }) => event.params.stage !== 'off').map((rule) => [rule.name, hashOf(rule)]))

/** Whether a backtest of the last 30 days that is done has tested a rule as it decides now. */
export const isBacktested = (tx: PlatformTx, rule: Rule): Promise<boolean> =>
  isTested(tx, rule.name, hashOf(rule), new Date(tx.now.getTime() - COUNTS_DAYS * 86_400_000))

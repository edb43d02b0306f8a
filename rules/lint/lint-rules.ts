/** Checks a rule set that the gate accepts for oddities. Pure. */

import { LINT_CODES } from '../lint-codes.ts'
import type { Rule } from '../rule.ts'
import { adviceOn } from './advice-on.ts'
import { checkRanges } from './check-ranges.ts'
import { type Finding, findingOf } from './finding.ts'
import { saidTwice } from './said-twice.ts'

/** @returns findings by file, without muted ones */
export function lintRules(rules: readonly Rule[]): Finding[] {
  const muted = new Map(rules.map(({ name, muted: codes }) => [name, codes]))
  const each = rules.flatMap((rule) =>
    [...checkRanges(rule), ...adviceOn(rule)].map((remark) => findingOf(rule, remark)),
  )
  return [...each, ...saidTwice(rules)]
    .filter(({ rule, code }) => muted.get(rule)?.[code] === undefined)
    .toSorted((a, b) => (a.file === b.file ? order(a) - order(b) : a.file < b.file ? -1 : 1))
}

const order = ({ code }: Finding): number => Object.keys(LINT_CODES).indexOf(code)

/** Checks a rule set that the gate accepts for oddities. Pure. */
import type { Leaf } from '../conditions.ts'
import { ruleText } from '../diff-rules.ts'
import { placeInFile } from '../ladder.ts'
import type { Rule } from '../rule.ts'
import { LINT_CODES } from '../rule-file.ts'
import { adviceOn } from './advice-on.ts'
import { checkRanges, isRangeWithin, type Remark, rangeOf, required } from './check-ranges.ts'

export interface Finding extends Remark {
  readonly rule: string
  readonly file: string
}

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

const findingOf = (rule: Rule, remark: Remark): Finding => ({
  rule: rule.name,
  file: rule.file,
  ...remark,
  pointer: placeInFile(rule, remark.pointer),
})

/** The effects and the subjects of a rule: only rules that agree in both are compared. */
const effectOf = ({ subject, match, event, level, ladder }: Rule): string => {
  const { actions, suspend = null, stage, once } = event.params
  return JSON.stringify([subject, match, level, ladder, actions.toSorted(), suspend, stage, once])
}

/** Rules that add nothing to another. Of two equal ones, the later name is reported. */
function saidTwice(rules: readonly Rule[]): Finding[] {
  const groups = Map.groupBy(
    rules.filter(({ event }) => event.params.stage !== 'off'),
    effectOf,
  )
  return [...groups.values()].flatMap((alike) =>
    alike.flatMap((rule, n) => {
      const same = alike.slice(0, n).find((other) => ruleText(other.conditions) === ruleText(rule.conditions))
      if (same !== undefined) {
        const says = `${same.name} (${same.file}) has the same conditions, level and actions`
        return [findingOf(rule, { pointer: '/conditions', code: 'duplicate', says })]
      }
      const wider = alike.find((other) => other !== rule && isImplied(rule, other))
      if (wider === undefined) return []
      const says = `${wider.name} (${wider.file}) fires whenever it does, and does as much`
      return [findingOf(rule, { pointer: '/conditions', code: 'subsumed', says })]
    }),
  )
}

/** Whether a rule's conditions imply another's. Decided only for plain lists of comparisons. */
function isImplied(rule: Rule, other: Rule): boolean {
  const [ours, theirs] = [plainLeaves(rule), plainLeaves(other)]
  if (ours === undefined || theirs === undefined) return false
  if (ruleText(rule.conditions) === ruleText(other.conditions)) return false
  return theirs.every((their) => ours.some((our) => implies(our, their)))
}

const plainLeaves = ({ conditions }: Rule): Leaf[] | undefined =>
  'all' in conditions && conditions.all.every((member) => 'fact' in member || 'all' in member)
    ? required(conditions)
    : undefined

function implies(our: Leaf, their: Leaf): boolean {
  if (our.fact !== their.fact) return false
  const [inner, outer] = [rangeOf(our), rangeOf(their)]
  if (inner !== undefined && outer !== undefined) return isRangeWithin(inner, outer)
  return ruleText(our) === ruleText(their)
}

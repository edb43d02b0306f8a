/** Ranges of a fact's values that comparisons with numbers permit. Pure. */
import { type Condition, type Group, type Leaf, leavesAt } from '../conditions.ts'
import { ruleText } from '../diff-rules.ts'
import type { Fact } from '../facts.ts'
import type { Ladder } from '../ladder.ts'
import { matchedFacts } from '../matched-facts.ts'
import type { Rule } from '../rule.ts'
import type { LintCode } from '../rule-file.ts'

export interface Remark {
  /** JSON pointer into the rule's file. */
  readonly pointer: string
  readonly code: LintCode
  readonly says: string
}

/** Numbers between two bounds. An open bound is not in it. */
interface Range {
  readonly from: number
  readonly to: number
  readonly isFromOpen: boolean
  readonly isToOpen: boolean
}
const ALL: Range = { from: -Infinity, to: Infinity, isFromOpen: false, isToOpen: false }

/** The comparisons that must all be met: those of the group, and of `all` groups in it. */
export const required = (condition: Condition): Leaf[] =>
  'all' in condition ? condition.all.flatMap(required) : 'fact' in condition ? [condition] : []

/** The numbers that meet a comparison; undefined if they are not one range. */
export function rangeOf({ operator, value }: Leaf): Range | undefined {
  if (typeof value !== 'number') return undefined
  switch (operator) {
    case 'equal':
      return { ...ALL, from: value, to: value }
    case 'lessThan':
    case 'not:greaterThanInclusive':
      return { ...ALL, to: value, isToOpen: true }
    case 'lessThanInclusive':
    case 'not:greaterThan':
      return { ...ALL, to: value }
    case 'greaterThan':
    case 'not:lessThanInclusive':
      return { ...ALL, from: value, isFromOpen: true }
    case 'greaterThanInclusive':
    case 'not:lessThan':
      return { ...ALL, from: value }
    default:
      return undefined
  }
}

function both(a: Range, b: Range): Range {
  const from = Math.max(a.from, b.from)
  const to = Math.min(a.to, b.to)
  return {
    from,
    to,
    isFromOpen: [a, b].some((each) => each.from === from && each.isFromOpen),
    isToOpen: [a, b].some((each) => each.to === to && each.isToOpen),
  }
}

const isEmpty = ({ from, to, isFromOpen, isToOpen }: Range): boolean =>
  from > to || (from === to && (isFromOpen || isToOpen))

/** Whether every number of one range is in the other. */
export const isRangeWithin = (inner: Range, outer: Range): boolean =>
  (inner.from > outer.from || (inner.from === outer.from && (inner.isFromOpen || !outer.isFromOpen))) &&
  (inner.to < outer.to || (inner.to === outer.to && (inner.isToOpen || !outer.isToOpen)))

function possible({ min, max, codes }: Fact): Range {
  const known = Object.values(codes ?? {})
  return known.length > 0
    ? { ...ALL, from: Math.min(...known), to: Math.max(...known) }
    : { ...ALL, from: min ?? -Infinity, to: max ?? Infinity }
}

/** Conditions that can never be met, and comparisons that always are. */
export function checkRanges({ subject, match, conditions, ladder }: Rule): Remark[] {
  const facts = matchedFacts(subject, match)
  const never = groupsOf(conditions, '/conditions').flatMap((group) => contradictions(group, facts))
  const always = leavesAt(conditions, '/conditions').flatMap(([leaf, pointer]): Remark[] => {
    const fact = facts.get(leaf.fact)
    const range = rangeOf(leaf)
    if (fact === undefined || fact.nullable || range === undefined || !isRangeWithin(possible(fact), range)) return []
    return [{ pointer, code: 'always', says: `${ruleText(leaf)} is always met: ${boundsOf(fact)}` }]
  })
  return [...never, ...always, ...(ladder === null ? [] : beyondReach(ladder, facts.get(ladder.fact)))]
}

/** Steps above the greatest value of their fact. The first is among the conditions. */
const beyondReach = ({ steps: [, ...higher] }: Ladder, fact: Fact | undefined): Remark[] =>
  higher.flatMap(({ at }, n): Remark[] =>
    fact === undefined || fact.max === null || at <= fact.max
      ? []
      : [{ pointer: `/ladder/steps/${n + 1}/at`, code: 'impossible', says: `is never reached: ${boundsOf(fact)}` }],
  )

function contradictions([group, pointer]: [Group, string], facts: ReadonlyMap<string, Fact>): Remark[] {
  if (!('all' in group)) return []
  const leaves = Map.groupBy(required(group), ({ fact }) => fact)
  return [...leaves].flatMap(([name, ofFact]): Remark[] => {
    const fact = facts.get(name)
    const ranges = ofFact.flatMap((leaf) => rangeOf(leaf) ?? [])
    const start = fact === undefined ? ALL : possible(fact)
    const values = new Set(
      ofFact.flatMap(({ operator, value }) =>
        operator === 'equal' && typeof value !== 'number' && typeof value !== 'object' ? [value] : [],
      ),
    )
    if (!isEmpty(ranges.reduce(both, start)) && values.size < 2) return []
    const says = `${ofFact.map(ruleText).join(' and ')} can never be met together${fact === undefined || ofFact.length > 1 ? '' : `: ${boundsOf(fact)}`}`
    return [{ pointer, code: 'impossible', says }]
  })
}

/** Groups with their places: an `all` inside an `all` is part of it. */
function groupsOf(condition: Condition, pointer: string): [Group, string][] {
  if ('fact' in condition) return []
  if ('not' in condition) return [[condition, pointer], ...groupsOf(condition.not, `${pointer}/not`)]
  const [kind, members] = 'all' in condition ? (['all', condition.all] as const) : (['any', condition.any] as const)
  const inner = members.flatMap((member, n) => groupsOf(member, `${pointer}/${kind}/${n}`))
  return [[condition, pointer], ...(kind === 'all' ? inner.filter(([group]) => !('all' in group)) : inner)]
}

const boundsOf = ({ name, min, max, codes }: Fact): string =>
  codes !== null
    ? `${name} is ${Object.values(codes).join(' or ')}`
    : `${name} is ${[min === null ? '' : `at least ${min}`, max === null ? '' : `at most ${max}`].filter((part) => part !== '').join(' and ')}`

/**
 * Which comparisons of rules the tests have tried. A comparison is covered when it was seen met and not met, and
 * decisive when in some evaluation it alone, the other way, would have turned the conditions that it stands in.
 */
import { YES } from '../compile/comparisons.ts'
import { compileConditions } from '../compile/compile-conditions.ts'
import { rowOf } from '../compile/fact-row.ts'
import { type Condition, type Group, leavesAt, leavesOf } from '../conditions.ts'
import type { Facts } from '../facts.ts'
import { placeInFile } from '../ladder.ts'
import type { Rule } from '../rule.ts'

export const WAYS = ['met', 'not met', 'decisive'] as const
export type Way = (typeof WAYS)[number]

export interface LeafCoverage {
  /** JSON pointer into the rule's file. */
  readonly pointer: string
  /** Such as `usagePct greaterThanInclusive 80`. */
  readonly words: string
  readonly seen: ReadonlySet<Way>
}

export interface TestCoverage {
  readonly rule: string
  readonly file: string
  readonly leaves: readonly LeafCoverage[]
  /** Share of leaves seen in all ways, percent; 100 without any. */
  readonly pct: number
}

interface LeafTrial extends LeafCoverage {
  readonly seen: Set<Way>
  readonly isMet: (facts: Facts) => boolean
}

export class Coverage {
  readonly #rules: readonly {
    readonly rule: Rule
    readonly groups: readonly { readonly group: Group; readonly leaves: readonly LeafTrial[] }[]
  }[]

  constructor(rules: readonly Rule[]) {
    this.#rules = rules.map((rule) => ({
      rule,
      groups: [
        groupOf(rule, rule.conditions, '/conditions'),
        ...(rule.clear === null ? [] : [groupOf(rule, rule.clear, '/event/params/clear')]),
      ],
    }))
  }

  /** Notes an evaluation. Every leaf is computed, also where others have decided. */
  note(name: string, facts: Facts): void {
    for (const { group, leaves } of this.#rules.find(({ rule }) => rule.name === name)?.groups ?? []) {
      const met = leaves.map(({ isMet }) => isMet(facts))
      const holds = valueOf(group, met)
      for (const [n, { seen }] of leaves.entries()) {
        seen.add(met[n] === true ? 'met' : 'not met')
        if (valueOf(group, met.with(n, met[n] !== true)) !== holds) seen.add('decisive')
      }
    }
  }

  get all(): readonly TestCoverage[] {
    return this.#rules.map(({ rule, groups }) => {
      const leaves = groups.flatMap((group) => group.leaves)
      const full = leaves.filter(({ seen }) => seen.size === WAYS.length).length
      return { rule: rule.name, file: rule.file, leaves, pct: leaves.length === 0 ? 100 : (100 * full) / leaves.length }
    })
  }
}

function groupOf(rule: Rule, group: Group, pointer: string) {
  const leaves = leavesAt(group, pointer).map(([leaf, at]): LeafTrial => {
    const { decide } = compileConditions(leaf, rule.subject)
    const operand = JSON.stringify(leaf.value)
    return {
      pointer: placeInFile(rule, at),
      words: `${leaf.fact} ${leaf.operator} ${operand.length > 60 ? `${operand.slice(0, 59).toWellFormed()}…` : operand}`,
      seen: new Set(),
      isMet: (facts) => decide(rowOf(facts)) === YES,
    }
  })
  return { group, leaves }
}

/** The value of conditions, from the values of their leaves in order. */
function valueOf(condition: Condition, met: readonly boolean[]): boolean {
  const counted = (members: readonly Condition[]) => {
    let from = 0
    return members.map((member) => {
      const to = from + leavesOf(member).length
      const value = valueOf(member, met.slice(from, to))
      from = to
      return value
    })
  }
  if ('all' in condition) return counted(condition.all).every(Boolean)
  if ('any' in condition) return condition.any.length === 0 || counted(condition.any).some(Boolean)
  if ('not' in condition) return !valueOf(condition.not, met)
  return met[0] === true
}

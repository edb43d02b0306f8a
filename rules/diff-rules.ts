/** Compares two rule sets by meaning: defaults filled in, the order and nesting of conditions left aside. Pure. */

import { LogLevel, labelOf } from '../domain/codes.ts'
import type { Difference, RuleDifference } from '../domain/rules/rule-difference.ts'
import { type Condition, isReference } from './conditions.ts'
import { type Ladder, ownConditions } from './ladder.ts'
import type { For, Rule } from './rule.ts'

/** @returns rules that differ between the sets, by name */
export function diffRules(before: readonly Rule[], after: readonly Rule[]): RuleDifference[] {
  const [old, now] = [before, after].map((rules) => new Map(rules.map((rule) => [rule.name, rule])))
  const names = [...new Set([...before, ...after].map(({ name }) => name))].toSorted()
  return names.flatMap((name): RuleDifference[] => {
    const [was, is] = [old?.get(name), now?.get(name)]
    if (was === undefined) return [{ name, change: 'added', differences: [] }]
    if (is === undefined) return [{ name, change: 'removed', differences: [] }]
    const differences = differencesOf(was, is)
    return differences.length === 0 ? [] : [{ name, change: 'changed', differences }]
  })
}

type RuleText = readonly (readonly [aspect: Difference['aspect'], field: string, said: readonly string[]])[]

function differencesOf(was: Rule, is: Rule): Difference[] {
  const later = saidBy(is)
  return saidBy(was).flatMap(([aspect, field, said], n): Difference[] => {
    const now = later[n]?.[2] ?? []
    const before = said.filter((each) => !now.includes(each))
    const after = now.filter((each) => !said.includes(each))
    return before.length + after.length === 0 ? [] : [{ aspect, field, before, after }]
  })
}

/** All statements of a rule, field by field, always the same fields. */
function saidBy(rule: Rule): RuleText {
  const { subject, match, clear, event, description, ladder } = rule
  const conditions = ownConditions(rule)
  const { level, actions, suspend, once, occurrence, stage, message, resolvedMessage } = event.params
  const maybe = (text: string | undefined): string[] => (text === undefined ? [] : [text])
  return [
    ['when', 'conditions', conditions === null ? [] : membersOf(conditions)],
    ['when', 'ladder', ladder === null ? [] : stepsOf(ladder)],
    ['when', 'clear', clear === null ? [] : membersOf(clear)],
    ['when', 'for', [lasting(rule.for)]],
    ['when', 'keepFiring', [lasting(rule.keepFiring)]],
    ['for whom', 'subject', [subject]],
    [
      'for whom',
      'match',
      Object.entries(match).map(([field, value]) => `${field} ${[value].flat().toSorted().join(', ')}`),
    ],
    ['what', 'level', maybe(level)],
    ['what', 'actions', actions.toSorted()],
    [
      'what',
      'suspend',
      suspend === undefined ? [] : [`${suspend.target} after ${suspend.grace ?? 'PT0S'} until ${suspend.until}`],
    ],
    ['what', 'once', [occurrence === undefined ? once : `${once} (${occurrence})`]],
    ['what', 'resolve', [rule.resolve]],
    ['what', 'stage', [stage]],
    ['words', 'message', [message]],
    ['words', 'resolvedMessage', maybe(resolvedMessage)],
    ['words', 'description', [description]],
    ['words', 'type', [event.type]],
  ]
}

/** The steps of a ladder as texts. */
const stepsOf = ({ fact, steps, every }: Ladder): string[] => [
  ...steps.map(({ at, level }) => `${fact} ${at} ${labelOf(LogLevel, level)}`),
  ...(every === null ? [] : [`${fact} every ${every}`]),
]

const lasting = (time: For): string => ('ms' in time ? `${time.ms / 1000} s` : `${time.cyclePct} % of the cycle`)

/** The members of a top group as texts: those of an `all` each alone, any other group as one. */
const membersOf = (group: Condition): string[] => ('all' in group ? flat(group, 'all').toSorted() : [ruleText(group)])

/** A condition in words, the same for any order of its members. */
export function ruleText(condition: Condition): string {
  if ('fact' in condition) {
    const { fact, operator, value } = condition
    return `${fact} ${operator} ${isReference(value) ? value.fact : JSON.stringify(value)}`
  }
  if ('not' in condition) return `not (${ruleText(condition.not)})`
  const kind = 'all' in condition ? 'all' : 'any'
  return `${kind} of (${[...new Set(flat(condition, kind))].toSorted().join('; ')})`
}

/** The members of a group, and of groups of its kind in it. */
function flat(condition: Condition, kind: 'all' | 'any'): string[] {
  const members =
    kind === 'all' && 'all' in condition ? condition.all : kind === 'any' && 'any' in condition ? condition.any : null
  return members === null ? [ruleText(condition)] : members.flatMap((member) => flat(member, kind))
}

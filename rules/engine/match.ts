/** Decides which rules are attached to a subject, and why others are not. Pure. */
import { labelOf, SimStatus } from '../../domain/codes.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { Rule } from '../rule.ts'
import type { Match } from '../rule-file.ts'

/** The properties of a subject that a rule's `match` is compared with. */
export interface MatchProperties {
  readonly subject: SubjectKind
  readonly tenantId: string
  /** Name of the pool; null outside pools. */
  readonly poolName: string | null
  /** Tag of a SIM; of the subject tag its pattern, which rules name alike; null for other subjects. */
  readonly tag: string | null
  /** Label of the governing tariff's type; null without a governing tariff. */
  readonly tariffType: string | null
  /** Of a SIM; null for other subjects. */
  readonly status: SimStatus | null
}

/** What a rule's `match` stands for that leaves the statuses out: provisioned SIMs. */
const PROVISIONED: NonNullable<Match['status']> = ['Active', 'Suspended']

/** The statuses of the SIMs that a rule is attached to. */
export const statusesOf = ({ status = PROVISIONED }: Match): readonly SimStatus[] =>
  status.map((label) => SimStatus[label])

/** Splits a pattern once. @returns a function that matches a text as {@link fitsPattern} does, and allocates nothing */
export function compilePattern(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return (text) => text === pattern
  return (text) => {
    const end = text.length - last.length
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let from = first.length
    for (const part of rest) {
      const at = text.indexOf(part, from)
      if (at < 0 || at + part.length > end) return false
      from = at + part.length
    }
    return true
  }
}

/** Whether a text fits a pattern, in which `*` stands for any number of characters, even none. Case-sensitive. */
export const fitsPattern = (pattern: string, text: string): boolean => compilePattern(pattern)(text)

/** A field of a rule that keeps it from a subject. */
export interface Misfit {
  readonly field: 'stage' | 'tenant' | 'pool' | 'tag' | 'tariffType' | 'status'
  /** The value that the rule requires. */
  readonly expected: string
  /** The value of the subject; null: none. */
  readonly got: string | null
}

function misfitOf(
  field: 'tenant' | 'pool' | 'tag',
  { match }: Rule,
  got: string | null,
  fits: (pattern: string, text: string) => boolean = fitsPattern,
): Misfit[] {
  const expected = match[field]
  return expected === undefined || (got !== null && fits(expected, got)) ? [] : [{ field, expected, got }]
}

const isSame = (pattern: string, text: string): boolean => pattern === text

function statusMisfit({ match }: Rule, { status }: MatchProperties): Misfit[] {
  const { status: labels = PROVISIONED } = match
  if (status === null || labels.some((label) => SimStatus[label] === status)) return []
  return [{ field: 'status', expected: labels.join(' or '), got: labelOf(SimStatus, status) }]
}

/** Whether a rule may be attached to some subject of a tenant. */
export const concernsTenant = (rule: Rule, tenantId: string): boolean => misfitOf('tenant', rule, tenantId).length === 0

/** The rules that may be attached to some subject of a tenant: none in stage `off`. */
export const rulesOfTenant = (rules: readonly Rule[], tenantId: string): Rule[] =>
  rules.filter((rule) => rule.event.params.stage !== 'off' && concernsTenant(rule, tenantId))

/** The fields that do not fit a subject of the rule's kind; none if the rule is attached to it. */
export function misfitsOf(rule: Rule, to: MatchProperties): Misfit[] {
  const isOff = rule.event.params.stage === 'off'
  const types: readonly string[] = [rule.match.tariffType ?? []].flat()
  const isOtherType = types.length > 0 && (to.tariffType === null || !types.includes(to.tariffType))
  return [
    ...(isOff ? [{ field: 'stage' as const, expected: 'any but off', got: 'off' }] : []),
    ...misfitOf('tenant', rule, to.tenantId),
    ...misfitOf('pool', rule, to.poolName),
    ...misfitOf('tag', rule, to.tag, to.subject === 'tag' ? isSame : fitsPattern),
    ...(isOtherType ? [{ field: 'tariffType' as const, expected: types.join(' or '), got: to.tariffType }] : []),
    ...statusMisfit(rule, to),
  ]
}

/** Whether a rule is attached to a subject. A rule in stage `off` is attached to none. */
export const isAttached = (rule: Rule, to: MatchProperties): boolean =>
  rule.subject === to.subject && misfitsOf(rule, to).length === 0

/** The rules attached to a subject, in the given order. */
export const rulesFor = (rules: readonly Rule[], to: MatchProperties): Rule[] =>
  rules.filter((rule) => isAttached(rule, to))

/** The patterns of tags that rules add up SIMs by, without duplicates. */
export const tagPatternsOf = (rules: readonly Rule[]): string[] => [
  ...new Set(rules.flatMap(({ subject, match: { tag } }) => (subject === 'tag' && tag !== undefined ? [tag] : []))),
]

/** Whether some rule may be attached to an Unprovisioned SIM of a tenant. */
export const mayWatchStock = (rules: readonly Rule[], tenantId: string): boolean =>
  rulesOfTenant(rules, tenantId).some(({ match }) => match.status?.includes('Unprovisioned') === true)

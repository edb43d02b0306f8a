/** Decides which rules are attached to a subject. */
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { Rule } from '../rule.ts'

/** The properties of a subject that a rule's `match` is compared with. */
export interface MatchProperties {
  readonly subject: SubjectKind
  readonly tenantId: string
  /** Name of the pool; null outside pools. */
  readonly poolName: string | null
  /** Tag of a SIM; null for other subjects. */
  readonly tag: string | null
  /** Label of the governing tariff's type; null without a governing tariff. */
  readonly tariffType: string | null
}

/**
 * Whether a text fits a pattern. In the pattern, `*` stands for any number of characters, even none. Case-sensitive.
 */
export function fitsPattern(pattern: string, text: string): boolean {
  const parts = pattern.split('*')
  const first = parts[0] ?? ''
  const last = parts.at(-1) ?? ''
  if (parts.length === 1) return text === pattern
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  const middle = text.slice(first.length, text.length - last.length)
  let from = 0
  for (const part of parts.slice(1, -1)) {
    const at = middle.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return true
}

const fits = (pattern: string | undefined, text: string | null): boolean =>
  pattern === undefined || (text !== null && fitsPattern(pattern, text))

/** Whether a rule may be attached to some subject of a tenant. */
export const concernsTenant = ({ match }: Rule, tenantId: string): boolean => fits(match.tenant, tenantId)

/** Whether a rule is attached to a subject. A rule in stage `off` is attached to none. */
export function isAttached({ subject, match, event }: Rule, to: MatchProperties): boolean {
  const types = match.tariffType === undefined ? null : [match.tariffType].flat()
  return (
    event.params.stage !== 'off' &&
    subject === to.subject &&
    fits(match.tenant, to.tenantId) &&
    fits(match.pool, to.poolName) &&
    fits(match.tag, to.tag) &&
    (types === null || types.some((type) => type === to.tariffType))
  )
}

/** The rules attached to a subject, in the given order. */
export const rulesFor = (rules: readonly Rule[], to: MatchProperties): Rule[] =>
  rules.filter((rule) => isAttached(rule, to))

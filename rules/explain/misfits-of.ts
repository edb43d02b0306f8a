/** Why a rule is not attached to a subject. Pure. */
import { fitsPattern, type MatchProperties } from '../engine/match.ts'
import type { Rule } from '../rule.ts'

/** A field of a rule that keeps it from a subject. */
export interface Misfit {
  readonly field: 'stage' | 'tenant' | 'pool' | 'tag' | 'tariffType'
  /** The value that the rule requires. */
  readonly expected: string
  /** The value of the subject; null: none. */
  readonly got: string | null
}

/** The fields that do not fit a subject of the rule's kind; none if the rule is attached to it. */
export function misfitsOf({ match, event }: Rule, to: MatchProperties): Misfit[] {
  const misfits: Misfit[] =
    event.params.stage === 'off' ? [{ field: 'stage', expected: 'any but off', got: 'off' }] : []
  const compare = (field: 'tenant' | 'pool' | 'tag', got: string | null) => {
    const expected = match[field]
    if (expected !== undefined && (got === null || !fitsPattern(expected, got))) misfits.push({ field, expected, got })
  }
  compare('tenant', to.tenantId)
  compare('pool', to.poolName)
  compare('tag', to.tag)
  const types: readonly string[] = [match.tariffType ?? []].flat()
  if (match.tariffType !== undefined && (to.tariffType === null || !types.includes(to.tariffType)))
    misfits.push({ field: 'tariffType', expected: types.join(' or '), got: to.tariffType })
  return misfits
}

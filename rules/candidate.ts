/** The rules of a candidate, a version that is tried beside the one in force. Pure. */
import { diffRules } from './diff.ts'
import type { Rule } from './rule.ts'

/**
 * The rules of a candidate that say something else than those in force, as they are decided beside them: under names that no
 * rule file may have, so that the two never share an alert. A rule that is off there is not decided.
 */
export function besides(inForce: readonly Rule[], candidate: readonly Rule[], version: number): Rule[] {
  const others = new Set(diffRules(inForce, candidate).map(({ name }) => name))
  return candidate
    .filter(({ name, event }) => others.has(name) && event.params.stage !== 'off')
    .map((rule) => ({ ...rule, name: `${rule.name}@${version}`, candidate: version }))
}

/** Whether an alert of a rule of this name is one of a candidate. */
export const isOfCandidate = (name: string): boolean => name.includes('@')

/** The name that a rule has in its file. */
export const plainName = (name: string): string => name.split('@', 1)[0] ?? name

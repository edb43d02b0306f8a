/**
 * Compiles a rule set once a version. The compiled rules are a filter: they find subjects without a change.
 * json-rules-engine decides about all others, and is the source of every explanation.
 */

import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { Rule } from '../rule.ts'
import { type Attach, attacher } from './attach.ts'
import { COMPARISONS, type Comparisons } from './comparisons.ts'
import { type CompiledRule, compileRule } from './compile-rule.ts'

export interface CompiledSet {
  /** In the order of the set. */
  readonly rules: readonly CompiledRule[]
  readonly attach: Attach
}

/** Compiles the rules of a loaded set. @param comparisons other operators, for tests */
export function compileSet(
  { rules }: { readonly rules: readonly Rule[] },
  comparisons: Comparisons = COMPARISONS,
): CompiledSet {
  const compiled = rules.map((rule) => compileRule(rule, comparisons))
  return { rules: compiled, attach: attacher(compiled) }
}

/** Names of the facts that rules read for one kind of subject, without duplicates. */
export const readsOf = (rules: readonly CompiledRule[], subject: SubjectKind): string[] => [
  ...new Set(rules.filter(({ rule }) => rule.subject === subject).flatMap(({ reads }) => reads)),
]

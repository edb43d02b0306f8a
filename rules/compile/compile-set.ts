/**
 * Compiles a rule set once a version. The compiled rules are a filter: they find subjects without a change.
 * json-rules-engine decides about all others, and is the source of every explanation.
 */

import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { type Facts, factsOf } from '../facts.ts'
import { type Moment, SIM_FACTS_BY_NAME, type SimFactRow } from '../facts-of.ts'
import type { Rule } from '../rule.ts'
import { type Attach, attacher } from './attach.ts'
import type { Comparisons } from './comparisons.ts'
import { type CompiledRule, compileRule } from './compile-rule.ts'
import { type FactRow, filling, fillingFrom } from './fact-row.ts'

export interface CompiledSet {
  /** In the order of the set. */
  readonly rules: readonly CompiledRule[]
  readonly attach: Attach
  readonly rows: Rows
}

type Fill = (facts: Facts) => FactRow

/** Functions that fill rows, by kind of subject. Each has one row, and fills it again for each subject. */
interface Rows extends Readonly<Record<SubjectKind, Readonly<Record<'narrow' | 'all', Fill>>>> {
  /** The narrow facts of a SIM, from their source data. */
  readonly line: (sim: SimFactRow, moment: Moment) => FactRow
}

/** Compiles the rules of a loaded set. @param comparisons other operators, for tests */
export function compileSet({ rules }: { readonly rules: readonly Rule[] }, comparisons?: Comparisons): CompiledSet {
  const compiled = rules.map((rule) => compileRule(rule, comparisons))
  return { rules: compiled, attach: attacher(compiled), rows: rowsOf(compiled) }
}

function rowsOf(rules: readonly CompiledRule[]): Rows {
  const narrow = (subject: SubjectKind) =>
    readsOf(rules, subject).filter((name) => factsOf(subject).get(name)?.isOnDemand === false)
  const of = (subject: SubjectKind) => ({ narrow: filling(narrow(subject)), all: filling(readsOf(rules, subject)) })
  const line = fillingFrom(narrow('sim'), SIM_FACTS_BY_NAME)
  return { sim: of('sim'), pool: of('pool'), tenant: of('tenant'), tag: of('tag'), line }
}

/** Names of the facts that rules read for one kind of subject, without duplicates. */
export const readsOf = (rules: readonly CompiledRule[], subject: SubjectKind): string[] => [
  ...new Set(rules.filter(({ rule }) => rule.subject === subject).flatMap(({ reads }) => reads)),
]

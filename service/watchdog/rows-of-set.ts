/** Fills rows of facts for the rules of a set. */
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { type CompiledSet, readsOf } from '../../rules/compile/compile-set.ts'
import { type FactRow, filling, fillingFrom } from '../../rules/compile/row.ts'
import { type Facts, factsOf } from '../../rules/facts.ts'
import { type Moment, SIM_FACTS_BY_NAME, type SimFactRow } from '../../rules/facts-of.ts'
import type { Width } from './read-facts.ts'

type Fill = (facts: Facts) => FactRow

/** Functions that fill rows. Each has one row, and fills it again for each subject. */
interface Rows extends Readonly<Record<SubjectKind, Readonly<Record<Width, Fill>>>> {
  /** The narrow facts of a SIM, from their source data. */
  readonly line: (sim: SimFactRow, moment: Moment) => FactRow
}

const rowsOfSets = new WeakMap<CompiledSet, Rows>()

/** The functions that fill rows for the rules of a set, by kind of subject. */
export function rowsFor(compiled: CompiledSet): Rows {
  const known = rowsOfSets.get(compiled)
  if (known !== undefined) return known
  const reads = (subject: SubjectKind) => readsOf(compiled.rules, subject)
  // The counts of a tenant are read with its name.
  const narrow = (subject: SubjectKind) =>
    reads(subject).filter((name) => {
      const cost = factsOf(subject).get(name)?.cost
      return cost === 'row' || (subject === 'tenant' && cost === 'scan')
    })
  const of = (subject: SubjectKind) => ({ narrow: filling(narrow(subject)), all: filling(reads(subject)) })
  const line = fillingFrom(narrow('sim'), SIM_FACTS_BY_NAME)
  const rows = { sim: of('sim'), pool: of('pool'), tenant: of('tenant'), line }
  rowsOfSets.set(compiled, rows)
  return rows
}

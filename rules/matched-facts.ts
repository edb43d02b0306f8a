/** The facts of the subjects that a rule is attached to. */
import type { SubjectKind } from '../domain/watchdog/subject.ts'
import { statusesOf } from './engine/match.ts'
import { type Fact, factsOf } from './facts.ts'
import type { Match } from './rule-file.ts'

/** The facts of a kind of subject; `status` has only the codes that a rule with this `match` meets. */
export function matchedFacts(subject: SubjectKind, match: Match): ReadonlyMap<string, Fact> {
  const facts = factsOf(subject)
  const status = facts.get('status')
  if (status === undefined) return facts
  const statuses: readonly number[] = statusesOf(match)
  const met = Object.entries(status.codes ?? {}).filter(([, code]) => statuses.includes(code))
  return new Map([...facts, [status.name, { ...status, codes: Object.fromEntries(met) }]])
}

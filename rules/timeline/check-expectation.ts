/** Checks the expectations of a test: their rules, subjects and SIMs exist. */
import { didYouMean } from '../../domain/did-you-mean.ts'
import { below, type Report } from '../load/faults.ts'
import type { Rule } from '../rule.ts'
import { subjectNames } from './subjects-of.ts'
import { ENTRY_KINDS, type TimelineTest } from './test-file.ts'

export function checkExpectation(test: TimelineTest, rules: readonly Rule[], at: string, report: Report): void {
  const { alerts = [], entries = [], suspensions = [] } = test.expect
  const ruleNames = rules.map(({ name }) => name)
  const subjects = subjectNames(test, rules[0]?.subject)
  const sims = test.facts === undefined ? Object.keys(test.sims ?? {}) : subjects
  const known = (name: string | undefined, names: readonly string[], pointer: string, what: string) => {
    if (name !== undefined && !names.includes(name)) report(pointer, name, what, didYouMean(name, names))
  }
  for (const [n, [, subject, , rule]] of alerts.entries()) {
    const pointer = `${at}/expect/alerts/${n}`
    known(subject, subjects, `${pointer}/1`, 'the name of a SIM or pool of the test, or tenant')
    known(rule, ruleNames, `${pointer}/3`, 'the name of a rule of the file')
  }
  for (const [n, entry] of entries.entries()) {
    const pointer = `${at}/expect/entries/${n}`
    const [kind, ...others] = ENTRY_KINDS.filter((each) => entry[each] !== undefined)
    if (kind === undefined || others.length > 0) {
      report(pointer, Object.keys(entry).join(', '), `exactly one of ${ENTRY_KINDS.join(', ')}`)
      continue
    }
    if (kind === 'wouldSuspend') known(entry[kind], sims, below(pointer, kind), 'the name of a SIM of the test')
    else known(entry[kind], ruleNames, below(pointer, kind), 'the name of a rule of the file')
    known(entry.subject, subjects, below(pointer, 'subject'), 'the name of a SIM or pool of the test, or tenant')
  }
  for (const [n, { sim }] of suspensions.entries())
    known(sim, sims, `${at}/expect/suspensions/${n}/sim`, 'the name of a SIM of the test')
}

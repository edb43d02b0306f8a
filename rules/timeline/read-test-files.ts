/** Reads test files, and checks them against the rules that they name. Every fault has its place. */

import { didYouMean } from '../../domain/did-you-mean.ts'
import { isTestName, type RuleSource } from '../../domain/rules/rule-source.ts'
import { checkShape } from '../load/check-shape.ts'
import { below, FaultList, type RuleFault, type TextPlace } from '../load/faults.ts'
import { placesIn, readSource } from '../load/read-source.ts'
import type { Rule } from '../rule.ts'
import { checkTest } from './check-test.ts'
import { isTestFile, TEST_BOUNDS, TestFile, type TimelineTest } from './test-file.ts'

export interface ReadTests {
  readonly file: string
  readonly rules: readonly Rule[]
  readonly tests: readonly TimelineTest[]
  readonly placeOf: (pointer: string) => TextPlace | undefined
}

/** The tests of a file: the rules that it names, and the titles. */
export interface TestTitles {
  readonly file: string
  readonly rules: string[]
  readonly titles: string[]
}

/** What the test files among those of a stored set test. Files that this build cannot read have none. */
export const titlesOfTests = (files: readonly RuleSource[]): TestTitles[] =>
  files.flatMap(({ file, text }) => {
    const value: unknown = isTestName(file) ? JSON.parse(text) : undefined
    if (!isTestFile(value)) return []
    return { file, rules: [...value.rules], titles: value.tests.map(({ title }) => title) }
  })

/** Reads test files. @param rules all rules that they may name @returns files without faults, and all faults */
export async function readTestFiles(
  sources: readonly RuleSource[],
  rules: readonly Rule[],
): Promise<{ readonly files: readonly ReadTests[]; readonly faults: readonly RuleFault[] }> {
  const faults = new FaultList()
  const files: ReadTests[] = []
  if (sources.length > TEST_BOUNDS.files) {
    faults.of('')('', sources.length, `at most ${TEST_BOUNDS.files} test files`)
    return { files, faults: faults.all }
  }
  for (const source of sources) {
    const before = faults.all.length
    const read = await faults.until(() => readOne(source, rules, faults))
    if (read !== undefined && faults.all.length === before) files.push(read)
  }
  return { files, faults: faults.all }
}

function readOne(source: RuleSource, rules: readonly Rule[], faults: FaultList): ReadTests | undefined {
  const read = readSource(source, faults)
  if (read === undefined) return undefined
  const { file, value, report } = read
  if (!checkShape(TestFile, value, '', report) || !isTestFile(value)) return undefined
  const named = value.rules.flatMap((name, n) => {
    const rule = rules.find((one) => one.name === name)
    const known = rules.map((one) => one.name)
    if (rule === undefined) report(below('/rules', n), name, 'the name of a rule', didYouMean(name, known))
    return rule ?? []
  })
  if (named.length < value.rules.length) return undefined
  for (const [n, test] of value.tests.entries()) checkTest(test, named, below('/tests', n), report)
  return { file, rules: named, tests: value.tests, placeOf: placesIn(source.text) }
}

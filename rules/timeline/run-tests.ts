/** Runs the tests of files: plays each timeline, and compares. */
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import type { RuleFault, TextPlace } from '../load/faults.ts'
import type { Rule } from '../rule.ts'
import { compare, type Miss } from './compare.ts'
import { Coverage, type TestCoverage } from './coverage.ts'
import { type PlayResult, play } from './play.ts'
import { type ReadTests, readTestFiles } from './read-test-files.ts'
import { TEST_BOUNDS } from './test-file.ts'

export interface TestFailure extends Miss {
  readonly at?: TextPlace
}

export interface TestResult {
  readonly file: string
  readonly title: string
  /** Empty: it has passed. */
  readonly failures: readonly TestFailure[]
}

export interface RunTests {
  readonly results: readonly TestResult[]
  /** Coverage of each rule by the tests, also of rules without any. */
  readonly coverage: readonly TestCoverage[]
}

/** @param rules whose coverage is computed */
export async function runTests(files: readonly ReadTests[], rules: readonly Rule[]): Promise<RunTests> {
  const coverage = new Coverage(rules)
  const results: TestResult[] = []
  let evaluations = 0
  for (const { file, rules: named, tests, placeOf } of files) {
    for (const [n, test] of tests.entries()) {
      const isLeftOut = evaluations >= TEST_BOUNDS.allEvaluations
      const played = isLeftOut ? undefined : await play(test, named, coverage)
      evaluations += played?.evaluations ?? 0
      const misses = played === undefined ? [LEFT_OUT] : missesOf(test.expect, played)
      const failures = misses.map((miss) => {
        const pointer = `/tests/${n}${miss.pointer === '' ? '' : `/expect${miss.pointer}`}`
        const at = placeOf(pointer)
        return { ...miss, pointer, ...(at === undefined ? {} : { at }) }
      })
      results.push({ file, title: test.title, failures })
    }
  }
  return { results, coverage: coverage.all }
}

const LEFT_OUT: Miss = {
  pointer: '',
  expected: `at most ${TEST_BOUNDS.allEvaluations} evaluations in all tests`,
  got: 'more before this test: make timelines shorter',
}

const CUT_OFF: Miss = {
  pointer: '',
  expected: `at most ${TEST_BOUNDS.evaluations} evaluations`,
  got: 'more: make the timeline shorter',
}

const missesOf = (expected: Parameters<typeof compare>[0], played: PlayResult): readonly Miss[] =>
  played.isCutOff ? [CUT_OFF] : compare(expected, played)

/** Reads and runs the tests of a set. @returns faults of the files; without any, those of failed tests */
export async function faultsOfTests(
  sources: readonly RuleSource[],
  rules: readonly Rule[],
): Promise<readonly RuleFault[]> {
  const { files, faults } = await readTestFiles(sources, rules)
  if (faults.length > 0) return faults
  const { results } = await runTests(files, [])
  return results.flatMap(({ file, title, failures }) =>
    failures.map((failure) => ({ file, ...failure, hint: `test "${title}"` })),
  )
}

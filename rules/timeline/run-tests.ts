/** Runs the tests of files: plays each timeline, and compares. */
import type { TextPlace } from '../load/faults.ts'
import type { Rule } from '../rule.ts'
import { compare, type Miss } from './compare.ts'
import { Coverage, type TestCoverage } from './coverage.ts'
import { play } from './play.ts'
import type { ReadTests } from './read-test-files.ts'
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
  for (const { file, rules: named, tests, placeOf } of files) {
    for (const [n, test] of tests.entries()) {
      const played = await play(test, named, coverage)
      const misses = played.isCutOff
        ? [
            {
              pointer: '',
              expected: `at most ${TEST_BOUNDS.evaluations} evaluations`,
              got: 'more: make the timeline shorter',
            },
          ]
        : compare(test.expect, played)
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

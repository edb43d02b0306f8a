/** A vitest reporter that counts a test run and writes the counts to a file for test/run.ts. */
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export interface SkippedTest {
  readonly file: string
  readonly title: string
}
export interface Tally {
  readonly passed: number
  /** Failed tests, files that could not run, and errors outside of tests: one line each, with place and reason. */
  readonly failures: readonly string[]
  /** Skipped tests, by file and full name. */
  readonly skipped: readonly SkippedTest[]
}

export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const file = process.env.SIMHERD_TEST_TALLY
    if (file === undefined) return
    let passed = 0
    const failures = errors.map((error) => `outside of the tests: ${why([error])}`)
    const skipped: SkippedTest[] = []
    for (const module of modules) {
      const path = relative('', module.moduleId)
      for (const error of module.errors()) failures.push(`${path}: ${why([error])}`)
      for (const suite of module.children.allSuites()) {
        for (const error of suite.errors()) failures.push(`${path} > ${suite.fullName}: ${why([error])}`)
      }
      for (const test of module.children.allTests()) {
        const { state, errors: reasons } = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'failed') failures.push(`${path} > ${test.fullName}: ${why(reasons)}`)
        else skipped.push({ file: path, title: test.fullName })
      }
    }
    writeFileSync(file, JSON.stringify({ passed, failures, skipped } satisfies Tally))
  }
}

/** The first line of each message. */
function why(errors: readonly { readonly message: string }[]): string {
  return errors.map(({ message }) => message.split('\n', 1)[0]).join('; ')
}

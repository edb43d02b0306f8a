/** Counts a test run for test/run.ts: a reporter that leaves its figures in a file. */
import { writeFileSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

export interface Tally {
  readonly passed: number
  /** Failed tests, files that could not be run, and errors outside of tests. */
  readonly failed: number
  /** Full names of what was not run. */
  readonly skipped: readonly string[]
}

export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const file = process.env.SIMHERD_TEST_TALLY
    if (file === undefined) return
    let passed = 0
    let failed = errors.length
    const skipped: string[] = []
    for (const module of modules) {
      failed += module.errors().length
      for (const suite of module.children.allSuites()) failed += suite.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'failed') failed += 1
        else skipped.push(test.fullName)
      }
    }
    writeFileSync(file, JSON.stringify({ passed, failed, skipped } satisfies Tally))
  }
}

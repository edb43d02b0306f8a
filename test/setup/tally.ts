/** A vitest reporter that counts a test run and writes the counts to a file for test/run.ts. */
import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { UserConsoleLog } from 'vitest'
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node'

/** A failed test, or what failed in a file beside its tests. */
export interface Failure {
  /** The test's full name, or the suite's; undefined if the whole file failed. */
  readonly title: string | undefined
  /** The first line of each error. */
  readonly reason: string
  /** The errors in full, with their stacks. */
  readonly detail: string
}
export interface FileTally {
  /** Relative to the repository. */
  readonly file: string
  readonly passed: number
  readonly failures: readonly Failure[]
  /** Full names of skipped tests. */
  readonly skipped: readonly string[]
  /** The last lines that the file printed. Only if it failed. */
  readonly printed: readonly string[]
}
export interface Tally {
  readonly files: readonly FileTally[]
  /** Errors outside of files, one line each. */
  readonly errors: readonly string[]
}

/** Enough for the log of a service that a test has started. */
const LINES_KEPT = 400

export default class TallyReporter implements Reporter {
  readonly #printed = new Map<string, string[]>()
  #vitest: Vitest | undefined

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onUserConsoleLog({ taskId, content }: UserConsoleLog): void {
    const file = taskId === undefined ? undefined : this.#vitest?.state.idMap.get(taskId)?.file.filepath
    if (file === undefined) return
    const lines = [...(this.#printed.get(file) ?? []), ...content.trimEnd().split('\n')]
    this.#printed.set(file, lines.slice(-LINES_KEPT))
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const file = process.env.TEST_TALLY
    if (file === undefined) return
    const tally: Tally = {
      files: modules.map((module) => this.#count(module)),
      errors: errors.map((error) => reasonOf([error])),
    }
    writeFileSync(file, JSON.stringify(tally))
  }

  #count(module: TestModule): FileTally {
    const failures: Failure[] = []
    const fail = (title: string | undefined, errors: readonly SerializedError[]) => {
      failures.push({ title, reason: reasonOf(errors), detail: errors.map(detailOf).join('\n\n') })
    }
    if (module.errors().length > 0) fail(undefined, module.errors())
    for (const suite of module.children.allSuites()) {
      if (suite.errors().length > 0) fail(suite.fullName, suite.errors())
    }
    let passed = 0
    const skipped: string[] = []
    for (const test of module.children.allTests()) {
      const { state, errors } = test.result()
      if (state === 'passed') passed += 1
      else if (state === 'failed') fail(test.fullName, errors)
      else skipped.push(test.fullName)
    }
    const printed = failures.length === 0 ? [] : (this.#printed.get(module.moduleId) ?? [])
    return { file: relative('', module.moduleId), passed, failures, skipped, printed }
  }
}

const reasonOf = (errors: readonly SerializedError[]): string =>
  errors.map(({ message }) => message.split('\n', 1)[0]).join('; ')

const detailOf = ({ message, stack = '', diff }: SerializedError): string =>
  [stack.includes(message) ? stack : `${message}\n${stack}`, diff].filter(Boolean).join('\n')

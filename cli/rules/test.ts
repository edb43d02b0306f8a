/** `simherd rules test [folder] [files…]` */
import { writeFile } from 'node:fs/promises'
import { placesIn } from '../../rules/load/read-source.ts'
import { type LeafCoverage, type TestCoverage, WAYS, type Way } from '../../rules/timeline/coverage.ts'
import { runTests, type TestFailure, type TestResult } from '../../rules/timeline/run-tests.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { print } from '../print.ts'
import { type CheckFlags, checkedRules } from './check.ts'
import { junitOf } from './junit.ts'

interface TestFlags extends CheckFlags {
  readonly coverage?: true
  /** Percent. */
  readonly threshold?: number
  /** File for JUnit XML. */
  readonly junit?: string
}

/**
 * Runs the tests of a folder.
 *
 * @param folder empty: the shipped rules
 * @param only of its test files, and so of the rules that they name; empty: all
 * @throws CommandFailure for a fault, a test that fails, or a rule below the threshold
 */
export async function testRules(folder: string, only: readonly string[], flags: TestFlags): Promise<void> {
  const { files, rules, tests } = await checkedRules(folder, flags, true)
  const unknown = only.find((file) => !tests.some((test) => test.file === file))
  if (unknown !== undefined)
    throw new CommandFailure(`there is no test file ${unknown} in the folder`, ExitCode.notFound)
  const chosen = tests.filter(({ file }) => only.length === 0 || only.includes(file))
  const tried = only.length === 0 ? rules : rules.filter((rule) => chosen.some((file) => file.rules.includes(rule)))
  const { results, coverage } = await runTests(chosen, tried)
  if (flags.junit !== undefined) await writeFile(flags.junit, junitOf(results))
  const failed = results.filter(({ failures }) => failures.length > 0)
  const isMeasured = flags.coverage === true || flags.threshold !== undefined
  const texts = new Map(files.map(({ file, text }) => [file, text]))
  const misses = isMeasured ? coverage.flatMap((rule) => missesOf(rule, texts.get(rule.file) ?? '')) : []
  if (flags.output === 'json') {
    const covered = isMeasured ? { coverage: coverage.map(({ rule, pct }) => ({ rule, pct })), misses } : {}
    print(JSON.stringify({ tests: results, ...covered }, null, 2))
  } else {
    for (const result of results) print(textOf(result))
    if (isMeasured) for (const { rule, pct } of coverage) print(`${rule}: ${Math.floor(pct)} % covered`)
    for (const { file, line, column, words, missing } of misses)
      print(`${file}:${line}:${column}: ${words}: never ${missing.join(', never ')}`)
    print(`${results.length - failed.length} of ${results.length} tests passed`)
  }
  const below = coverage.filter(({ pct }) => pct < (flags.threshold ?? 0))
  if (failed.length > 0) throw new CommandFailure(`${failed.length} of ${results.length} tests failed`)
  if (below.length > 0) {
    const named = below.map(({ rule, pct }) => `${rule} ${Math.floor(pct)} %`).join(', ')
    throw new CommandFailure(`below the threshold of ${flags.threshold} %: ${named}`)
  }
}

function missesOf({ file, leaves }: TestCoverage, text: string) {
  const placeOf = placesIn(text)
  const missing = ({ seen }: LeafCoverage): Way[] => WAYS.filter((way) => !seen.has(way))
  return leaves
    .filter((leaf) => missing(leaf).length > 0)
    .map((leaf) => ({ file, ...placeOf(leaf.pointer), words: leaf.words, missing: missing(leaf) }))
}

const textOf = ({ file, title, failures }: TestResult): string =>
  [
    `${failures.length === 0 ? 'ok  ' : 'FAIL'} ${file}: ${title}`,
    ...failures.map((one) => failureText(file, one)),
  ].join('\n')

const failureText = (file: string, { at, expected, got }: TestFailure): string =>
  `     ${file}:${at?.line ?? 1}:${at?.column ?? 1}:\n       expected ${expected}\n       got      ${got}`

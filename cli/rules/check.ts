/** `simherd rules check [folder]` */
import { counted } from '../../domain/quantity.ts'
import { readRuleFolder } from '../../process/rule-files.ts'
import { faultWords, type RuleFault } from '../../rules/load/faults.ts'
import { loadRuleSet } from '../../rules/load/load-rule-set.ts'
import type { Rule } from '../../rules/rule.ts'
import { readTestFiles } from '../../rules/timeline/read-test-files.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { print } from '../print.ts'

export interface CheckFlags {
  readonly output: 'text' | 'json'
}

/**
 * Checks the rule files of a folder as a service would, without one.
 *
 * @param folder empty: the shipped rules
 * @throws CommandFailure if there is a fault; each was printed
 */
export async function checkFolder(folder: string, flags: CheckFlags): Promise<void> {
  const { files, rules, tests } = await checkedRules(folder, flags, true)
  if (flags.output === 'json') printJson(files.length, rules, [])
  else
    print(
      `${counted(files.length, 'file')}, ${counted(rules.length, 'rule')}${tests.length === 0 ? '' : `, ${counted(tests.length, 'test file')}`}: no faults`,
    )
}

/** Reads the rule files of a folder, and with `withTests` its test files. @throws CommandFailure if there is a fault; each was printed */
export async function checkedRules(folder: string, { output }: CheckFlags, withTests = false) {
  const { rules: files, tests } = await readRuleFolder(folder).catch((error: unknown) => {
    throw new CommandFailure(wordsOf(error), ExitCode.notFound, { cause: error })
  })
  const { rules, faults: ofRules } = await loadRuleSet(files)
  // Test files are checked against the rules that they name: rules with faults cannot be.
  const read = withTests && ofRules.length === 0 ? await readTestFiles(tests, rules) : { files: [], faults: [] }
  const faults = [...ofRules, ...read.faults]
  if (faults.length === 0) return { files, rules, tests: read.files }
  if (output === 'json') printJson(files.length, rules, faults)
  else for (const fault of faults) print(lineOfFault(fault))
  const wrong = new Set(faults.map(({ file }) => file)).size
  throw new CommandFailure(`${counted(faults.length, 'fault')} in ${wrong} of ${files.length + tests.length} files`)
}

const printJson = (files: number, rules: readonly Rule[], faults: readonly RuleFault[]): void =>
  print(JSON.stringify({ files, rules: rules.map(({ name }) => name), faults }, null, 2))

/** One fault a line, as editors and CI read them: file, line and column, then the fault. */
export function lineOfFault(fault: RuleFault): string {
  const { at, ...rest } = fault
  const place = at === undefined ? fault.file : `${fault.file}:${at.line}:${at.column}`
  return `${place}: ${fault.pointer === '' ? '' : `${fault.pointer}: `}${faultWords(rest)}`
}

/** `simherd rules lint [folder]` */
import { counted } from '../../domain/quantity.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { type Finding, lintRules } from '../../rules/lint/lint-rules.ts'
import type { TextPlace } from '../../rules/load/faults.ts'
import { placesIn } from '../../rules/load/read-source.ts'
import type { Rule } from '../../rules/rule.ts'
import { CommandFailure } from '../failures.ts'
import { printJson } from '../output.ts'
import { print } from '../print.ts'
import { type CheckFlags, checkedRules } from './check.ts'

interface LintFlags extends CheckFlags {
  /** Whether a finding is a failure. */
  readonly strict?: true
}

/**
 * Lints the rules of a folder, after checking them.
 *
 * @param folder empty: the shipped rules
 * @throws CommandFailure for a fault; with `strict`, for a finding too
 */
export async function lintFolder(folder: string, flags: LintFlags): Promise<void> {
  const { files, rules } = await checkedRules(folder, flags)
  const findings = findingsOf(files, rules)
  if (flags.output === 'json') printJson({ rules: rules.length, findings })
  else if (findings.length === 0) print(`${counted(rules.length, 'rule')}: nothing found`)
  else print(findings.map(lineOfFinding).join('\n'))
  if (flags.strict && findings.length > 0) {
    throw new CommandFailure(
      `${counted(findings.length, 'finding')}; a rule mutes one by "lint": {"<code>": "<reason>"}`,
    )
  }
}

export type PlacedFinding = Finding & { readonly at: TextPlace }

/** The linter's findings in rules, with the places in their files. */
export function findingsOf(files: readonly RuleSource[], rules: readonly Rule[]): PlacedFinding[] {
  const texts = new Map(files.map(({ file, text }) => [file, text]))
  return lintRules(rules).map((finding) => ({
    ...finding,
    at: placesIn(texts.get(finding.file) ?? '')(finding.pointer),
  }))
}

/** One finding a line, as editors and CI read them. */
export const lineOfFinding = ({ file, code, says, at }: PlacedFinding): string =>
  `${file}:${at.line}:${at.column}: ${code}: ${says}`

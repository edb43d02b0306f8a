/** `simherd rules lint [folder]` */
import type { Finding } from '../../rules/lint/finding.ts'
import { lintRules } from '../../rules/lint/lint.ts'
import { placesIn } from '../../rules/load/check-text.ts'
import type { TextPlace } from '../../rules/load/faults.ts'
import { CommandFailure } from '../failures.ts'
import { print } from '../print.ts'
import { type CheckFlags, checkedRules } from './check.ts'

export interface LintFlags extends CheckFlags {
  /** Whether a finding is a failure. */
  readonly strict?: true
}

/**
 * Says what is odd in the rules of a folder. They are checked first.
 *
 * @param folder empty: the shipped rules
 * @throws CommandFailure for a fault; with `strict`, for a finding too
 */
export async function lintFolder(folder: string, flags: LintFlags): Promise<void> {
  const { files, rules } = await checkedRules(folder, flags)
  const texts = new Map(files.map(({ file, text }) => [file, text]))
  const findings = lintRules(rules).map((finding) => ({
    ...finding,
    at: placesIn(texts.get(finding.file) ?? '')(finding.pointer),
  }))
  if (flags.output === 'json') print(JSON.stringify({ rules: rules.length, findings }, null, 2))
  else print(findings.length === 0 ? `${rules.length} rules: nothing found` : findings.map(lineOf).join('\n'))
  if (flags.strict && findings.length > 0) {
    throw new CommandFailure(`${findings.length} finding(s); a rule mutes one by "lint": {"<code>": "<reason>"}`)
  }
}

const lineOf = ({ file, code, says, at }: Finding & { readonly at: TextPlace }): string =>
  `${file}:${at.line}:${at.column}: ${code}: ${says}`

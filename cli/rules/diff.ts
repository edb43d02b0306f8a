/** `simherd rules diff <before> <after>` */
import type { Difference, RuleDifference } from '../../domain/rules/rule-difference.ts'
import { diffRules } from '../../rules/diff-rules.ts'
import { printJson } from '../output.ts'
import { print } from '../print.ts'
import { type CheckFlags, checkedRules } from './check.ts'

/**
 * Says what differs between the rules of two folders, by meaning.
 *
 * @throws CommandFailure if one of them has a fault
 */
export async function diffFolders(before: string, after: string, flags: CheckFlags): Promise<void> {
  const changes = diffRules((await checkedRules(before, flags)).rules, (await checkedRules(after, flags)).rules)
  if (flags.output === 'json') printJson({ changes })
  else print(changes.length === 0 ? 'no difference in meaning' : changes.map(textOf).join('\n'))
}

const SIGNS = { added: '+', removed: '-', changed: '~' } as const

const textOf = ({ name, change, differences }: RuleDifference): string =>
  [`${SIGNS[change]} ${name}`, ...differences.map(lineOf)].join('\n')

const lineOf = ({ aspect, field, before, after }: Difference): string =>
  `    ${aspect}, ${field}: ${before.join('; ') || 'none'} → ${after.join('; ') || 'none'}`

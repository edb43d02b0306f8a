/** Parts of requests about the rules, for the commands. */

import { userInfo } from 'node:os'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { loadRuleSet } from '../../rules/load/load-rule-set.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import type { OutputFlags } from '../output.ts'
import { lineOfFault } from './check.ts'

/** Options of every change. */
export interface ChangeFlags extends OutputFlags {
  readonly reason?: string
  /** Version required in force before the change. */
  readonly expect?: number
}

/** A request's description of a change: its author, and the options. */
export const changeBody = ({ reason, expect }: ChangeFlags) => ({
  author: userInfo().username,
  ...dropUndefined({ reason, expect }),
})

/** Reads the rule files of a folder. @throws CommandFailure if it has none, or if one is not UTF-8 */
export async function filesIn(folder: string): Promise<RuleSource[]> {
  const files = await readRuleFiles(folder).catch((error: unknown) => {
    throw new CommandFailure(wordsOf(error), ExitCode.notFound, { cause: error })
  })
  await refuseUnreadable(files)
  return files
}

/** Refuses files whose bytes cannot be sent as text. @throws CommandFailure with file and line of each */
export async function refuseUnreadable(files: readonly RuleSource[]): Promise<void> {
  const { faults } = await loadRuleSet(files.filter(({ unreadable }) => unreadable !== undefined))
  if (faults.length > 0) throw new CommandFailure(faults.map(lineOfFault).join('\n'))
}

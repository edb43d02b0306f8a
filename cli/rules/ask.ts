/** Parts of requests about the rules, for the commands. */

import { userInfo } from 'node:os'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { type RuleFolder, readRuleFolder } from '../../process/rule-files.ts'
import { FaultList } from '../../rules/load/faults.ts'
import { readSource } from '../../rules/load/read-source.ts'
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

/** Reads the rule and test files of a folder. @throws CommandFailure if it has no rules, or if one is not UTF-8 */
export async function filesIn(folder: string): Promise<RuleFolder> {
  const found = await readRuleFolder(folder).catch((error: unknown) => {
    throw new CommandFailure(wordsOf(error), ExitCode.notFound, { cause: error })
  })
  refuseUnreadable([...found.rules, ...found.tests])
  return found
}

/** Refuses files whose bytes cannot be sent as text. @throws CommandFailure with file and line of each */
export function refuseUnreadable(files: readonly RuleSource[]): void {
  const faults = new FaultList()
  for (const file of files) if (file.unreadable !== undefined) readSource(file, faults)
  if (faults.all.length > 0) throw new CommandFailure(faults.all.map(lineOfFault).join('\n'))
}

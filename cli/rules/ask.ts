/** Requests to the internal interface about the rules, for the commands. */
import { userInfo } from 'node:os'
import type { InternalClient } from '../../adapters/rest/client.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import type { Settings } from '../../process/settings.ts'
import { loadRuleSet } from '../../rules/load/load.ts'
import { CommandFailure, ExitCode, wordsOf } from '../failures.ts'
import { print } from '../print.ts'
import { internalClient, refused } from '../service.ts'
import { serviceOf } from '../service-address.ts'
import { lineOfFault } from './check.ts'

/** How long to wait for an unreachable service. Short, because a person is waiting. */
const PATIENCE_MS = 5000

/** Options of every change. */
export interface ChangeFlags {
  readonly reason?: string
  /** Version required in force before the change. */
  readonly expect?: number
  /** Default: text. */
  readonly output?: 'text' | 'json'
}

/** Prints the result of a change: the service's answer, or words. */
export function tell<T extends object>({ output }: ChangeFlags, answer: T, words: (answer: T) => string): void {
  print(output === 'json' ? JSON.stringify(answer, null, 2) : words(answer))
}

/** A request's description of a change: its author, and the options. */
export const changeBody = ({ reason, expect }: ChangeFlags) => ({
  author: userInfo().username,
  ...(reason !== undefined && { reason }),
  ...(expect !== undefined && { expect }),
})

/** @throws CommandFailure with the service's answer, each fault on a line; exit code 4 for another version in force */
export async function askingAboutRules<T>(
  settings: Settings,
  work: (service: InternalClient) => Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const { url, key } = await serviceOf(settings)
  try {
    return await work(internalClient({ url, key, patienceMs }))
  } catch (error) {
    return refused(error)
  }
}

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

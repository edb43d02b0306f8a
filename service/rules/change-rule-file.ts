/** Puts one rule file into the set in force, or removes one. The other files stay unchanged. */
import { ServiceError } from '../../domain/errors.ts'
import type { ChangedRules } from '../../domain/rules/rule-change.ts'
import { inPlatform, type Store } from '../../store/tenancy.ts'
import { activeRuleSet } from './rows/rule-sets.ts'
import { activateRules, type RulesChange } from './rules-in-force.ts'

export interface FileChange extends Omit<RulesChange, 'expect'> {
  /** Path below the rules folder. */
  readonly file: string
  /** Null: the file goes. */
  readonly text: string | null
  /** Versions, one of them required to be in force. Default: any. */
  readonly asSeen?: readonly number[] | undefined
}

/** Attempts of a change of any version while other authors come first. */
const MOST_TRIES = 5

/**
 * Puts a set in force that differs in one file. If another author changes the rules during the check, it is checked
 * again with the new rules, unless the change is for a version seen before.
 *
 * @throws ServiceError `precondition_failed`, `rule_file_not_found`, `rules_rejected`, and `rules_moved` if others came
 *   first
 */
export async function changeRuleFile(store: Store, change: FileChange): Promise<ChangedRules> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await changeOnce(store, change)
    } catch (error) {
      const isOvertaken = error instanceof ServiceError && error.code === 'rules_moved' && change.asSeen === undefined
      if (!isOvertaken || tries === MOST_TRIES) throw error
    }
  }
}

async function changeOnce(store: Store, { file, text, asSeen, ...by }: FileChange): Promise<ChangedRules> {
  const set = await inPlatform(store, activeRuleSet)
  const { version: expect, files } = set ?? { version: 0, files: [] }
  if (asSeen !== undefined && !asSeen.includes(expect)) {
    throw new ServiceError(
      'precondition_failed',
      `The rules have changed since: version ${expect} is in force now, and If-Match asks for ${asSeen.join(' or ') || 'no version there is'}.`,
    )
  }
  if (text === null && !files.some((one) => one.file === file))
    throw new ServiceError('rule_file_not_found', `file: version ${expect} has no ${file}.`)
  // A rule that goes takes its own tests along.
  const gone = text === null ? [file, file.replace(/\.json$/, '.test.json')] : [file]
  const others = files.filter((one) => !gone.includes(one.file))
  return activateRules(store, text === null ? others : [...others, { file, text }], by.author, { ...by, expect })
}

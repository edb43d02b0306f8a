/** `simherd rules load`, `push`, `activate` and `rollback`: which version of the rules is in force. */

import { idempotent } from '../../adapters/rest/client.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import { counted } from '../../domain/quantity.ts'
import type { ChangedRules } from '../../domain/rules/rule-change.ts'
import type { RuleFolder } from '../../process/rule-files.ts'
import type { Settings } from '../../process/settings.ts'
import { askOnce } from '../ask-service.ts'
import { printAnswer } from '../output.ts'
import { type ChangeFlags, changeBody, filesIn } from './ask.ts'

/**
 * Puts the rule files of a folder in force: all of them, or none.
 *
 * @param folder empty: RULES_DIR, or the shipped rules
 * @throws CommandFailure with every fault of every file; the previous rule set stays in force
 */
export async function loadRules(settings: Settings, folder: string, flags: ChangeFlags): Promise<void> {
  const { rules, tests } = await filesIn(folder || settings.RULES_DIR)
  const body = { files: [...rules, ...tests], ...changeBody(flags) }
  const loaded = await askOnce(settings, (service) => service.POST('/internal/rules', { body }))
  printAnswer(flags, loaded, ({ version, changed }) => [
    changed
      ? `version ${version} is in force: ${filesWords({ rules, tests })}; every subject is evaluated anew`
      : `version ${version} with these files (${rules.length + tests.length}) was in force already`,
  ])
}

/** The files of a set, and that its tests have passed. */
const filesWords = ({ rules, tests }: RuleFolder): string =>
  `${counted(rules.length, 'file')}${tests.length === 0 ? '' : `, ${counted(tests.length, 'test file')} passed`}`

/** Brings in the rule files of a folder, without putting them in force. @throws CommandFailure with every fault */
export async function pushRules(settings: Settings, folder: string, flags: ChangeFlags): Promise<void> {
  const { reason } = flags
  const { rules, tests } = await filesIn(folder || settings.RULES_DIR)
  const body = { files: [...rules, ...tests], ...changeBody(reason === undefined ? {} : { reason }) }
  const pushed = await askOnce(settings, (service) => service.POST('/internal/rules/versions', { body }))
  printAnswer(flags, pushed, ({ version }) => [
    `version ${version}: ${filesWords({ rules, tests })}, not in force; "npx simherd rules activate ${version}" does that`,
  ])
}

/** Puts a version in force. */
export async function activateVersion(settings: Settings, version: number, flags: ChangeFlags): Promise<void> {
  const options = { params: { path: { version } }, body: changeBody(flags) }
  const changed = await askOnce(settings, (service) =>
    service.POST('/internal/rules/versions/{version}/activate', options),
  )
  printChanged(flags, changed)
}

interface RollbackFlags extends ChangeFlags {
  readonly to?: number
}

/** Puts the version in force that was so before, or the one that `to` names. */
export async function rollBack(settings: Settings, flags: RollbackFlags): Promise<void> {
  const options = { params: idempotent(), body: { ...changeBody(flags), ...dropUndefined({ to: flags.to }) } }
  printChanged(flags, await askOnce(settings, (service) => service.POST('/internal/rules/rollback', options)))
}

/** Prints the version in force after a change of the rules. */
export const printChanged = (flags: ChangeFlags, changed: ChangedRules): void =>
  printAnswer(flags, changed, changeLines)

const changeLines = ({ version, changed }: ChangedRules): string[] => [
  changed
    ? `version ${version} is in force; every subject is evaluated anew`
    : `version ${version} was in force already`,
]

/** `simherd rules shadow`: a version is tried beside the one in force. */
import type { Settings } from '../../config/index.ts'
import { responseOf } from '../service.ts'
import { askingAboutRules, type ChangeFlags, changeBody, tell } from './ask.ts'

export interface CandidateFlags extends Pick<ChangeFlags, 'reason' | 'output'> {
  /** Whether to try it no longer. */
  readonly off?: true
}

/** Makes a version the candidate, or ends that. */
export async function tryVersion(settings: Settings, version: number, flags: CandidateFlags): Promise<void> {
  const { off, reason } = flags
  const body = changeBody(reason === undefined ? {} : { reason })
  const path = { version }
  if (off) {
    const ended = await askingAboutRules(settings, (service) =>
      responseOf(service.DELETE('/internal/rules/versions/{version}/shadow', { params: { path, query: body } })),
    )
    return tell(flags, ended, ({ changed }) =>
      changed ? `version ${version} is the candidate no longer` : `version ${version} was not the candidate`,
    )
  }
  const tried = await askingAboutRules(settings, (service) =>
    responseOf(service.POST('/internal/rules/versions/{version}/shadow', { params: { path }, body })),
  )
  tell(
    flags,
    tried,
    ({ changed, rules }) =>
      `version ${version} ${changed ? 'is the candidate' : 'was the candidate already'}: ${besides(rules)}`,
  )
}

const besides = (rules: readonly string[]): string =>
  rules.length === 0
    ? 'no rule of it says something else than those in force'
    : `${rules.join(', ')} ${rules.length === 1 ? 'is' : 'are'} decided beside those in force; see "simherd rules shadow-log"`

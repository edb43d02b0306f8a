/** `simherd rules shadow`: a version is tried beside the one in force. */
import type { Settings } from '../../config/index.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { askingAboutRules, type ChangeFlags, changeBody } from './ask.ts'

export interface CandidateFlags extends Pick<ChangeFlags, 'reason'> {
  /** Whether to try it no longer. */
  readonly off?: true
}

/** Makes a version the candidate, or ends that. */
export async function tryVersion(settings: Settings, version: number, { off, reason }: CandidateFlags): Promise<void> {
  const body = changeBody(reason === undefined ? {} : { reason })
  const path = { version }
  if (off) {
    const { changed } = await askingAboutRules(settings, (service) =>
      responseOf(service.DELETE('/internal/rules/versions/{version}/shadow', { params: { path, query: body } })),
    )
    return print(changed ? `version ${version} is the candidate no longer` : `version ${version} was not the candidate`)
  }
  const { changed, rules } = await askingAboutRules(settings, (service) =>
    responseOf(service.POST('/internal/rules/versions/{version}/shadow', { params: { path }, body })),
  )
  print(`version ${version} ${changed ? 'is the candidate' : 'was the candidate already'}: ${besides(rules)}`)
}

const besides = (rules: readonly string[]): string =>
  rules.length === 0
    ? 'no rule of it says something else than those in force'
    : `${rules.join(', ')} ${rules.length === 1 ? 'is' : 'are'} decided beside those in force; see "simherd rules shadow-log"`

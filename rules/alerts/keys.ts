/**
 * Keys of tellings: `<rule>/<kind>/<id>[/<cycle>]<part>/<kind of telling>`. A tenant's log and its notifications have
 * at most one of each, so no telling is repeated, even after errors. Keys never contain a version or a value.
 */
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { Rule } from '../rule.ts'
import type { AlertState } from './alert-state.ts'

/**
 * `fired`: its conditions are met. `resolved`: they have ended. `withdrawn`: the rule no longer covers the subject,
 * with or without its conditions met. `escalated`: the alert was not acknowledged in time.
 */
export type TellingKind = 'fired' | 'resolved' | 'withdrawn' | 'escalated'

/** Which alert a key is of. */
export interface AlertName {
  readonly rule: string
  readonly subject: Subject
  /** Empty, or the cycle's key. */
  readonly scope: string
}

/**
 * The last part of the keys of an episode: empty, `/again-2`, `/episode-3`, or a slash and the occurrence. Above the first
 * step of a ladder it ends in the step: `/at-80`.
 */
export function partOf(rule: Rule, state: AlertState): string {
  const { ladder } = rule
  const isHigher = ladder !== null && state.step !== undefined && state.step > ladder.steps[0].at
  return `${episodePart(rule, state)}${isHigher ? `/at-${state.step}` : ''}`
}

/** The step that a mark or a key's last part ends in; null: none, or the first. */
export function stepOfPart(part: string): number | null {
  const [, step] = /\/at-([\d.e+]+)$/.exec(part) ?? []
  return step === undefined ? null : Number(step)
}

export const withoutStep = (part: string): string => part.replace(/\/at-[\d.e+]+$/, '')

function episodePart(rule: Rule, state: AlertState): string {
  switch (rule.event.params.once) {
    case 'cycle':
      return (state.returns ?? 0) === 0 ? '' : `/again-${(state.returns ?? 0) + 1}`
    case 'episode':
      return `/episode-${state.episode}`
    case 'occurrence':
      return `/${state.occurrence ?? ''}`
  }
}

export const keyOfTelling = ({ rule, subject, scope }: AlertName, part: string, kind: TellingKind): string =>
  `${rule}/${subject.kind}/${subject.id}${scope === '' ? '' : `/${scope}`}${part}/${kind}`

/** Id of the pattern that a telling about a tag has in its key; null: it is about another kind of subject. */
export function tagOfKey(key: string): number | null {
  const [, kind, id] = key.split('/')
  return kind === 'tag' ? Number(id) : null
}

export const TELLING_KINDS: readonly TellingKind[] = ['fired', 'resolved', 'withdrawn', 'escalated']

/** The key of the telling that a mark of a state stands for: its kind, followed by the last part of the key. */
export function keyOfMark(name: AlertName, mark: string): string {
  const kind = TELLING_KINDS.find((each) => mark.startsWith(each)) ?? 'fired'
  return keyOfTelling(name, mark.slice(kind.length), kind)
}

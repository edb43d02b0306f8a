/** Checks that the parts of a rule file fit together: subject, match, actions, messages, occurrence. */

import { Value } from 'typebox/value'
import { didYouMean } from '../../domain/did-you-mean.ts'
import { durationMs } from '../../domain/time/duration.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { placeholdersOf, strayBrace } from '../alerts/message.ts'
import { factsOf, subjectsWith } from '../facts.ts'
import { namesOf, STEP } from '../ladder.ts'
import { BOUNDS, type RuleEvent, RuleFile } from '../rule-file.ts'
import { below, isRecord, type Report } from './faults.ts'

const PARAMS = '/event/params'
const DAY_MS = 86_400_000

/** Fields of `match` that each kind of subject has. */
const MATCHES: Readonly<Record<SubjectKind, readonly string[]>> = {
  sim: ['tenant', 'pool', 'tag', 'tariffType'],
  pool: ['tenant', 'pool', 'tariffType'],
  tenant: ['tenant'],
}
const TARGETS: Readonly<Record<SubjectKind, readonly string[]>> = {
  sim: ['self'],
  pool: ['largestExcess', 'aboveShare', 'all'],
  tenant: [],
}

/** Reports fields of `match` that the subject does not have. */
export function checkMatch(match: unknown, subject: SubjectKind, report: Report): void {
  if (!isRecord(match)) return
  for (const key of Object.keys(match)) {
    // The check of the shape already reports fields that no subject has.
    if (!(key in RuleFile.properties.match.properties) || MATCHES[subject].includes(key)) continue
    report(below('/match', key), match[key], `for the subject ${subject} only ${MATCHES[subject].join(', ')}`)
  }
}

/** Reports parts of a rule's event that do not fit together, or do not fit the subject. */
export function checkEvent(
  { params }: RuleEvent,
  subject: SubjectKind,
  ladder: { readonly fact: string } | null,
  report: Report,
): void {
  checkSuspend(params, subject, report)
  checkDurations(params, report)
  if (!params.actions.includes('log')) {
    report(`${PARAMS}/actions`, params.actions, 'log among the actions: what is told or done stands in the log')
  }
  if (params.resolvedMessage !== undefined && params.resolve === 'none') {
    report(`${PARAMS}/resolvedMessage`, params.resolvedMessage, 'nothing: with resolve none the end is not told')
  }
  if (params.resolve === 'email' && !params.actions.includes('email')) {
    report(`${PARAMS}/resolve`, params.resolve, 'log or none: the rule does not mail when it fires')
  }
  checkOccurrence(params, subject, report)
  const names = namesOf(ladder)
  checkMessage(params.message, `${PARAMS}/message`, { subject, names }, report)
  if (params.resolvedMessage !== undefined) {
    checkMessage(params.resolvedMessage, `${PARAMS}/resolvedMessage`, { subject, names }, report)
  }
}

function checkSuspend({ actions, suspend, stage }: RuleEvent['params'], subject: SubjectKind, report: Report): void {
  const suspends = actions.includes('suspend')
  if (suspends && suspend === undefined) {
    report(`${PARAMS}/suspend`, undefined, 'whom to suspend and until when: the actions say suspend')
  }
  if (!suspends && suspend !== undefined) {
    report(`${PARAMS}/suspend`, suspend, 'nothing: the actions do not say suspend', 'add suspend to the actions')
  }
  if (!suspends && stage === 'enforce') {
    report(`${PARAMS}/stage`, stage, 'notify at most: there is nothing to enforce without the action suspend')
  }
  const targets = TARGETS[subject]
  if (suspend !== undefined && !targets.includes(suspend.target)) {
    const expected = targets.length === 0 ? 'no suspension: a tenant is not suspended' : `one of ${targets.join(', ')}`
    report(`${PARAMS}/suspend/target`, suspend.target, `${expected} (subject ${subject})`)
  }
}

/** The longest durations: beyond them an instant may have no date any more. */
function checkDurations({ for: holds, keepFiring, suspend }: RuleEvent['params'], report: Report): void {
  const given = { for: holds, keepFiring, 'suspend/grace': suspend?.grace }
  for (const [name, text] of Object.entries(given)) {
    if (text === undefined || text.endsWith('%') || durationMs(text) <= BOUNDS.durationDays * DAY_MS) continue
    report(`${PARAMS}/${name}`, text, `at most ${BOUNDS.durationDays} days`)
  }
}

function checkOccurrence({ once, occurrence }: RuleEvent['params'], subject: SubjectKind, report: Report): void {
  const pointer = `${PARAMS}/occurrence`
  if (once !== 'occurrence') {
    if (occurrence !== undefined) report(pointer, occurrence, `nothing: the rule is told once each ${once}`)
    return
  }
  const facts = factsOf(subject)
  const fact = facts.get(occurrence ?? '')
  if (fact === undefined || fact.type === 'boolean' || fact.type === 'number') {
    const hint = occurrence === undefined ? undefined : didYouMean(occurrence, facts.keys())
    report(pointer, occurrence, `a text or whole-number fact of the subject ${subject} that names the occurrence`, hint)
  }
}

interface EventNames {
  readonly subject: SubjectKind
  /** Names other than facts. */
  readonly names: Readonly<Record<string, string>>
}

function checkMessage(message: string, pointer: string, { subject, names }: EventNames, report: Report): void {
  const facts = factsOf(subject)
  const stray = strayBrace(message)
  if (stray !== undefined) {
    const expected = 'braces only around the name of a fact: {{fact}}'
    report(pointer, stray.text, expected, `from character ${stray.from} of the text`)
  }
  for (const name of placeholdersOf(message)) {
    if (facts.has(name) || Object.hasOwn(names, name)) continue
    const elsewhere = subjectsWith(name)
    const hint =
      name === STEP
        ? 'a step is of a ladder, and this rule has none'
        : elsewhere.length > 0
          ? `${name} is a fact of ${elsewhere.join(' and ')}`
          : didYouMean(name, facts.keys())
    report(pointer, `{{${name}}}`, `facts of the subject ${subject} in {{…}}`, hint)
  }
}

/** Whether a value has the shape of an event, so that its parts can be compared. */
export const isEvent = (value: unknown): value is RuleEvent => Value.Check(RuleFile.properties.event, value)

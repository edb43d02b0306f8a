/** Checks that the parts of a rule file fit together: subject, match, ladder, actions, messages, occurrence. */
import { Value } from 'typebox/value'
import { LogLevel, SimStatus } from '../../domain/codes.ts'
import { didYouMean } from '../../domain/did-you-mean.ts'
import { durationMs } from '../../domain/time/duration.ts'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { placeholdersOf, strayBrace } from '../alerts/message.ts'
import { statusesOf } from '../engine/match.ts'
import { factsOf, isMeasure } from '../facts.ts'
import { type Ladder, namesOf, STEP, type Step } from '../ladder.ts'
import { BOUNDS, LadderFile, Match, type RuleEvent, RuleFile } from '../rule-file.ts'
import { below, hintForFact, isRecord, type Report } from './faults.ts'

const PARAMS = '/event/params'
const DAY_MS = 86_400_000

const MATCHES: Readonly<Record<SubjectKind, readonly string[]>> = {
  sim: ['tenant', 'pool', 'tag', 'tariffType', 'status'],
  pool: ['tenant', 'pool', 'tariffType'],
  tenant: ['tenant'],
  tag: ['tenant', 'tag'],
}
const TARGETS: Readonly<Record<SubjectKind, readonly string[]>> = {
  sim: ['self'],
  pool: ['largestExcess', 'aboveShare', 'all'],
  tenant: [],
  tag: [],
}

export function checkMatch(match: unknown, subject: SubjectKind, report: Report): void {
  if (!isRecord(match)) return
  if (subject === 'tag' && match['tag'] === undefined)
    report('/match/tag', undefined, 'a pattern of tags such as camera-*: the SIMs whose tag fits are added up')
  for (const key of Object.keys(match)) {
    // The check of the shape already reports fields that no subject has.
    if (!(key in RuleFile.properties.match.properties) || MATCHES[subject].includes(key)) continue
    report(below('/match', key), match[key], `for the subject ${subject} only ${MATCHES[subject].join(', ')}`)
  }
  if (!isMatch(match) || !statusesOf(match).includes(SimStatus.Unprovisioned)) return
  for (const key of ['pool', 'tariffType'] as const) {
    if (match[key] === undefined) continue
    report(below('/match', key), match[key], 'nothing: an Unprovisioned SIM, which match.status names, has none')
  }
}

/** Whether a value has the shape of a `match`. */
export const isMatch = (value: unknown): value is Match => Value.Check(Match, value)

/** Reports statuses that do not go with the action suspend. */
export function checkSuspendedStatuses(match: Match, { params }: RuleEvent, report: Report): void {
  if (match.status === undefined || !params.actions.includes('suspend')) return
  const statuses = statusesOf(match)
  if (statuses.includes(SimStatus.Unprovisioned))
    report('/match/status', match.status, 'no Unprovisioned: the rule suspends, and there is nothing to suspend')
  else if (statuses.length < 2)
    report(
      '/match/status',
      match.status,
      'both Active and Suspended: the rule suspends, and its alert would end by the suspension',
      'leave match.status out',
    )
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
  if (!params.actions.includes('log'))
    report(`${PARAMS}/actions`, params.actions, 'log among the actions: what is told or done stands in the log')
  if (params.resolvedMessage !== undefined && params.resolve === 'none')
    report(`${PARAMS}/resolvedMessage`, params.resolvedMessage, 'nothing: with resolve none the end is not told')
  if (params.resolve === 'email' && !params.actions.includes('email'))
    report(`${PARAMS}/resolve`, params.resolve, 'log or none: the rule does not mail when it fires')
  checkOccurrence(params, subject, report)
  for (const field of ['message', 'resolvedMessage'] as const) {
    const text = params[field]
    if (text !== undefined) checkMessage(text, `${PARAMS}/${field}`, { subject, names: namesOf(ladder) }, report)
  }
  checkBesideLadder(params, ladder !== null, report)
}

function checkSuspend({ actions, suspend, stage }: RuleEvent['params'], subject: SubjectKind, report: Report): void {
  const suspends = actions.includes('suspend')
  if (suspends && suspend === undefined)
    report(`${PARAMS}/suspend`, undefined, 'whom to suspend and until when: the actions say suspend')
  if (!suspends && suspend !== undefined)
    report(`${PARAMS}/suspend`, suspend, 'nothing: the actions do not say suspend', 'add suspend to the actions')
  if (!suspends && stage === 'enforce')
    report(`${PARAMS}/stage`, stage, 'notify at most: there is nothing to enforce without the action suspend')
  const targets = TARGETS[subject]
  if (suspend !== undefined && !targets.includes(suspend.target)) {
    const expected =
      targets.length === 0 ? `no suspension: a ${subject} is not suspended` : `one of ${targets.join(', ')}`
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

/** @param names that the message may use next to facts */
function checkMessage(
  message: string,
  pointer: string,
  { subject, names }: { readonly subject: SubjectKind; readonly names: Readonly<Record<string, string>> },
  report: Report,
): void {
  const facts = factsOf(subject)
  const stray = strayBrace(message)
  if (stray !== undefined) {
    const expected = 'braces only around the name of a fact: {{fact}}'
    report(pointer, stray.text, expected, `from character ${stray.from} of the text`)
  }
  for (const name of placeholdersOf(message)) {
    if (facts.has(name) || Object.hasOwn(names, name)) continue
    const hint = name === STEP ? 'a step is of a ladder, and this rule has none' : hintForFact(name, subject)
    report(pointer, `{{${name}}}`, `facts of the subject ${subject} in {{…}}`, hint)
  }
}

/** Whether a value has the shape of an event, so that its parts can be compared. */
export const isEvent = (value: unknown): value is RuleEvent => Value.Check(RuleFile.properties.event, value)

/** Reads a ladder, and reports every fault that its shape does not show. @returns undefined if something is wrong */
export function readLadder(value: unknown, subject: SubjectKind, report: Report): Ladder | undefined {
  if (!Value.Check(LadderFile, value)) return undefined
  const isFact = checkLadderFact(value.fact, subject, report)
  const steps = value.steps.map(({ at, level }): Step => ({ at, level: LogLevel[level] }))
  const areSteps = checkSteps(value, report)
  const [first, ...higher] = steps
  if (!isFact || !areSteps || first === undefined) return undefined
  return { fact: value.fact, steps: [first, ...higher], every: value.every ?? null }
}

function checkLadderFact(name: string, subject: SubjectKind, report: Report): boolean {
  const fact = factsOf(subject).get(name)
  if (fact !== undefined && isMeasure(fact)) return true
  const hint =
    fact === undefined ? hintForFact(name, subject) : `${name} is a ${fact.codes === null ? fact.type : 'code'}`
  report('/ladder/fact', name, `a fact of the subject ${subject} that is a number`, hint)
  return false
}

function checkSteps({ steps }: LadderFile, report: Report): boolean {
  const wrong = steps.filter(({ at, level }, n) => {
    const before = steps[n - 1]
    if (before === undefined) return false
    const isHigher = at > before.at
    const isNoLess = LogLevel[level] >= LogLevel[before.level]
    if (!isHigher) report(`/ladder/steps/${n}/at`, at, `more than the step before, ${before.at}`)
    if (!isNoLess) report(`/ladder/steps/${n}/level`, level, `at least the level of the step before, ${before.level}`)
    return !isHigher || !isNoLess
  })
  return wrong.length === 0
}

/** Reports fields that conflict with a ladder, and a missing level without one. */
function checkBesideLadder({ level, once, actions }: RuleEvent['params'], hasLadder: boolean, report: Report): void {
  if (!hasLadder) {
    if (level === undefined) report(`${PARAMS}/level`, undefined, 'Info, Warning or Critical')
    return
  }
  if (level !== undefined) report(`${PARAMS}/level`, level, 'nothing: the steps of the ladder have levels')
  if (once === 'occurrence') report(`${PARAMS}/once`, once, 'cycle or episode: a ladder is climbed once in each')
  if (actions.includes('suspend'))
    report(`${PARAMS}/actions`, actions, 'no suspend: a ladder only tells', 'suspend by a rule of its own')
}

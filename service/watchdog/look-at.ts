/**
 * Finds subjects whose alerts may change, by the compiled rules. Writes nothing. Most subjects have not changed, and a
 * look costs far less than an evaluation.
 */

import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject, SubjectKind } from '../../domain/watchdog/subject.ts'
import { isDecidedAt, type StoredAlert, scopesAt } from '../../rules/alerts/alert-state.ts'
import { type GuardAnswers, isToWithdraw } from '../../rules/alerts/decide-subject.ts'
import { byName, inhibitorsByPool } from '../../rules/alerts/quiet.ts'
import { isWatched, matchedOf, type SubjectFacts, subjectKey } from '../../rules/alerts/subject.ts'
import { NEVER, tariffBit } from '../../rules/compile/flip.ts'
import { flipsAt, judgeSubject, type SubjectVerdict } from '../../rules/compile/judge-subject.ts'
import type { DeviceChange } from '../../rules/fact-rows.ts'
import { NO_FACTS, neededToDecide } from '../../rules/facts-needed.ts'
import { heldBack } from '../../store/due.ts'
import type { Flip } from '../../store/shards.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { loadAlerts } from '../alerts/rows/alerts.ts'
import type { RulesInForce } from '../rules/rules-in-force.ts'
import type { EvaluationOptions } from './evaluation-options.ts'
import { firstLook } from './first-look.ts'
import { readAnswers } from './guard-firing.ts'
import {
  alertsOfSharedPools,
  readPools,
  readSituation,
  readSubjects,
  readTags,
  readTenant,
  type Situation,
} from './read-batch.ts'
import { signalFor, signalsAgainAt, wishedOf } from './reconcile.ts'
import type { Range } from './rows/facts.ts'

export interface LookResult {
  /** For an evaluation. */
  readonly suspects: readonly Subject[]
  /** When subjects other than suspects need an evaluation, by their `subjectKey`: a `for` ends. Epoch milliseconds. */
  readonly checks: ReadonlyMap<string, number>
  /** Subjects waiting after a failure, by their `subjectKey`. Suspects do not include them. */
  readonly heldBack: ReadonlySet<string>
  /** The earliest instant at which time alone may change an answer; at most the cycle's end. Epoch milliseconds. */
  readonly flipsAt: number
  readonly cycle: Situation['moment']['cycle']
  /** Id of the first subject not looked at; null if there is none. */
  readonly beyond: number | null
}

export interface LookedAt extends LookResult {
  /** For each subject: when time alone may change an answer, if before the cycle ends. */
  readonly flips: readonly Flip[]
}

/** Subjects of a look: as many as are in memory at a time, and as keep its transaction short. */
export const PAGE = 4000

/** Looks at some subjects, {@link PAGE} at most. @param ended an ended cycle. Default: the running one */
export async function lookAt(
  tx: TenantTx,
  subjects: readonly Subject[],
  options: EvaluationOptions,
  ended?: Cycle,
): Promise<LookedAt> {
  const look = await begin(tx, options, ended)
  const read = await readSubjects(tx, look.situation, subjects, NO_FACTS)
  const isThere = new Set(read.map(subjectKey))
  const gone = ended === undefined ? subjects.filter((subject) => !isThere.has(subjectKey(subject))) : []
  const judged = await judge(look, read, gone)
  return { ...looked(look, judged, null), flips: flipsOf(judged, look) }
}

const flipsOf = ({ findings }: Judgement, { situation: { moment } }: Look): Flip[] =>
  findings.flatMap(({ subject: { kind, id }, flipsAt }) =>
    flipsAt < moment.cycle.endsAt ? [{ kind, id, at: new Date(flipsAt) }] : [],
  )

interface LookedAtRange extends LookResult {
  /** How many subjects were gone through. */
  readonly passed: number
  /** SIMs of the range still to be looked at, by {@link lookAt}. */
  readonly left: readonly Subject[]
}

/**
 * Looks at subjects of a kind in a range of ids. A first look passes over SIMs for which surely nothing changes; it
 * takes many more of them.
 *
 * @param page so many looked at in full; {@link PAGE} is sensible
 */
export async function lookAtRange(
  tx: TenantTx,
  range: Range & { readonly kind: SubjectKind },
  page: number,
  options: EvaluationOptions,
): Promise<LookedAtRange> {
  const look = await begin(tx, options)
  const { kind } = range
  if (kind === 'sim') return lookAtSims(look, range, page)
  const { situation } = look
  const size = Math.min(range.most, page)
  const read = await readRange(tx, situation, kind, { ...range, most: size + 1 })
  const subjects = read.slice(0, size)
  const found = looked(look, await judge(look, subjects, []), read[size]?.id ?? null)
  return { ...found, passed: subjects.length, left: [] }
}

const readRange = (
  tx: TenantTx,
  situation: Situation,
  kind: Exclude<SubjectKind, 'sim'>,
  range: Range,
): Promise<readonly SubjectFacts[]> => {
  switch (kind) {
    case 'pool':
      return readPools(tx, situation, range, NO_FACTS)
    case 'tag':
      return readTags(tx, situation, range, NO_FACTS)
    case 'tenant':
      return readTenant(tx, situation, NO_FACTS)
  }
}

async function lookAtSims(look: Look, range: Range, page: number): Promise<LookedAtRange> {
  const { tx, situation, rules } = look
  const first = await firstLook(tx, situation, rules, range)
  const unclear = first.unclear.map((id): Subject => ({ kind: 'sim', id }))
  const read = await readSubjects(tx, situation, unclear.slice(0, page), NO_FACTS)
  const found = looked(look, await judge(look, read, []), first.beyond)
  const { passed } = first
  return { ...found, flipsAt: Math.min(found.flipsAt, first.flipsAt), passed, left: unclear.slice(page) }
}

interface Look {
  readonly tx: TenantTx
  readonly situation: Situation
  readonly rules: RulesInForce
  readonly heldBack: ReadonlySet<string>
}

async function begin(tx: TenantTx, options: EvaluationOptions, ended?: Cycle): Promise<Look> {
  const situation = await readSituation(tx, tx.now.getTime(), ended)
  const rules = await options.rules(tx)
  // A failure in the running cycle does not concern another one.
  const isHeldBack = new Set(ended === undefined ? (await heldBack(tx)).map(subjectKey) : [])
  return { tx, situation, rules, heldBack: isHeldBack }
}

/** The findings about subjects. A subject that took a second look has two findings. */
interface Judgement {
  readonly findings: readonly Finding[]
  /** Removed subjects with alerts that must end. */
  readonly left: readonly Subject[]
}

/** Judges subjects. @param gone pools deleted */
async function judge({ tx, situation, rules }: Look, read: readonly SubjectFacts[], gone: readonly Subject[]) {
  const stored = await loadAlerts(tx, [...read, ...gone], scopesAt(situation.moment))
  const alerts = Map.groupBy(stored, subjectKey)
  const poolAlerts = await alertsOfSharedPools(tx, read, situation.moment)
  const around = { alerts, poolAlerts, guardOf: await readAnswers(tx, stored) }
  const judged = judging(situation, rules, around)
  const findings = read.map((subject) => judged(subject, 'narrow'))
  // Few subjects need sums over windows, or scans.
  const unclear = findings.filter(({ verdict }) => verdict === 'unknown').map(({ subject }) => subject)
  const needed = neededToDecide(rules.rules, tx.tenantId)
  const again = (await readSubjects(tx, situation, unclear, needed)).map((subject) => judged(subject, 'all'))
  const left = gone.filter((subject) => alerts.get(subjectKey(subject))?.some(isToWithdraw) === true)
  return { findings: [...findings, ...again], left }
}

function looked({ situation, heldBack }: Look, { findings, left }: Judgement, beyond: number | null): LookResult {
  const { cycle } = situation.moment
  const suspects: Subject[] = [...left]
  const checks = new Map<string, number>()
  let first = cycle.endsAt
  for (const { subject, verdict, checkAt, flipsAt } of findings) {
    first = Math.min(first, flipsAt)
    if (verdict === 'changed') suspects.push(subject)
    if (verdict === 'unchanged' && checkAt !== NEVER) checks.set(subjectKey(subject), checkAt)
  }
  return {
    suspects: suspects.filter((subject) => !heldBack.has(subjectKey(subject))).map(({ kind, id }) => ({ kind, id })),
    heldBack,
    checks,
    flipsAt: first,
    cycle,
    beyond,
  }
}

interface Finding {
  readonly subject: SubjectFacts
  readonly verdict: SubjectVerdict<StoredAlert>['is']
  /** When an evaluation is due even if nothing happens: a `for` ends; {@link NEVER} if none is. */
  readonly checkAt: number
  readonly flipsAt: number
}

interface StoredAlerts {
  /** By the `subjectKey` of their subject. */
  readonly alerts: ReadonlyMap<string, readonly StoredAlert[]>
  readonly poolAlerts: readonly StoredAlert[]
  readonly guardOf: GuardAnswers
}

/** Changes of device are not read: one that was missed changes the occurrence too. */
const NO_CHANGES: ReadonlyMap<number, readonly DeviceChange[]> = new Map()

/** Makes the function that judges a subject of a tenant by its facts. Pure. */
function judging(
  situation: Situation,
  { compiled, rules: all, refused }: RulesInForce,
  { alerts, poolAlerts, guardOf }: StoredAlerts,
): (subject: SubjectFacts, width: 'narrow' | 'all') => Finding {
  const { moment } = situation
  const { at: now, cycle } = moment
  const { staleSince } = moment.feed
  const rules = byName(all)
  const isRefused = refused !== null
  const inhibitors = inhibitorsByPool(poolAlerts, rules)
  const around = { ...situation, rules, isRefused, deviceChanges: NO_CHANGES, inhibitors, guardOf }
  return (subject, width) => {
    const attached = isWatched(subject)
      ? compiled.attach(matchedOf(subject, situation.tenantId, moment)).filter(({ rule }) => isDecidedAt(rule, moment))
      : []
    const row = compiled.rows[subject.kind][width](subject.facts)
    const tariffs = tariffBit(subject.kind === 'sim' ? subject.row.tariffType : null)
    const flips = flipsAt(attached, row, { now, cycle, staleSince }, tariffs)
    const verdict = judgeSubject(subject, { attached, row }, alerts.get(subjectKey(subject)) ?? [], around)
    return { subject, ...signalled(subject, verdict), flipsAt: flips }
  }

  /** Adds to a verdict the signals that enforcement needs. */
  function signalled(subject: SubjectFacts, found: SubjectVerdict<StoredAlert>): Pick<Finding, 'verdict' | 'checkAt'> {
    if (found.is !== 'unchanged') return { verdict: found.is, checkAt: NEVER }
    let checkAt = NEVER
    for (const one of found.decided) {
      checkAt = Math.min(checkAt, one.decision.nextCheckAt ?? NEVER)
      const wished = wishedOf(one, subject, isRefused)
      if (wished === null) continue
      if (signalFor(wished, situation) !== undefined) return { verdict: 'changed', checkAt: NEVER }
      checkAt = Math.min(checkAt, signalsAgainAt(wished, situation, false) ?? NEVER)
    }
    return { verdict: 'unchanged', checkAt }
  }
}

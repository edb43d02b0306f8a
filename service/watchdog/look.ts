/**
 * Finds subjects whose alerts may change, by the compiled rules. Writes nothing. Most subjects have not changed, and a
 * look costs far less than an evaluation.
 */

import type { LogLevel } from '../../domain/codes.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject, SubjectKind } from '../../domain/watchdog/subject.ts'
import { wishOf } from '../../rules/alerts/decide.ts'
import { byName, inhibitorOf, inhibitorsAmong } from '../../rules/alerts/inhibit.ts'
import { type Quiet, quietOf } from '../../rules/alerts/quiet.ts'
import { standsStill } from '../../rules/alerts/stand-still.ts'
import { type AlertState, isOpen, scopeOf } from '../../rules/alerts/state.ts'
import type { StoredAlert } from '../../rules/alerts/stored-alert.ts'
import type { CompiledRule } from '../../rules/compile/compile-rule.ts'
import { NEVER, tariffBit } from '../../rules/compile/flip.ts'
import type { FactRow } from '../../rules/compile/row.ts'
import { flipsAt, levelIn, type Verdict, verdictOn } from '../../rules/compile/verdict.ts'
import type { Rule } from '../../rules/rule.ts'
import { heldBack } from '../../store/due.ts'
import type { Flip } from '../../store/shards.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { loadAlerts } from '../alerts/rows/alerts.ts'
import type { RulesInForce } from '../rules/rules-in-force.ts'
import { alertOf, type GuardAnswers, isToWithdraw, leftOf } from './decisions.ts'
import {
  type EvaluationOptions,
  isDecidedAt,
  isWatched,
  keyOf,
  mailableOf,
  matchedOf,
  permissionOf,
  type SubjectFacts,
  scopesAt,
} from './evaluation.ts'
import { firstLook } from './first-look/first-look.ts'
import { readAnswers } from './guard-firing.ts'
import { alertsOfSharedPools, sharedPoolOf } from './inhibitors.ts'
import { readPools, readSituation, readSubjects, readTenant, type Situation, type Width } from './read-facts.ts'
import type { Range } from './rows/sim-lines.ts'
import { rowsFor } from './rows-of-set.ts'
import { type SignalMoment, signalFor, signalsAgainAt, wishedOf } from './wished-signal.ts'

export interface Looked {
  /** For an evaluation. */
  readonly suspects: readonly Subject[]
  /** When subjects other than suspects need an evaluation, by their `keyOf`: a `for` ends. Epoch milliseconds. */
  readonly checks: ReadonlyMap<string, number>
  /** Subjects waiting after a failure, by their `keyOf`. Suspects do not include them. */
  readonly heldBack: ReadonlySet<string>
  /**
   * The earliest instant at which time alone may change an answer; at most the end of the cycle. Epoch milliseconds.
   */
  readonly flipsAt: number
  readonly cycle: Situation['moment']['cycle']
  /** Id of the first subject not looked at; null if there is none. */
  readonly beyond: number | null
}

/** The findings about some subjects. */
export interface LookedAt extends Looked {
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
  const read = await readSubjects(tx, look.situation, subjects, 'narrow')
  const isThere = new Set(read.map(keyOf))
  const gone = ended === undefined ? subjects.filter((subject) => !isThere.has(keyOf(subject))) : []
  const judged = await judge(look, read, gone)
  return { ...looked(look, judged, null), flips: flipsOf(judged, look) }
}

const flipsOf = ({ findings }: Judged, { situation: { moment } }: Look): Flip[] =>
  findings.flatMap(({ subject: { kind, id }, flipsAt }) =>
    flipsAt < moment.cycle.endsAt ? [{ kind, id, at: new Date(flipsAt) }] : [],
  )

/** The findings about a range of ids. */
export interface LookedAtRange extends Looked {
  /** How many subjects were gone through. */
  readonly passed: number
  /** SIMs of the range still to be looked at, by {@link lookAt}. */
  readonly left: readonly Subject[]
}

/**
 * Looks at subjects of a kind in a range of ids. A first look passes over SIMs for which surely nothing changes; it
 * takes many more of them.
 *
 * @param most so many at most
 * @param page so many looked at in full; {@link PAGE} is sensible
 */
export async function lookAtRange(
  tx: TenantTx,
  kind: SubjectKind,
  range: Range,
  { most, page }: { readonly most: number; readonly page: number },
  options: EvaluationOptions,
): Promise<LookedAtRange> {
  const look = await begin(tx, options)
  if (kind === 'sim') return lookAtSims(look, range, most, page)
  const size = Math.min(most, page)
  const read = await readRange(look, kind, range, size + 1)
  const subjects = read.slice(0, size)
  const found = looked(look, await judge(look, subjects, []), read[size]?.id ?? null)
  return { ...found, passed: subjects.length, left: [] }
}

async function readRange(
  { tx, situation }: Look,
  kind: 'pool' | 'tenant',
  range: Range,
  most: number,
): Promise<readonly SubjectFacts[]> {
  return kind === 'pool' ? readPools(tx, situation, range, 'narrow', most) : readTenant(tx, situation, 'narrow')
}

async function lookAtSims(look: Look, range: Range, most: number, page: number): Promise<LookedAtRange> {
  const { tx, situation, rules } = look
  const first = await firstLook(tx, situation, rules, range, most)
  const unclear = first.unclear.map((id): Subject => ({ kind: 'sim', id }))
  const read = await readSubjects(tx, situation, unclear.slice(0, page), 'narrow')
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
  const isHeldBack = new Set(ended === undefined ? (await heldBack(tx)).map(keyOf) : [])
  return { tx, situation, rules, heldBack: isHeldBack }
}

/** The findings about subjects. A subject that took a second look has two findings. */
interface Judged {
  readonly findings: readonly Finding[]
  /** Removed subjects with alerts that must end. */
  readonly left: readonly Subject[]
}

/** Judges subjects. @param gone SIMs no longer provisioned, pools deleted */
async function judge(
  { tx, situation, rules }: Look,
  read: readonly SubjectFacts[],
  gone: readonly Subject[],
): Promise<Judged> {
  const stored = await loadAlerts<AlertState>(tx, [...read, ...gone], scopesAt(situation.moment))
  const alerts = Map.groupBy(stored, keyOf)
  const poolAlerts = await alertsOfSharedPools(tx, read, situation.moment)
  const around = { alerts, poolAlerts, guardOf: await readAnswers(tx, stored) }
  const judged = judging(tx.tenantId, situation, rules, around)
  const findings = read.map((subject) => judged(subject, 'narrow'))
  // Few subjects need sums over windows, or scans.
  const unclear = findings.filter(({ verdict }) => verdict === 'unknown').map(({ subject }) => subject)
  const again = (await readSubjects(tx, situation, unclear, 'all')).map((subject) => judged(subject, 'all'))
  const left = gone.filter((subject) => alerts.get(keyOf(subject))?.some(isToWithdraw) === true)
  return { findings: [...findings, ...again], left }
}

function looked({ situation, heldBack }: Look, { findings, left }: Judged, beyond: number | null): Looked {
  const { cycle } = situation.moment
  const suspects: Subject[] = [...left]
  const checks = new Map<string, number>()
  let first = cycle.endsAt
  for (const { subject, verdict, checkAt, flipsAt } of findings) {
    first = Math.min(first, flipsAt)
    if (verdict === 'changed') suspects.push(subject)
    if (verdict === 'unchanged' && checkAt !== NEVER) checks.set(keyOf(subject), checkAt)
  }
  return {
    suspects: suspects.filter((subject) => !heldBack.has(keyOf(subject))).map(({ kind, id }) => ({ kind, id })),
    heldBack,
    checks,
    flipsAt: first,
    cycle,
    beyond,
  }
}

interface Finding extends Judgement {
  readonly subject: SubjectFacts
  readonly flipsAt: number
}
interface Judgement {
  readonly verdict: Verdict
  /** When a `for` ends; {@link NEVER} if none runs. */
  readonly checkAt: number
}

const CHANGED: Judgement = { verdict: 'changed', checkAt: NEVER }

interface StoredAlerts {
  /** By the `keyOf` their subject. */
  readonly alerts: ReadonlyMap<string, readonly StoredAlert<AlertState>[]>
  readonly poolAlerts: readonly StoredAlert<AlertState>[]
  readonly guardOf: GuardAnswers
}

/** Makes the function that judges a subject of a tenant by its facts. Pure. */
function judging(
  tenantId: string,
  { moment, enforcementEnabled: enabled, escalateAfterMs, mailsFrom, silences }: Situation,
  { compiled, rules, refused }: RulesInForce,
  { alerts, poolAlerts, guardOf }: StoredAlerts,
): (subject: SubjectFacts, width: Width) => Finding {
  const { at: now, cycle } = moment
  const { staleSince } = moment.feed
  const signalMoment: SignalMoment = { at: now, cycle, enabled }
  const inForce = { isRefused: refused !== null, rules: byName(rules) }
  const ofPools = Map.groupBy(inhibitorsAmong(poolAlerts, inForce.rules), ({ id }) => id)
  const rows = rowsFor(compiled)
  return (subject, width) => {
    const attached = attachedTo(subject)
    const stored = alerts.get(keyOf(subject)) ?? []
    const row = rows[subject.kind][width](subject.facts)
    const tariffs = tariffBit(subject.kind === 'sim' ? subject.row.tariffType : null)
    const flips = flipsAt(attached, row, { now, cycle, staleSince }, tariffs)
    return { subject, ...judgementOn(subject, attached, row, stored), flipsAt: flips }
  }

  function quietFor(
    rule: Rule,
    level: LogLevel,
    subject: SubjectFacts,
    stored: readonly StoredAlert<AlertState>[],
  ): Quiet | null {
    const silenced = silences.length === 0 ? null : quietOf(silences, mailableOf(rule, level, subject))
    if (silenced !== null) return silenced
    const sharedPoolId = sharedPoolOf(subject)
    const ofPool = sharedPoolId === null ? [] : (ofPools.get(sharedPoolId) ?? [])
    return inhibitorOf([...ofPool, ...inhibitorsAmong(stored, inForce.rules)], { rule, level, subject, sharedPoolId })
  }

  function attachedTo(subject: SubjectFacts): readonly CompiledRule[] {
    if (!isWatched(subject)) return []
    const attached = compiled.attach(matchedOf(subject, tenantId))
    return moment.isEnded ? attached.filter(({ rule }) => isDecidedAt(rule, moment)) : attached
  }

  function judgementOn(
    subject: SubjectFacts,
    attached: readonly CompiledRule[],
    row: FactRow,
    stored: readonly StoredAlert<AlertState>[],
  ): Judgement {
    if (!moment.isEnded && leftOf(subject, attached, stored, inForce).length > 0) return CHANGED
    let isUnknown = false
    let first = NEVER
    for (const one of attached) {
      const { rule } = one
      const scope = scopeOf(rule, cycle.key)
      const alert = alertOf(stored, rule.name, scope)
      // An open alert of another scope continues in this one, or is closed.
      if (stored.some((one) => one.rule === rule.name && one.scope !== scope && isOpen(one.state))) return CHANGED
      const level = levelIn(one, row, { cycle, staleSince, previous: alert?.state ?? null, now })
      const permission = permissionOf(rule, level, subject, mailsFrom)
      const quiet = alert === null ? null : quietFor(rule, level, subject, stored)
      const guard = guardOf(rule.name, subject, alert)
      const known = {
        subject,
        cycle,
        now,
        permission,
        quiet,
        guard,
        escalateAfterMs,
        staleSince,
        stored: alert?.state ?? null,
      }
      const { verdict, checkAt = NEVER } = verdictOn(one, row, known)
      if (verdict === 'changed') return CHANGED
      if (verdict === 'unknown') isUnknown = true
      const wishing = { rule, subject, permission, stored: alert, isRefused: inForce.isRefused }
      const wish = alert === null || standsStill(rule, staleSince) ? 'keep' : wishOf(rule, alert.state, permission)
      const wished = alert === null || moment.isEnded ? null : wishedOf(wish, wishing)
      if (wished !== null && signalFor(wished, signalMoment) !== undefined) return CHANGED
      const again = wished === null ? NEVER : (signalsAgainAt(wished, signalMoment, false) ?? NEVER)
      first = Math.min(first, again)
      first = Math.min(first, checkAt)
    }
    return { verdict: isUnknown ? 'unknown' : 'unchanged', checkAt: first }
  }
}

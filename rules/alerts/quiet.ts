/**
 * Silences and alerts that hold back notices of an alert. Entries of the log, and suspensions, are never held back.
 * An alert inhibits another on the same matter that is not stronger: of the same subject if its level is higher, of a
 * SIM if it is of the pool whose data the SIM shares. Pure.
 */
import type { LogLevel } from '../../domain/codes.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import { factsRead } from '../conditions.ts'
import { fitsPattern } from '../engine/match.ts'
import type { FactName } from '../facts.ts'
import { levelAt } from '../ladder.ts'
import type { Rule } from '../rule.ts'
import { type AlertState, isFiring } from './alert-state.ts'

/** An open silence. Null fits any value. */
export interface OpenSilence {
  readonly id: number
  /** A pattern with `*`. */
  readonly rule: string | null
  readonly simId: number | null
  /** The pool itself, and the SIMs in it. */
  readonly poolId: number | null
  /** A pattern with `*`. Null fits subjects without a tag too. */
  readonly tag: string | null
  readonly level: LogLevel | null
  /** Epoch milliseconds. */
  readonly endsAt: number
}

interface Mailable {
  readonly rule: string
  readonly level: LogLevel
  readonly subject: Subject
  readonly poolId: number | null
  /** Of a SIM; pattern of a tag; null for other subjects. */
  readonly tag: string | null
}

/** A silence that holds back notices, until an instant in epoch milliseconds. */
interface QuietBySilence {
  readonly reason: 'silenced'
  readonly silenceId: number
  readonly until: number
}

/** A stronger alert on the same matter fires: of the subject itself, or of its pool. */
interface QuietByAlert {
  readonly reason: 'inhibited'
  /** Name of its rule. */
  readonly by: string
}

export type Quiet = QuietBySilence | QuietByAlert

/** The silence that holds back a notice the longest; null if none does. */
export function quietOf(silences: readonly OpenSilence[], about: Mailable): QuietBySilence | null {
  let found: OpenSilence | null = null
  for (const silence of silencesOver(silences, about)) {
    if (found === null || silence.endsAt > found.endsAt) found = silence
  }
  return found === null ? null : { reason: 'silenced', silenceId: found.id, until: found.endsAt }
}

/** The silences that hold back a notice. */
export const silencesOver = (silences: readonly OpenSilence[], about: Mailable): OpenSilence[] =>
  silences.filter((silence) => isSilencedBy(silence, about))

function isSilencedBy(silence: OpenSilence, { rule, level, subject, poolId, tag }: Mailable): boolean {
  return (
    (silence.rule === null || fitsPattern(silence.rule, rule)) &&
    (silence.level === null || silence.level === level) &&
    (silence.simId === null || (subject.kind === 'sim' && silence.simId === subject.id)) &&
    (silence.poolId === null || silence.poolId === poolId) &&
    (silence.tag === null || (tag !== null && fitsPattern(silence.tag, tag)))
  )
}

/** The facts of each measure that rules watch. */
const MEASURES: Readonly<Record<string, readonly FactName[]>> = {
  device: ['imei', 'imeiChanged'],
  place: ['lastCountry', 'countryChanged', 'lastMccMnc', 'lastRat'],
  silence: ['hoursSinceLastSeen', 'silentPct', 'neverSeen', 'silentSimCount'],
  rate: [
    'burnRatio',
    'burnShortRatio',
    'burnLongRatio',
    'forecastPct',
    'forecastOverageCostPct',
    'usageTodayMB',
    'usage24hMB',
    'usage7dMB',
    'usageAvgDayMB',
    'usageSpikeRatio',
  ],
  share: ['topSimSharePct'],
  usage: ['usageMB', 'usagePct', 'remainingMB', 'overageMB', 'poolUsagePct', 'overSimCount', 'overPoolCount'],
}

const measures = new WeakMap<Rule, string | null>()

/** The measure of a rule: the first that its conditions read a fact of; null if none. */
function measureOf(rule: Rule): string | null {
  const known = measures.get(rule)
  if (known !== undefined) return known
  const read: readonly string[] = factsRead(rule.conditions)
  const [measure = null] = Object.entries(MEASURES).find(([, facts]) => facts.some((fact) => read.includes(fact))) ?? []
  measures.set(rule, measure)
  return measure
}

/** An alert that fires, and is mailed. */
export interface Inhibitor extends Subject {
  readonly rule: string
  readonly level: LogLevel
  readonly measure: string
}

interface Inhibitable {
  readonly rule: Rule
  readonly level: LogLevel
  readonly subject: Subject
  /** Id of the pool whose data the SIM shares; null for SIMs without, and for other subjects. */
  readonly sharedPoolId: number | null
}

/** The alert that inhibits this one; null if none. */
export function inhibitorOf(
  inhibitors: readonly Inhibitor[],
  { rule, level, subject, sharedPoolId }: Inhibitable,
): QuietByAlert | null {
  if (inhibitors.length === 0) return null
  const measure = measureOf(rule)
  const found = inhibitors.find((other) => {
    if (other.measure !== measure) return false
    if (other.kind === subject.kind && other.id === subject.id) return other.level > level
    return other.kind === 'pool' && other.id === sharedPoolId && other.level >= level
  })
  return found === undefined ? null : { reason: 'inhibited', by: found.rule }
}

export const byName = (rules: readonly Rule[]): ReadonlyMap<string, Rule> =>
  new Map(rules.map((rule) => [rule.name, rule]))

/** Whether its firing was mailed, or silenced by a person. */
export function isTold(state: AlertState): boolean {
  const { part, mailed, withheld = [] } = state
  return isFiring(state) && (mailed.includes(`fired${part}`) || withheld.includes('silenced'))
}

export interface PossibleInhibitor extends Subject {
  readonly rule: string
  readonly state: AlertState
}

export function inhibitorsAmong(alerts: readonly PossibleInhibitor[], rules: ReadonlyMap<string, Rule>): Inhibitor[] {
  return alerts.flatMap(({ rule: name, kind, id, state }) => {
    const rule = rules.get(name)
    const measure = rule === undefined ? null : measureOf(rule)
    if (rule === undefined || measure === null || !isTold(state)) return []
    return [{ rule: name, kind, id, level: levelAt(rule, state.step), measure }]
  })
}

export const inhibitorsByPool = (
  alerts: readonly PossibleInhibitor[],
  rules: ReadonlyMap<string, Rule>,
): ReadonlyMap<number, readonly Inhibitor[]> => Map.groupBy(inhibitorsAmong(alerts, rules), ({ id }) => id)

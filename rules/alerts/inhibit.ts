/**
 * Inhibition: an alert is not mailed while a stronger one on the same matter fires. Stronger is one of a higher level
 * about the same subject, and one of the pool whose data a SIM shares.
 */
import type { LogLevel } from '../../domain/codes.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import { factsRead } from '../conditions.ts'
import type { FactName } from '../facts.ts'
import { levelAt } from '../ladder.ts'
import type { Rule } from '../rule.ts'
import { type AlertState, isFiring } from './alert-state.ts'
import type { QuietByAlert } from './quiet.ts'

/** The measure that a rule watches. */
type Measure = 'device' | 'silence' | 'rate' | 'share' | 'usage'

const FACTS_OF: Readonly<Record<Measure, readonly FactName[]>> = {
  device: ['imei', 'imeiChanged'],
  silence: ['hoursSinceLastSeen', 'silentPct', 'neverSeen', 'silentSimCount'],
  rate: [
    'burnRatio',
    'burnShortRatio',
    'burnLongRatio',
    'forecastPct',
    'forecastOverageCostPct',
    'usage24hMB',
    'usage7dMB',
  ],
  share: ['topSimSharePct'],
  usage: ['usageMB', 'usagePct', 'remainingMB', 'overageMB', 'poolUsagePct', 'overSimCount', 'overPoolCount'],
}
const MEASURES = ['device', 'silence', 'rate', 'share', 'usage'] as const

const measures = new WeakMap<Rule, Measure | null>()

/**
 * The measure of a rule: the first of device, silence, rate, share and usage that its conditions read; null if none.
 */
function measureOf(rule: Rule): Measure | null {
  const known = measures.get(rule)
  if (known !== undefined) return known
  const read = factsRead(rule.conditions)
  const measure = MEASURES.find((each) => FACTS_OF[each].some((fact) => read.includes(fact))) ?? null
  measures.set(rule, measure)
  return measure
}

/** An alert that fires, and is mailed. */
export interface Inhibitor extends Subject {
  readonly rule: string
  readonly level: LogLevel
  readonly measure: Measure
}

/** An alert that may be inhibited. */
export interface Inhibitable {
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

/** Rules by their name. */
export const byName = (rules: readonly Rule[]): ReadonlyMap<string, Rule> =>
  new Map(rules.map((rule) => [rule.name, rule]))

/** Whether its firing was mailed, or silenced by a person. */
export function isTold(state: AlertState): boolean {
  const { part, mailed, withheld = [] } = state
  return isFiring(state) && (mailed.includes(`fired${part}`) || withheld.includes('silenced'))
}

/** An alert that may inhibit others. */
export interface PossibleInhibitor extends Subject {
  readonly rule: string
  readonly state: AlertState
}

/** The inhibitors among alerts. */
export function inhibitorsAmong(alerts: readonly PossibleInhibitor[], rules: ReadonlyMap<string, Rule>): Inhibitor[] {
  return alerts.flatMap(({ rule: name, kind, id, state }) => {
    const rule = rules.get(name)
    const measure = rule === undefined ? null : measureOf(rule)
    if (rule === undefined || measure === null || !isTold(state)) return []
    return [{ rule: name, kind, id, level: levelAt(rule, state.step), measure }]
  })
}

/** The inhibitors among alerts of pools, by pool. */
export const inhibitorsByPool = (
  alerts: readonly PossibleInhibitor[],
  rules: ReadonlyMap<string, Rule>,
): ReadonlyMap<number, readonly Inhibitor[]> => Map.groupBy(inhibitorsAmong(alerts, rules), ({ id }) => id)

/**
 * What a test of the path expects of alerts, by plain arithmetic over the records: for whom a rule's conditions are met,
 * and what it may do about that. How that is told is the test's.
 */
import { WatchdogMode } from '../../../domain/codes.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'
import type { Stage } from '../../../rules/rule-file.ts'

export const HOUR = 3_600_000
export const MINUTE = 60_000
/** The allowance of each SIM in each pool. */
const LIMIT_MB = 100
/** The usage feed is one of a day, and stale after half as much again. */
const STALE_MS = 36 * HOUR
/** The `for` of the rule `sim-burn-rate`, as the histories write it. */
export const SLOW_MS = 2 * HOUR

/** The highest level first: each inhibits those after it. */
export const NAMES = ['sim-overage', 'sim-usage-warning', 'sim-burn-rate'] as const
export type Name = (typeof NAMES)[number]
export interface RuleModel {
  readonly stage: Stage
  /** From this share of the limit on; of `sim-overage`, from anything beyond the limit on. */
  readonly pct: number
}
export type RulesModel = Readonly<Record<Name, RuleModel>>

export interface RecordModel {
  readonly sim: number
  readonly pool: number
  readonly cycle: string
  readonly megabytes: number
}

/** An alert, as the last evaluation must have left it. */
export interface Expected {
  /** Whether it fires; undefined: its `for` runs, or has stood still, so that either may be. */
  readonly fires: boolean | undefined
  /** Since when its conditions are met without a break; null: they are not. */
  readonly metSince: number | null
  /** Whether the last evaluation could decide it. What could not be decided stays as it was, told or not. */
  readonly isDecided: boolean
}

export interface PathModel {
  rules: RulesModel
  readonly modes: WatchdogMode[]
  /** By SIM: the number of its pool. */
  readonly poolOf: number[]
  readonly moves: { readonly sim: number; readonly pool: number; readonly at: number }[]
  readonly records: RecordModel[]
  receivedAt: number
  readonly undecidable: Set<Name>
  /** By SIM: when its silence ends. */
  readonly silencedUntil: Map<number, number>
  /** By `subjectKey`. */
  readonly alerts: Map<string, Expected>
}

export const cycleOf = (at: number) => cycleAt('P1M', at)
export const keyOf = (rule: Name, sim: number, cycle: string): string => `${rule}/${sim}/${cycle}`

/** The pool that a SIM was in. A clock that is set back may come to before its last move. */
export const poolAt = ({ moves }: PathModel, sim: number, at: number): number =>
  moves.findLast((move) => move.sim === sim && move.at <= at)?.pool ?? 0

/** What a SIM has used in a cycle in a pool: that which it is in now. */
export const usedBy = ({ records, poolOf }: PathModel, sim: number, cycle: string, pool = poolOf[sim]): number =>
  records
    .filter((record) => record.sim === sim && record.cycle === cycle && record.pool === pool)
    .reduce((sum, { megabytes }) => sum + megabytes, 0)

export const modeOf = ({ modes, poolOf }: PathModel, sim: number): WatchdogMode =>
  modes[poolOf[sim] ?? 0] ?? WatchdogMode.Enforce
export const isStale = ({ receivedAt }: PathModel, now: number): boolean => now - receivedAt >= STALE_MS
const isCovered = (model: PathModel, rule: Name, sim: number): boolean =>
  model.rules[rule].stage !== 'off' && modeOf(model, sim) !== WatchdogMode.Disabled
export const isSilenced = ({ silencedUntil }: PathModel, sim: number, now: number): boolean =>
  (silencedUntil.get(sim) ?? 0) > now

function isMet(model: PathModel, rule: Name, sim: number, cycle: string): boolean {
  const pct = (100 * usedBy(model, sim, cycle)) / LIMIT_MB
  return rule === 'sim-overage' ? pct > 100 : pct >= model.rules[rule].pct
}

/** Evaluates all SIMs in a cycle. */
export function evaluate(model: PathModel, now: number, cycle: string = cycleOf(now).key): void {
  for (const rule of NAMES)
    for (const sim of model.poolOf.keys()) {
      const key = keyOf(rule, sim, cycle)
      model.alerts.set(key, expected(model, { rule, sim, cycle, now, before: model.alerts.get(key) }))
    }
}

function expected(
  model: PathModel,
  of: { rule: Name; sim: number; cycle: string; now: number; before: Expected | undefined },
): Expected {
  const { rule, sim, cycle, now, before } = of
  if (!isCovered(model, rule, sim)) return { fires: false, metSince: null, isDecided: false }
  if (model.undecidable.has(rule) || isStale(model, now)) {
    const fires = before === undefined ? false : before.fires
    return { fires, metSince: before?.fires === true ? before.metSince : null, isDecided: false }
  }
  if (!isMet(model, rule, sim, cycle)) return { fires: false, metSince: null, isDecided: true }
  const metSince = before?.metSince ?? now
  const fires = rule !== 'sim-burn-rate' || before?.fires === true || now - metSince >= SLOW_MS || undefined
  return { fires, metSince, isDecided: true }
}

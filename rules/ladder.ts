/** The steps of a ladder: a rule reports again when its fact reaches a higher one. Pure. */
import type { LogLevel } from '../domain/codes.ts'
import type { All, Group } from './conditions.ts'

export interface Step {
  /** Least value of the fact, in its unit. */
  readonly at: number
  readonly level: LogLevel
}

export interface Ladder {
  /** Name of a number that the subject has. */
  readonly fact: string
  /** Rising, at least one. */
  readonly steps: readonly [Step, ...Step[]]
  /** How far apart further steps above the last are; null: there are none. */
  readonly every: number | null
}

interface LadderRule {
  readonly level: LogLevel
  readonly conditions: Group
  readonly ladder: Ladder | null
}

/** Decimals of steps above the last listed one, to keep their keys short. */
const DECIMALS = 6

/** The highest step that a value reaches; null below the first, and for other values than numbers. */
export function stepReached({ steps, every }: Ladder, value: unknown): number | null {
  if (typeof value !== 'number') return null
  const last = steps.at(-1)?.at ?? steps[0].at
  if (every === null || !(value > last)) return steps.findLast(({ at }) => at <= value)?.at ?? null
  if (!Number.isFinite(value)) return last
  return Number((last + every * Math.floor((value - last) / every)).toFixed(DECIMALS))
}

/** The first step above a value; null if there is none. */
export function stepAbove(ladder: Ladder, value: number): number | null {
  const { steps, every } = ladder
  const next = steps.find(({ at }) => at > value)
  if (next !== undefined) return next.at
  const reached = stepReached(ladder, value)
  return every === null || reached === null ? null : reached + every
}

/** The level of a rule's alert. @param step highest reached step; without a ladder it does not matter */
export function levelAt({ level, ladder }: Pick<LadderRule, 'level' | 'ladder'>, step?: number | null): LogLevel {
  if (ladder === null) return level
  return ladder.steps.findLast(({ at }) => at <= (step ?? -Infinity))?.level ?? ladder.steps[0].level
}

/** The conditions of a rule with a ladder: its own, and that the first step is reached. @param own null: it has none */
export function withFirstStep(own: Group | null, { fact, steps: [first] }: Ladder): All {
  const reached = { fact, operator: 'greaterThanInclusive', value: first.at }
  return { all: own === null ? [reached] : [own, reached] }
}

/** The conditions as in the rule's file; null if it has only a ladder. */
export function ownConditions({ conditions, ladder }: Pick<LadderRule, 'conditions' | 'ladder'>): Group | null {
  if (ladder === null || !('all' in conditions)) return conditions
  const [own, reached] = conditions.all
  return reached === undefined || own === undefined || 'fact' in own ? null : own
}

/** The place in the rule's file of a place in its conditions. @param pointer JSON pointer, as if all stood in `conditions` */
export function placeInFile(rule: Pick<LadderRule, 'conditions' | 'ladder'>, pointer: string): string {
  if (rule.ladder === null || !pointer.startsWith('/conditions/all/')) return pointer
  const own = ownConditions(rule)
  const reached = `/conditions/all/${own === null ? 0 : 1}`
  if (pointer === reached) return '/ladder/steps/0/at'
  return pointer.replace('/conditions/all/0', '/conditions')
}

/** Stands for the highest step in messages: `{{step}}`. */
export const STEP = 'step'

/** Names that a rule's messages may use in addition to facts, each with the fact whose unit it has. */
export const namesOf = (ladder: { readonly fact: string } | null): Readonly<Record<string, string>> =>
  ladder === null ? {} : { [STEP]: ladder.fact }

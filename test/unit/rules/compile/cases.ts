/** Conditions and facts made at random from a seed, ill-typed ones among them. */

import { OPERATORS, operatorNames } from '../../../../domain/rules/operators.ts'
import type { Condition, Group, Operand } from '../../../../rules/conditions.ts'
import { operatorNamed } from '../../../../rules/engine/operators.ts'
import type { Facts } from '../../../../rules/facts.ts'
import { type Random } from '../../../setup/seed.ts'

/** Facts of SIMs of every type, nullable ones among them. */
export const NAMES = [
  'usagePct',
  'warningThresholdPct',
  'overageMB',
  'silentPct',
  'status',
  'neverSeen',
  'enableBurnRateAlerts',
  'imei',
  'poolName',
  'tag',
] as const

const NUMBERS = [0, 1, 2, 5, 80]
const TEXTS = ['', '5', 'abc', 'true']
const ODD = [-0, 0.1, -1, 2 ** 53, Number.NaN, Infinity, -Infinity, [], [5], ['abc'], {}, { fact: 'tag' }]

/** A fact's value: mostly a usual one. */
export function aValue(random: Random): any {
  const kind = random.real()
  if (kind < 0.5) return random.pick(NUMBERS)
  if (kind < 0.65) return random.pick(TEXTS)
  if (kind < 0.8) return random.chance(0.5)
  return kind < 0.86 ? null : random.pick(ODD)
}

export const someFacts = (random: Random): Facts => Object.fromEntries(NAMES.map((name) => [name, aValue(random)]))

const aList = (random: Random) => Array.from({ length: random.below(12) }, () => aValue(random))

/** An operand that fits the operator, or any other one. Null is refused before it gets here. */
function anOperand(operator: string, random: Random): Operand {
  if (random.chance(0.25)) return { fact: random.pick(NAMES) }
  if (random.chance(0.1)) return random.chance(0.3) ? aList(random) : (random.pick(ODD.slice(0, 10)) as any)
  const takes = operatorNamed(operator)?.takes
  if (takes === 'order') return random.pick(NUMBERS)
  if (takes === 'list') return aList(random)
  return takes === 'presence' ? random.chance(0.5) : (aValue(random) ?? 5)
}

const ORDER = [{}, {}, { priority: 1 }, { priority: 2 }, { priority: 1000 }]

/** A condition of at most `depth` levels, empty groups among them. */
function aCondition(random: Random, depth: number): Condition {
  if (depth > 0 && random.chance(0.45)) return aGroup(random, depth)
  const operator = random.pick(operatorNames())
  return { fact: random.pick(NAMES), operator, value: anOperand(operator, random), ...random.pick(ORDER) }
}

export function aGroup(random: Random, depth = 3): Group {
  const order = random.pick(ORDER)
  const kind = random.real()
  if (kind < 0.15) return { ...order, not: aCondition(random, depth - 1) }
  const length = random.chance(0.03) ? 0 : 1 + random.below(4)
  const members = Array.from({ length }, () => aCondition(random, depth - 1))
  return kind < 0.55 ? { ...order, all: members } : { ...order, any: members }
}

/** Names of all operators, without negation. */
export const BASES = Object.keys(OPERATORS) as (keyof typeof OPERATORS)[]

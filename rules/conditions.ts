/** Conditions of a rule, in json-rules-engine's own form. Loading replaces references to shared conditions. */
import type { TopLevelCondition } from 'json-rules-engine'

export type Scalar = string | number | boolean
/** Stands for the value of another fact of the same subject. */
export interface FactReference {
  readonly fact: string
}
export type Operand = Scalar | readonly Scalar[] | FactReference

interface Priority {
  /** Conditions with a higher priority are decided first. Default: 1. */
  readonly priority?: number
}
export interface Leaf extends Priority {
  readonly fact: string
  readonly operator: string
  readonly value: Operand
}
export interface All extends Priority {
  readonly all: readonly Condition[]
}
export interface AnyOf extends Priority {
  readonly any: readonly Condition[]
}
export interface Not extends Priority {
  readonly not: Condition
}
export type Group = All | AnyOf | Not
export type Condition = Leaf | Group

export const isReference = (operand: Operand): operand is FactReference =>
  typeof operand === 'object' && 'fact' in operand

/** The comparisons in a condition, in the order of the file. */
export function leavesOf(condition: Condition): Leaf[] {
  if ('all' in condition) return condition.all.flatMap(leavesOf)
  if ('any' in condition) return condition.any.flatMap(leavesOf)
  if ('not' in condition) return leavesOf(condition.not)
  return [condition]
}

/** The same with their places: JSON pointers. @param pointer that of the condition */
export function leavesAt(condition: Condition, pointer: string): [Leaf, string][] {
  const each = (members: readonly Condition[], kind: string) =>
    members.flatMap((member, n) => leavesAt(member, `${pointer}/${kind}/${n}`))
  if ('all' in condition) return each(condition.all, 'all')
  if ('any' in condition) return each(condition.any, 'any')
  if ('not' in condition) return leavesAt(condition.not, `${pointer}/not`)
  return [[condition, pointer]]
}

/** Names of the facts that a condition reads, without duplicates. */
export function factsRead(condition: Condition): string[] {
  const read = leavesOf(condition).flatMap(({ fact, value }) => (isReference(value) ? [fact, value.fact] : [fact]))
  return [...new Set(read)]
}

type EngineCondition = Exclude<Extract<TopLevelCondition, { all: unknown }>['all'][number], { condition: string }>

const nodeForEngine = (condition: Condition): EngineCondition =>
  'fact' in condition ? { ...condition } : forEngine(condition)

/** A copy for the engine, because the engine modifies its input. */
export function forEngine(group: Group): Exclude<TopLevelCondition, { condition: string }> {
  const order = group.priority === undefined ? {} : { priority: group.priority }
  if ('all' in group) return { ...order, all: group.all.map(nodeForEngine) }
  if ('any' in group) return { ...order, any: group.any.map(nodeForEngine) }
  return { ...order, not: nodeForEngine(group.not) }
}

/**
 * The facts that are needed. A fact on demand is read only if a rule decides by it, or if people are told it: sums over
 * windows and scans take many rows. Pure.
 */
import type { SubjectKind } from '../domain/watchdog/subject.ts'
import { placeholdersOf } from './alerts/message.ts'
import { factsReadBy } from './engine/evaluate-subject.ts'
import { rulesOfTenant } from './engine/match.ts'
import type { Windows } from './fact-rows.ts'
import { type Cost, type FactName, type Facts, type FactsOf, factsOf, type ReadFactsOf } from './facts.ts'
import { type Moment, SIM_FACTS_BY_NAME, type SimFactRow, simFactsOf } from './facts-of.ts'
import type { Rule } from './rule.ts'

/** Names of facts, by kind of subject. */
export type FactNames = Readonly<Record<SubjectKind, ReadonlySet<string>>>

const namesOf = (of: (subject: SubjectKind) => Iterable<string>): FactNames => ({
  sim: new Set(of('sim')),
  pool: new Set(of('pool')),
  tenant: new Set(of('tenant')),
  tag: new Set(of('tag')),
})

export const NO_FACTS = namesOf(() => [])
export const ALL_FACTS = namesOf((subject) => factsOf(subject).keys())

/** A mail tells how much was used, how much above the limit, and when the limit will be passed at this rate. */
const TOLD_IN_MAILS: readonly FactName[] = ['usageMB', 'overageMB', 'burnLongRatio']

/** Names that a rule decides by, and those in its messages. */
export function factsShownBy(rule: Rule): string[] {
  const { message, resolvedMessage = '' } = rule.event.params
  return [...factsReadBy(rule), ...placeholdersOf(message), ...placeholdersOf(resolvedMessage)]
}

function factsToldBy(rule: Rule): string[] {
  if (!rule.event.params.actions.includes('email')) return factsShownBy(rule)
  const facts = factsOf(rule.subject)
  return [...factsShownBy(rule), ...TOLD_IN_MAILS.filter((name) => facts.get(name)?.isOnDemand === true)]
}

/** The facts by which rules decide about subjects of a tenant. */
export const neededToDecide = (rules: readonly Rule[], tenantId: string): FactNames =>
  neededBy(rules, tenantId, factsReadBy)

/** The facts that an evaluation of subjects of a tenant needs: also those in messages and mails about alerts. */
export const neededToTell = (rules: readonly Rule[], tenantId: string): FactNames =>
  neededBy(rules, tenantId, factsToldBy)

function neededBy(rules: readonly Rule[], tenantId: string, factsBy: (rule: Rule) => string[]): FactNames {
  const concerned = rulesOfTenant(rules, tenantId)
  return namesOf((subject) => concerned.filter((rule) => rule.subject === subject).flatMap(factsBy))
}

/** The start of the longest window that needed facts are sums over; null if they are none. */
export function windowsSince(subject: SubjectKind, needed: FactNames, windows: Windows): Date | null {
  const starts = [...factsOf(subject).values()].flatMap(({ name, over }) =>
    over !== null && needed[subject].has(name) ? [windows[over].getTime()] : [],
  )
  return starts.length === 0 ? null : new Date(Math.min(...starts))
}

/** Whether a needed fact has this cost. */
export const isAnyNeeded = (subject: SubjectKind, needed: FactNames, cost: Cost): boolean =>
  [...factsOf(subject).values()].some((fact) => fact.cost === cost && needed[subject].has(fact.name))

/** Whether a fact is read: with its subject, or because it is needed. */
const isRead = (subject: SubjectKind, needed: FactNames, name: string): boolean =>
  needed[subject].has(name) || factsOf(subject).get(name)?.isOnDemand === false

/** Leaves out the facts that are not read. */
export function readFactsOf<S extends SubjectKind>(subject: S, needed: FactNames, facts: FactsOf<S>): ReadFactsOf<S>
export function readFactsOf(subject: SubjectKind, needed: FactNames, facts: Facts): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([name]) => isRead(subject, needed, name)))
}

/** Makes the function that computes the facts of a SIM that are read. There may be thousands of SIMs. */
export function readingSims(needed: FactNames): (row: SimFactRow, moment: Moment) => ReadFactsOf<'sim'> {
  const read = new Map([...SIM_FACTS_BY_NAME].filter(([name]) => isRead('sim', needed, name)))
  return (row, moment) => simFactsOf(row, moment, read)
}

/** Messages of rules: templates with `{{fact}}` placeholders. */

import { labelOf } from '../../domain/codes.ts'
import { beforeLimit, money, plainNumber, quantity, type Unit } from '../../domain/quantity.ts'
import { isCurrency } from '../../domain/tenants/currency.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { fromMoney } from '../../domain/units.ts'
import { FACTS, type Facts } from '../facts.ts'
import { namesOf, STEP } from '../ladder.ts'
import type { Rule } from '../rule.ts'
import type { TellingKind } from './keys.ts'

/** Blanks around the name are cut afterwards: a pattern that did so would try each of them again. */
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g

export const placeholdersOf = (template: string): string[] =>
  [...template.matchAll(PLACEHOLDER)].map(([, name]) => (name ?? '').trim())

/**
 * The first brace of a template outside placeholders, with the text from there; undefined if there is none. It would be
 * mailed unchanged.
 *
 * @returns `from` counts characters from 1
 */
export function strayBrace(template: string): { readonly from: number; readonly text: string } | undefined {
  const rest = template.replace(PLACEHOLDER, (placeholder) => ' '.repeat(placeholder.length))
  const at = rest.search(/[{}]/)
  return at < 0 ? undefined : { from: at + 1, text: template.slice(at) }
}

/** Units as people type them after a placeholder. A value brings its unit, so these are left out. */
const TYPED: Readonly<Record<Unit, RegExp>> = {
  MB: /^\s?(MB|megabytes?)(?![\p{L}\p{N}])/iu,
  '%': /^\s?(%|per ?cent(?!\p{L}))/iu,
  hours: /^\s?(hours?|hrs?|h)(?![\p{L}\p{N}])/iu,
  minutes: /^\s?(minutes?|mins?)(?![\p{L}\p{N}])/iu,
  days: /^\s?(days?|d)(?![\p{L}\p{N}])/iu,
  times: /^(?!)/,
  money: /^\s?[A-Z]{3}(?![\p{L}\p{N}])/u,
}

/** The unit that a text begins with, if it is typed there; otherwise empty. */
function typedUnit(unit: Unit, text: string): string {
  const [typed = ''] = TYPED[unit].exec(text) ?? []
  return unit === 'money' && !isCurrency(typed.trim()) ? '' : typed
}

const OF_LIMIT = /^ of \{\{\s*limitMB\s*\}\}/

/** Names in templates other than facts: each has the unit of a fact. */
type Names = Readonly<Record<string, string>>
const NO_NAMES: Names = {}

function specOf(name: string, names: Names) {
  const fact = names[name] ?? name
  return Object.entries(FACTS).find(([known]) => known === fact)?.[1]
}

/** A fact's value in words: numbers with their unit, codes by their label, null as "unknown", text on one line. */
function valueText(name: string, facts: Facts, names: Names): string {
  const value = facts[name]
  if (value === null || value === undefined) return 'unknown'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return value.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  const spec = specOf(name, names)
  if (spec?.codes != null) return labelOf(spec.codes, value)
  if (spec?.unit === 'money' && typeof facts['currency'] === 'string') return money(fromMoney(value), facts['currency'])
  if (spec?.unit === 'MB') return quantity(value, 'MB', numbersOf(facts, name === 'limitMB' ? 'usageMB' : 'limitMB'))
  return spec?.unit == null ? plainNumber(value) : quantity(value, spec.unit)
}

const numbersOf = (facts: Facts, name: string): number[] => {
  const value = facts[name]
  return typeof value === 'number' ? [value] : []
}

/** `{{usageMB}} of {{limitMB}}` with the unit only once: 2.4 of 3 GB. */
function usedOfLimit(name: string, facts: Facts, names: Names): string | undefined {
  const [used] = numbersOf(facts, name)
  const [limit] = numbersOf(facts, 'limitMB')
  return specOf(name, names)?.unit !== 'MB' || used === undefined || limit === undefined
    ? undefined
    : beforeLimit(used, limit)
}

/**
 * Fills a template with facts. A `{{…}}` inside a value is not filled again. A unit after a placeholder, as in
 * `{{usageMB}} MB`, is left out, because the value has one.
 *
 * @param names names of other values in `facts`, each with the fact whose unit it has
 */
export function fillMessage(template: string, facts: Facts, names: Names = NO_NAMES): string {
  let filled = ''
  let end = 0
  for (const { 0: placeholder, 1: written = '', index } of template.matchAll(PLACEHOLDER)) {
    const name = written.trim()
    const unit = specOf(name, names)?.unit
    const after = index + placeholder.length
    const typed = unit == null ? '' : typedUnit(unit, template.slice(after))
    const isOfLimit = OF_LIMIT.test(template.slice(after + typed.length))
    filled += template.slice(end, index)
    filled += (isOfLimit ? usedOfLimit(name, facts, names) : undefined) ?? valueText(name, facts, names)
    end = after + typed.length
  }
  return filled + template.slice(end)
}

/** A subject's facts, and the highest step that its alert has reached, if the rule has a ladder. */
const saidFacts = (facts: Facts, step: number | undefined): Facts => ({ ...facts, [STEP]: step ?? null })

/** The message of a rule that fires. @param step highest reached step of the rule's ladder */
export const firedMessage = (rule: Rule, facts: Facts, step?: number): string =>
  fillMessage(rule.event.params.message, saidFacts(facts, step), namesOf(rule.ladder))

/** The message when a rule's alert resolves: the rule's own text, or else how its subject stands now. */
export function resolvedMessage(rule: Rule, facts: Facts, step?: number): string {
  const { resolvedMessage: own } = rule.event.params
  const template = own ?? `${WHO[rule.subject]} no longer meets rule ${rule.name}${standing(facts)}.`
  return fillMessage(template, saidFacts(facts, step), namesOf(rule.ladder))
}

const WHO = { sim: 'SIM {{iccid}}', pool: 'Pool {{poolName}}', tenant: 'The estate', tag: 'Tag {{tag}}' } as const

/** Usage and silence of a subject, as a template. */
function standing(facts: Facts): string {
  const known = [
    typeof facts['usagePct'] === 'number' ? 'at {{usagePct}} ({{usageMB}} of {{limitMB}})' : null,
    typeof facts['hoursSinceLastSeen'] === 'number' ? 'seen {{hoursSinceLastSeen}} ago' : null,
  ].filter((part) => part !== null)
  return known.length === 0 ? '' : `: ${known.join(', ')}`
}

/** The message of a telling. @param step highest reached step of the rule's ladder */
export function tellingMessage(rule: Rule, facts: Facts, kind: TellingKind, step?: number): string {
  switch (kind) {
    case 'resolved':
      return resolvedMessage(rule, facts, step)
    case 'escalated':
      return `Nobody has acknowledged this: ${firedMessage(rule, facts, step)}`
    case 'fired':
    case 'withdrawn':
      return firedMessage(rule, facts, step)
  }
}

/** A message about an ended cycle: "For November 2026, which has ended: …". */
export const endedMessage = (cycle: Cycle, message: string): string =>
  `For ${nameOf(cycle)}, which has ended: ${message}`

const MONTH = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** Cycles other than months go by their start. */
const nameOf = ({ key, startsAt }: Cycle): string =>
  key.includes('T')
    ? `the billing cycle from ${new Date(startsAt).toISOString().slice(0, 16).replace('T', ' ')} UTC`
    : MONTH.format(startsAt)

/** Messages of rules: templates with `{{fact}}` placeholders. */

import { labelOf } from '../../domain/codes.ts'
import type { FactValue } from '../../domain/watchdog/fact.ts'
import { FACTS, type Facts } from '../facts.ts'
import type { Rule } from '../rule.ts'

const PLACEHOLDER = /\{\{\s*([^{}]*?)\s*\}\}/g

/** The names in a template's placeholders, in order. */
export const placeholdersOf = (template: string): string[] =>
  [...template.matchAll(PLACEHOLDER)].map(([, name]) => name ?? '')

const LARGE = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const MEDIUM = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
// Even one byte shows: 0.000001 MB.
const SMALL = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

function numberText(value: number): string {
  const size = Math.abs(value)
  if (size !== 0 && size < 1) return SMALL.format(value)
  return (size < 100 ? MEDIUM : LARGE).format(value)
}

const specOf = (name: string) => Object.entries(FACTS).find(([known]) => known === name)?.[1]

/** A fact's value in words: numbers rounded, codes by their label, null as "unknown", text on one line. */
function valueText(name: string, value: FactValue | undefined): string {
  if (value === null || value === undefined) return 'unknown'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return value.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim()
  const spec = specOf(name)
  if (spec?.codes != null) return labelOf(spec.codes, value)
  // Ids and counts are exact. They have no thousands separators.
  if (spec?.type === 'integer') return String(value)
  return numberText(value)
}

/** Fills a template with facts. A `{{…}}` inside a value is not filled again. */
export const fillMessage = (template: string, facts: Facts): string =>
  template.replace(PLACEHOLDER, (_, name: string) => valueText(name, facts[name]))

/** The message when a rule fires. */
export const firedMessage = (rule: Rule, facts: Facts): string => fillMessage(rule.event.params.message, facts)

/** The message when a rule's alert resolves: the rule's own text, or else its firing message with the current facts. */
export function resolvedMessage(rule: Rule, facts: Facts): string {
  const { message, resolvedMessage: own } = rule.event.params
  return own === undefined ? `No longer so: ${fillMessage(message, facts)}` : fillMessage(own, facts)
}

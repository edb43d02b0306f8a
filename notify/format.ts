/** How mails write numbers, instants and text from outside. The HTML and the text part use the same strings. */

import { LogLevel, labelOf } from '../domain/codes.ts'
import { toMoney } from '../domain/units.ts'
import type { FactValue } from '../domain/watchdog/fact.ts'

const MOST = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const SMALL = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
const FACT = new Intl.NumberFormat('en', { maximumFractionDigits: 3, useGrouping: false })
const COUNT = new Intl.NumberFormat('en')
const MONEY = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' })
// Truncated, not rounded: 99.96 % must not show as 100 %.
const PCT = new Intl.NumberFormat('en', { maximumFractionDigits: 1, roundingMode: 'trunc' })

/** Formats megabytes. Even one byte shows: 0.000001 MB. */
export const megabytes = (mb: number): string => `${(mb !== 0 && Math.abs(mb) < 1 ? SMALL : MOST).format(mb)} MB`

export const percent = (pct: number): string => `${PCT.format(pct)} %`
export const count = (n: number): string => COUNT.format(n)
export const counted = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`

/** Formats micro-units as an amount of the tenant's currency, whose name is not known here. */
export const money = (micro: number): string => MONEY.format(toMoney(micro))

/** Formats a fact's value without thousands separators, so that it can be compared with the rule file. */
export function factValue(value: FactValue | readonly FactValue[]): string {
  if (value === null) return 'unknown'
  if (typeof value === 'object') return value.map(factValue).join(', ')
  if (typeof value === 'number') return FACT.format(value)
  return oneLine(String(value))
}

/** Formats ISO 8601 as `2026-11-21 08:40 UTC`. Anything else is shown as it is, on one line. */
export function instant(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return oneLine(iso)
  const [day, time] = at.toISOString().split('T')
  return `${day} ${time?.slice(0, 5)} UTC`
}

/**
 * Puts text from outside on one line, without control characters and without marks that change the writing direction. A
 * name can then neither fake a header or a line, nor pose as another name.
 */
export const oneLine = (text: string): string =>
  text
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()

/** Cuts text to at most this many UTF-16 units, with an ellipsis if it was cut. Never cuts inside a character. */
export function shorten(text: string, units: number): string {
  if (text.length <= units) return text
  let kept = ''
  for (const { segment } of CHARACTERS.segment(text)) {
    if (kept.length + segment.length >= units) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

export const levelLabel = (level: LogLevel): string => labelOf(LogLevel, level)

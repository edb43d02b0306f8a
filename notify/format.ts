/** How mails write numbers, instants and words from outside. The HTML and the text part use the same strings. */

import { LogLevel, labelOf } from '../domain/codes.ts'
import { toMoney } from '../domain/units.ts'
import type { FactValue } from '../domain/watchdog/fact.ts'

const MOST = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const SMALL = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })
const FACT = new Intl.NumberFormat('en', { maximumFractionDigits: 3, useGrouping: false })
const COUNT = new Intl.NumberFormat('en')
const MONEY = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' })
// Cut, not rounded: 99.96 % must not read as full.
const PCT = new Intl.NumberFormat('en', { maximumFractionDigits: 1, roundingMode: 'trunc' })

/** Megabytes. One byte too many still shows: 0.000001 MB. */
export const megabytes = (mb: number): string => `${(mb !== 0 && Math.abs(mb) < 1 ? SMALL : MOST).format(mb)} MB`

export const percent = (pct: number): string => `${PCT.format(pct)} %`
export const count = (n: number): string => COUNT.format(n)
export const counted = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`

/** An amount of the tenant's currency, which has no name here. */
export const money = (micro: number): string => MONEY.format(toMoney(micro))

/** A value as rules see it: without thousands separators, so that it can be compared with the rule file. */
export function factValue(value: FactValue | readonly FactValue[]): string {
  if (value === null) return 'unknown'
  if (typeof value === 'object') return value.map(factValue).join(', ')
  if (typeof value === 'number') return FACT.format(value)
  return oneLine(String(value))
}

/** ISO 8601 to `2026-11-21 08:40 UTC`; what is no instant is shown as it came. */
export function instant(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return oneLine(iso)
  const [day, time] = at.toISOString().split('T')
  return `${day} ${time?.slice(0, 5)} UTC`
}

/**
 * Words from outside on one line, without control characters and without marks that turn the direction of
 * writing, so that a name can neither fake a header or a line nor show itself as another.
 */
export const oneLine = (text: string): string =>
  text
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()

/** At most this many UTF-16 units, with an ellipsis where it was cut; never cut inside a character. */
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

/** How mails write text from outside, and facts. The HTML and the text part use the same strings. */

import type { AlertNoticeKind } from '../../../domain/notifications/notification.ts'
import { quantity, type Unit } from '../../../domain/quantity.ts'
import type { FactValue } from '../../../domain/watchdog/fact-value.ts'

/** Words of each kind of notice: its badge (empty: the level), and its time in a list and in a table. */
export const KINDS: Readonly<Record<AlertNoticeKind, Readonly<Record<'badge' | 'found' | 'done', string>>>> = {
  fired: { badge: '', found: 'Noticed', done: 'noticed' },
  resolved: { badge: 'Resolved', found: 'Resolved', done: 'resolved' },
  escalated: { badge: 'Not acknowledged', found: 'Written', done: 'not acknowledged, told' },
  graceStarted: { badge: 'Grace started', found: 'Grace began', done: 'grace began' },
  graceEnding: { badge: 'Grace ending', found: 'Written', done: 'grace ends, told' },
  suspended: { badge: 'Suspended', found: 'Suspended', done: 'suspended' },
  broughtBack: { badge: 'Active again', found: 'Active again since', done: 'active again' },
}

const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** A fact's value, or several. @param others values that a number must not read as, unless it is that */
export function factValue(
  value: FactValue | readonly FactValue[],
  unit: Unit | null = null,
  others: readonly FactValue[] = [],
): string {
  if (value === null) return 'unknown'
  if (typeof value === 'object') return value.map((one) => factValue(one, unit, others)).join(', ')
  if (typeof value !== 'number') return oneLine(String(value))
  return quantity(
    value,
    unit,
    others.filter((other) => typeof other === 'number'),
  )
}

/**
 * Puts text from outside on one line, without control characters and without marks that change the writing direction. A
 * name can then neither fake a header or a line, nor pose as another name.
 */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()

/** Text for a header of a mail. Its reader must not decode any of it: `=?utf-8?Q?…?=` could hide what `oneLine` removes. */
export const headerText = (text: string): string => text.replace(/=\?+/g, '=').trim()

/**
 * Cuts text to at most this many UTF-16 units, with an ellipsis if it was cut. Never cuts inside a character, nor inside
 * a number after a space: `1,000,…` would be another.
 */
export function shortenLabel(text: string, units: number): string {
  if (text.length <= units) return text
  const kept = first(charactersOf(text), units - 1).join('')
  const isInNumber = /^[.,]?\d/.test(text.slice(kept.length))
  return `${(isInNumber ? kept.replace(/(?<=\s)[\d.,]+$/, '') : kept).trimEnd()}…`
}

/** Cuts a name in its middle, because names often differ at both ends: `meters-nor…uth-12`. */
export function shortenName(name: string, units: number): string {
  if (name.length <= units) return name
  const characters = charactersOf(name)
  const head = first(characters, Math.ceil((units - 1) / 2)).join('')
  const tail = first(characters.toReversed(), units - 1 - head.length)
    .toReversed()
    .join('')
  return `${head.trimEnd()}…${tail.trimStart()}`
}

const charactersOf = (text: string): string[] => [...CHARACTERS.segment(text)].map(({ segment }) => segment)

/** The first characters, in at most this many UTF-16 units. */
function first(characters: readonly string[], units: number): string[] {
  let left = units
  const beyond = characters.findIndex((character) => {
    left -= character.length
    return left < 0
  })
  return characters.slice(0, beyond < 0 ? characters.length : beyond)
}

/**
 * Cursors: the place to continue a walk through a list, as text that a caller returns unread.
 *
 * A walk follows the key that the list is sorted by, so it meets each item that exists all the time exactly once, even
 * if others are added or removed during it.
 */
import { Type } from 'typebox'
import { ServiceError } from './errors.ts'

/** A place in a list: the sort key of an item. */
export interface Place {
  /** In microseconds since 1970. 0 in a list sorted by id alone. */
  readonly micros: number
  readonly id: number
}

export interface Cursor {
  /** The last item of the part before. */
  readonly after: Place
  /** Parts of the list before this one. */
  readonly parts: number
  /** Size of the list when the walk began. */
  readonly totalItems: number
}

/** The first letter of a list's cursors. Other lists refuse them. */
const LETTERS = {
  sims: 's',
  pools: 'p',
  log: 'l',
  events: 'e',
  orders: 'o',
  shadow: 'w',
  alerts: 'a',
  tickets: 't',
} as const
export type WalkedList = keyof typeof LETTERS

/** Every text that matches is a cursor: a time and an id of 53 bits each, and two counts of 31. */
const DIGITS = '([01][0-9a-f]{13})([01][0-9a-f]{13})([0-7][0-9a-f]{7})([0-7][0-9a-f]{7})'
const MOST = 2 ** 31 - 1

const patternOf = (list: WalkedList) => `^${LETTERS[list]}${DIGITS}$`

export const cursorQuery = (list: WalkedList) => ({
  cursor: Type.Optional(
    Type.String({
      pattern: patternOf(list),
      description:
        'Continues a list, in place of `page`. Take it from the `next` link in the `Link` header. Opaque: send ' +
        'it unchanged, with the same filters.',
      examples: [cursorText(list, { after: { micros: 0, id: 100 }, parts: 1, totalItems: 250 })],
    }),
  ),
})

export function cursorText(list: WalkedList, { after, parts, totalItems }: Cursor): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
  const count = (value: number) => hex(Math.min(value, MOST), 8)
  return `${LETTERS[list]}${hex(after.micros, 14)}${hex(after.id, 14)}${count(parts)}${count(totalItems)}`
}

/** Reads a cursor of a list. @throws ServiceError invalid_request if the text is none */
export function readCursor(list: WalkedList, text: string): Cursor {
  const digits = new RegExp(patternOf(list)).exec(text)
  if (digits === null) {
    const detail = 'must be the cursor of a link of this list with rel="next", as it was given'
    throw new ServiceError('invalid_request', `cursor ${detail}; got '${text}'.`, {
      errors: [{ parameter: 'cursor', detail: `${detail}; got '${text}'` }],
    })
  }
  const [micros = 0, id = 0, parts = 0, totalItems = 0] = digits.slice(1).map((one) => Number.parseInt(one, 16))
  return { after: { micros, id }, parts, totalItems }
}

/**
 * How spreadsheet programs change the cells of a CSV file, and how to prevent it. They run a cell that begins like a
 * formula. They turn long digits into numbers with 15 significant digits.
 */
import { digitsIn } from '../identifiers.ts'

/** A number as programs write it. It is harmless with or without a sign, and so is a telephone number. */
const NUMBER = String.raw`[+-]?\d+(?:\.\d+)?`
/** Possible starts of a cell: programs that use separators other than the comma split a cell at these. */
const SEPARATOR = String.raw`[;\t\r\n]`
/** Characters before the sign of a formula that do not make it harmless: spaces, invisible characters, quotes. */
const QUIET = String.raw`[\p{Z}\p{C}"'\p{Pi}\p{Pf}]`
/** Signs that begin a formula, and their wide forms, which some programs accept. Source: OWASP, CSV injection. */
const SIGN = '[=+\\-@\uFF1D\uFF0B\uFF0D\uFF20]'

const RISKY = new RegExp(
  String.raw`(?:^|(?<=${SEPARATOR}))(?!${NUMBER}(?:${SEPARATOR}|$))(?=${QUIET}*${SIGN})|^(?=${QUIET}*[\t\r\n])`,
  'gu',
)

/**
 * Writes text as a cell that no spreadsheet program runs. Puts an apostrophe before anything that begins like a
 * formula: at the start of the cell, and after a semicolon, tab or line break. Numbers with a sign (`-5`,
 * `+491701234567`) stay unchanged.
 *
 * Nothing is lost: text that already has such an apostrophe gets a second one.
 */
export const neutralised = (text: string): string => text.replace(RISKY, "'")

/** Quiet characters, and the sign behind them. A run of them is one match, so the time is linear in the text. */
const LEAD = new RegExp(`${QUIET}+(${SIGN})?`, 'gu')
const NUMBER_CELL = new RegExp(String.raw`${NUMBER}(?:${SEPARATOR}|$)`, 'uy')

/**
 * Reads the text of a cell: takes off each apostrophe that {@link neutralised} adds, and only those. So `meantBy` of
 * `neutralised` of a text is that text, and `'quoted'` stays unchanged.
 */
export const meantBy = (cell: string): string =>
  cell.replace(LEAD, (lead: string, sign: string | undefined, at: number) => {
    if (sign === undefined) return at === 0 && /[\t\r\n]/.test(lead) ? lead.replace(/^'/, '') : lead
    // A semicolon is not quiet: if one begins a part here, it stands before the run.
    const isPart = at === 0 || cell[at - 1] === ';'
    NUMBER_CELL.lastIndex = at + lead.length - 1
    const isNumber = NUMBER_CELL.test(cell)
    return lead.replace(/(^|[\t\r\n])'/g, (found: string, before: string, place: number) => {
      const isOwn = (before === '' && !isPart) || (isNumber && place + found.length === lead.length - 1)
      return isOwn ? found : before
    })
  })

/**
 * Options for the CSV library, by RFC 4180: each row is read back unchanged. Quotes a cell with any line break in it,
 * as programs end rows at each of them, and one with spaces around its text, as programs remove them.
 */
export const CSV_FORMAT = {
  record_delimiter: 'windows',
  quote_record_delimiter: true,
  quoted_match: /^\s|\s$/,
} as const

/** Writes digits as a cell that spreadsheet programs keep as text, with every digit: `="8944…"`. */
export const asTextCell = (digits: string): string => (digits === '' ? '' : `="${digits}"`)

/** Digits of an identifier: from an IMEI of 14 to an ICCID of 22. A shorter number may be an id or an amount. */
const LONG = /^\d{14,22}$/

/**
 * Reads digits from a cell marked as text: `="8944…"`, `'8944…`. Removes spaces and invisible characters. Of a long
 * number it removes hyphens and dots between groups too, and the filler of an ICCID.
 */
export function digitsOf(cell: string): string {
  if (/^\d*$/.test(cell)) return cell
  const text = cell
    .replaceAll(/[\p{Z}\p{C}]/gu, '')
    .replace(/^="(.*)"$/, '$1')
    .replace(/^'/, '')
  const digits = digitsIn(text) ?? ''
  return LONG.test(digits) ? digits : text
}

/** The days 0 and 1 of Excel's calendars. 1900-01-00 is one of them. */
const DAY_ZERO = /^(?:1899-12-3[01]|1900-01-0[01]|1904-01-01)/

/** The note for a day that spreadsheet programs make of an empty cell or a 0. Empty for any other text. */
export const ifDayZero = (text: string): string =>
  DAY_ZERO.test(text) ? ', which is day 0 of a spreadsheet: its cell was empty or 0' : ''

/** Whether a text is a number that a program has rounded: `8.94E+18`, `8,94E+18`. */
export const isRounded = (text: string): boolean => /^[+-]?\d+(?:[.,]\d*)?e[+-]?\d+$/i.test(text.trim())

/** Whether digits look like a rounded long number written out: only 0 from the 16th digit on, at least 18 digits. */
export const looksRounded = (digits: string): boolean => /^\d{15}0{3,}$/.test(digits)

/**
 * What spreadsheet programs make of the cells of a CSV file, and what keeps them from it.
 *
 * They run a cell that begins like a formula, and they turn long digits into numbers of 15 places.
 */

/** A number as programs write it; with or without a sign it can do no harm, nor can a telephone number. */
const NUMBER = String.raw`[+-]?\d+(?:\.\d+)?`
/** Where a cell may begin: programs that take other separators than the comma split a cell at these. */
const SEPARATOR = String.raw`[;\t\r\n]`
/** What may stand before the sign of a formula without making it harmless: spaces, marks nobody sees, quotes. */
const QUIET = String.raw`[\p{Z}\p{C}"'\p{Pi}\p{Pf}]*`
/** The usual signs, and their wide forms, which some programs take for them. Source: OWASP, CSV injection. */
const SIGN = '[=+\\-@\uFF1D\uFF0B\uFF0D\uFF20]'

const RISKY = new RegExp(
  String.raw`(?:^|(?<=${SEPARATOR}))(?!${NUMBER}(?:${SEPARATOR}|$))(?=${QUIET}${SIGN})|^(?=${QUIET}[\t\r\n])`,
  'gu',
)

/**
 * Text as a cell that no spreadsheet program runs: an apostrophe stands before what begins like a formula, at the
 * start of the cell and behind a semicolon, tab or line break in it. Numbers with a sign (`-5`, `+491701234567`) stay.
 *
 * Nothing is lost: text that has such an apostrophe already gets a second one.
 */
export const neutralised = (text: string): string => text.replace(RISKY, "'")

/** Digits as a cell that stays text, every digit of it, when a spreadsheet program opens the file: `="8944…"`. */
export const asTextCell = (digits: string): string => (digits === '' ? '' : `="${digits}"`)

/** Digits out of a cell that was made to stay text: `="8944…"`, `'8944…`; spaces are taken out too. */
export const digitsOf = (cell: string): string =>
  cell
    .replaceAll(/[\p{Z}\p{C}]/gu, '')
    .replace(/^="(.*)"$/, '$1')
    .replace(/^'/, '')

/** Whether a text is a number that a program has shortened: `8.94E+18`, `8,94E+18`. */
export const isRounded = (text: string): boolean => /^[+-]?\d+(?:[.,]\d*)?e[+-]?\d+$/i.test(text.trim())

/** Digits that are all 0 from the 16th place on: what is left of a long number that was rounded and written out. */
export const looksRounded = (digits: string): boolean => /^\d{15}0{3,}$/.test(digits)

/** Prints lines on the terminal. Data in them cannot move the cursor, change colours or change the reading order. */

/** Control characters except tab and line end, and marks that change the direction of text. */
const UNPRINTABLE = /(?![\t\n])[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu

/** Replaces each character that a terminal would act on by an escape such as `\u001b`. */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Prints one line, or several. */
export const print = (text: string): void => console.log(printable(text))

/** Lines on the terminal: what is data moves no cursor, changes no colour and is read in the order it stands in. */

/** Control characters but tab and line end; marks that turn the direction of text round. */
const UNPRINTABLE = /(?![\t\n])[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]/gu

/** Text with what a terminal would obey as `\u001b`. */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Prints a line, or several. */
export const print = (text: string): void => console.log(printable(text))

/** Texts: what PostgreSQL can store, and faults of labels and e-mail addresses. Imports nothing. */

/** Whether PostgreSQL can store a text unchanged: without U+0000 and without halves of surrogate pairs. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/** Replaces each character that cannot be stored by U+FFFD. For text from others that cannot be refused. */
export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed()

/**
 * Control characters, and the separators of lines and paragraphs. In a name or a label they would break the rows of files, the
 * lines of a terminal and the subjects of mails.
 */
const CONTROLS = '\\u0000-\\u001F\\u007F-\\u009F\\u2028\\u2029'
export const LABEL_PATTERN = `^[^${CONTROLS}]*$`
const CONTROL = new RegExp(`[${CONTROLS}]`)

/** Which control character a text has; undefined if it has none. */
export function controlFault(text: string): string | undefined {
  const at = text.search(CONTROL)
  if (at < 0) return undefined
  const code = text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')
  return `has the control character U+${code} at character ${at + 1}; expected none`
}

/** Most characters of a whole address, before its @, and between the dots behind it. Sources: RFC 5321, 4.5.3.1; RFC 1035, 2.3.4. */
export const MOST_EMAIL = 254
const MOST_LOCAL = 64
const MOST_LABEL = 63

/** Why no mail server or no DNS takes an address, in words that follow its name; undefined if they do. Form is not checked. */
export function emailLengthFault(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const label = address
    .slice(at + 1)
    .split('.')
    .find((one) => one.length > MOST_LABEL)
  if (address.length > MOST_EMAIL) return `has ${address.length} characters; expected at most ${MOST_EMAIL}`
  if (at > MOST_LOCAL) return `has ${at} characters before the @; expected at most ${MOST_LOCAL}`
  if (label === undefined) return undefined
  return `has ${label.length} characters between dots of its domain; expected at most ${MOST_LABEL}`
}

/** A text with a capital letter at its beginning. */
export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

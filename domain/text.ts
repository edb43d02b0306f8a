/** Text that PostgreSQL can store: without U+0000 and without halves of surrogate pairs. Imports nothing. */

/** Whether PostgreSQL can store a text unchanged. */
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

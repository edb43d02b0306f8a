/** Text as PostgreSQL keeps it: U+0000 and halves of surrogate pairs are none. Imports nothing. */

/** Whether a text can be kept as it is. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/** The text, each character that cannot be kept replaced by U+FFFD: for what others have sent, which nobody can refuse. */
export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed()

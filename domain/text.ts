/** Text that PostgreSQL can store: without U+0000 and without halves of surrogate pairs. Imports nothing. */

/** Whether PostgreSQL can store a text as it is. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

/** Replaces each character that cannot be stored by U+FFFD. For text from others that cannot be refused. */
export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed()

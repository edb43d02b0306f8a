/** Where the key to the service comes from: a file, which may change, or a setting. */
import { readFile } from 'node:fs/promises'

export interface KeySettings {
  /** Comes first; empty where there is none. */
  readonly SERVICE_KEY_FILE: string
  /** Holds where there is no file, or no key in it. */
  readonly SERVICE_KEY: string
}

/** It goes into a header of HTTP. */
const PRINTABLE = /^[\x21-\x7e]+$/

/**
 * The key as it is now.
 *
 * @returns empty where neither is set
 * @throws Error where only the file is set, and it cannot be read or has no key in it
 */
export async function readServiceKey({ SERVICE_KEY_FILE: file, SERVICE_KEY: key }: KeySettings): Promise<string> {
  if (file === '') return key
  try {
    const text = (await readFile(file, 'utf8')).trim()
    if (PRINTABLE.test(text)) return text
    throw new Error(text === '' ? 'is empty: expected a key' : 'has no key in it: expected one, and nothing else')
  } catch (error) {
    if (key !== '') return key
    throw new Error(`SERVICE_KEY_FILE=${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

/** Source of the key to the service: a setting, or a file that may change. */
import { readFile } from 'node:fs/promises'
import { decode } from '../domain/files/utf8.ts'

export interface KeySettings {
  /** Takes precedence; empty if there is no file. */
  readonly SERVICE_KEY_FILE: string
  /** Used if there is no file, or no key in it. */
  readonly SERVICE_KEY: string
}

/** The key goes into an HTTP header. */
const PRINTABLE = /^[\x21-\x7e]+$/

/** The key; empty if none is set. @throws Error if only the file is set, and there is no key to be read in it */
export async function readServiceKey({ SERVICE_KEY_FILE: file, SERVICE_KEY: key }: KeySettings): Promise<string> {
  if (file === '') return key
  try {
    const decoded = decode(await readFile(file))
    if ('fault' in decoded) throw new Error(decoded.fault)
    const text = decoded.text.trim()
    if (PRINTABLE.test(text)) return text
    throw new Error(text === '' ? 'is empty: expected a key' : 'has no key in it: expected one, and nothing else')
  } catch (error) {
    if (key !== '') return key
    throw new Error(`SERVICE_KEY_FILE=${file}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

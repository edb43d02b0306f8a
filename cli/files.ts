/** Files that a command line names; small files of the data folder, written completely or not at all, for their owner only. */
import { open, readFile, rename } from 'node:fs/promises'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { CommandFailure, ExitCode, wordsOf } from './failures.ts'

/** Reads a file that a command line names. @throws CommandFailure if it cannot be read */
export async function readInput(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new CommandFailure(`${path} cannot be read: ${wordsOf(error)}`, ExitCode.notFound, { cause: error })
  })
  return new Uint8Array(bytes)
}

/** Writes JSON atomically: a reader, or a crash, sees either the old file or the new one. Mode 0600. */
export async function writeJsonFile(path: string, value: unknown): Promise<void> {
  const unfinished = `${path}.new`
  const file = await open(unfinished, 'w', 0o600)
  try {
    await file.chmod(0o600)
    await file.writeFile(`${JSON.stringify(value, null, 2)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(unfinished, path)
}

/**
 * Reads JSON of a given form.
 *
 * @returns undefined if there is no such file, or if it has another form
 */
export async function readJsonFile<T extends TSchema>(path: string, schema: T): Promise<Static<T> | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return Value.Check(schema, value) ? value : undefined
  } catch {
    return undefined
  }
}

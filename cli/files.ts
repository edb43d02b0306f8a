/** Small files of the data folder: written completely or not at all, and readable by their owner only. */
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'

/**
 * Makes the data folder, for its owner only. If the owner is root, the mode is 0711, else 0700. With 0711 the
 * database's own user can pass through, but nobody else can list the folder.
 */
export async function makeOwnFolder(path: string): Promise<void> {
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700
  await mkdir(path, { recursive: true, mode })
  await chmod(path, mode)
}

/** Writes JSON atomically: a reader, or a crash, sees either the old file or the new one. Mode 0600. */
export async function writeJson(path: string, value: unknown): Promise<void> {
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
export async function readJson<T extends TSchema>(path: string, schema: T): Promise<Static<T> | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return Value.Check(schema, value) ? value : undefined
  } catch {
    return undefined
  }
}

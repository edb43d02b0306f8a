/** Small files of the data folder: written whole or not at all, and only for their owner. */
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'

/**
 * Makes the data folder, for nobody but its owner. Where that is root, the database's own user goes through it, and
 * nobody looks what is in it.
 */
export async function makeOwnFolder(path: string): Promise<void> {
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700
  await mkdir(path, { recursive: true, mode })
  await chmod(path, mode)
}

/** Writes JSON so that a reader sees the old file or the new one, and a crash leaves one of them. Mode 0600. */
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

/** @returns undefined where there is no such file, or one that is not of this form */
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

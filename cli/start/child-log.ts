/** The logs of the child processes: complete in a file each, and the important lines on the terminal. */
import { createWriteStream, existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Reporter } from '../reporter.ts'

/** 20 MB. A larger file is renamed at the next start, and one earlier file is kept. */
const FILE_LIMIT_BYTES = 20_000_000
const WARN = 40

const Entry = Type.Object({ level: Type.Number(), msg: Type.String(), reason: Type.Optional(Type.String()) })

/**
 * The terminal's form of a log line; undefined for a line that is not for people.
 *
 * @param everything includes lines below a warning
 */
export function readable(line: string, everything: boolean): string | undefined {
  const [name, text] = splitName(line)
  const entry = entryOf(text)
  if (entry === undefined) return everything || !isNoise(text) ? `${name}: ${text}` : undefined
  if (entry.level < WARN && !everything) return undefined
  return `${name}: ${entry.msg}${entry.reason === undefined ? '' : ` (${entry.reason})`}`
}

/** Lines outside the log: a crash or a message of the supervisor is shown, a stack or a greeting is not. */
const isNoise = (text: string): boolean => /^\s+at |^listening on |^\s*$|^Node\.js v/.test(text)

function entryOf(text: string): Static<typeof Entry> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Value.Check(Entry, value) ? value : undefined
  } catch {
    return undefined
  }
}

const splitName = (line: string): [string, string] => {
  const at = line.indexOf(' | ')
  return at < 0 ? ['', line] : [line.slice(0, at), line.slice(at + 3)]
}

/** @returns a function that takes a child's lines, as `<name> | <line>` */
export function childLog(dataDir: string, reporter: Reporter, everything: boolean): (line: string) => void {
  const folder = join(dataDir, 'logs')
  mkdirSync(folder, { recursive: true })
  const files = new Map<string, NodeJS.WritableStream>()
  const fileOf = (name: string) => {
    const known = files.get(name)
    if (known !== undefined) return known
    const path = join(folder, `${name}.log`)
    if (existsSync(path) && statSync(path).size > FILE_LIMIT_BYTES) renameSync(path, `${path}.1`)
    const file = createWriteStream(path, { flags: 'a' })
    // A full disk is reported by the processes that need it.
    file.on('error', () => undefined)
    files.set(name, file)
    return file
  }
  return (line) => {
    const [name, text] = splitName(line)
    fileOf(name || 'other').write(`${text}\n`)
    const shown = readable(line, everything)
    if (shown !== undefined) reporter.warn(shown)
  }
}

/** What the child processes log: all of it into a file each, and to the terminal what a person should see. */
import { createWriteStream, existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Reporter } from '../reporter.ts'

/** 20 MB, and as much of the run before. */
const FILE_LIMIT_BYTES = 20_000_000
const WARN = 40

const Entry = Type.Object({ level: Type.Number(), msg: Type.String(), reason: Type.Optional(Type.String()) })

/**
 * The terminal's form of a line; undefined for one that is not for people.
 *
 * @param everything also what is below a warning
 */
export function readable(line: string, everything: boolean): string | undefined {
  const [name, text] = splitName(line)
  const entry = entryOf(text)
  if (entry === undefined) return everything || !isNoise(text) ? `${name}: ${text}` : undefined
  if (entry.level < WARN && !everything) return undefined
  return `${name}: ${entry.msg}${entry.reason === undefined ? '' : ` (${entry.reason})`}`
}

/** Of what is not of the log, a crash and the supervisor's own word are shown; a stack and a greeting are not. */
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

/** @returns what takes a child's lines, as `<name> | <line>` */
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
    // A full disk is told by those who cannot do without it.
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

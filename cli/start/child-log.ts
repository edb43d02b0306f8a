/** What the child processes log: all of it into a file each, and to the terminal what a person should see. */
import { createWriteStream, existsSync, mkdirSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Tell } from './tell.ts'

/** 20 MB, and as much of the run before. */
const FILE_LIMIT_BYTES = 20_000_000
const WARN = 40

const Entry = Type.Object({ level: Type.Number(), msg: Type.String(), reason: Type.Optional(Type.String()) })

/** The terminal's form of a log line; undefined for one that is not for people. */
export function readable(line: string, everything: boolean): string | undefined {
  const [name = '', text = ''] = splitName(line)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // Not of the log: a crash, the supervisor's own word, or a server that says it is there.
    return text.startsWith('listening on ') && !everything ? undefined : `${name}: ${text}`
  }
  if (!Value.Check(Entry, parsed) || (parsed.level < WARN && !everything)) return undefined
  return `${name}: ${parsed.msg}${parsed.reason === undefined ? '' : ` (${parsed.reason})`}`
}

const splitName = (line: string): [string, string] => {
  const at = line.indexOf(' | ')
  return at < 0 ? ['', line] : [line.slice(0, at), line.slice(at + 3)]
}

/** @returns what takes a child's lines, as `<name> | <line>` */
export function childLog(dataDir: string, tell: Tell, everything: boolean): (line: string) => void {
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
    if (shown !== undefined) tell.warn(shown)
  }
}

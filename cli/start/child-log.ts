/** The logs of the child processes: complete in a file each, and the important lines on the terminal. */
import { join } from 'node:path'
import { createStream } from 'rotating-file-stream'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { quote } from '../../domain/quote.ts'
import type { Reporter } from '../reporter.ts'

/** A file that has grown to 20 MB is renamed to `<name>.log.1`, that one to `<name>.log.2`; the fifth is deleted. */
const FILES = { size: '20M', rotate: 4 } as const
/** Limit of a line, in bytes of JSON. Entries of the log are shorter; the output of a crash may not be. */
const MOST_LINE = 10_000
const WARN = 40

const Entry = Type.Object({ level: Type.Number(), msg: Type.String(), reason: Type.Optional(Type.String()) })

/**
 * The terminal's form of a log line; undefined for lines not meant for people.
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

/**
 * @param kept when a file is renamed, and how many earlier ones are kept
 * @returns a function that takes a child's lines, as `<name> | <line>`
 */
export function childLog(
  dataDir: string,
  reporter: Pick<Reporter, 'warn'>,
  everything: boolean,
  kept: { readonly size: `${number}${'K' | 'M'}`; readonly rotate: number } = FILES,
): (line: string) => void {
  const folder = join(dataDir, 'logs')
  const files = new Map<string, NodeJS.WritableStream>()
  const fileOf = (name: string) => {
    const known = files.get(name)
    if (known !== undefined) return known
    const file = createStream(`${name}.log`, { path: folder, mode: 0o600, ...kept })
    // A full disk is reported by the processes that need it.
    file.on('error', () => undefined)
    files.set(name, file)
    return file
  }
  return (line) => {
    const [name, whole] = splitName(line)
    const text = quote(whole, MOST_LINE)
    fileOf(name || 'other').write(`${text}\n`)
    const shown = readable(`${name} | ${text}`, everything)
    if (shown !== undefined) reporter.warn(shown)
  }
}

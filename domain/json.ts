/**
 * Reads JSON of others: bodies, lines of files, responses. Its shape is checked in the text, before it is parsed. JSON
 * with too many levels or fields would cost too much time in every reader. Of a repeated name only the last would
 * count. The limit for bodies also bounds the length of lists.
 */
import { ServiceError } from './errors.ts'

/** Deeper than any body needs. The 6 levels of a rule's conditions arrive as text. */
const MOST_LEVELS = 64
/** More than any object has: the largest has 30. */
const MOST_FIELDS = 200

export interface JsonFault {
  /** JSON pointer to the value with the fault. Empty for other text than JSON. */
  readonly pointer: string
  /** In words that follow the pointer: `stands twice, …`. */
  readonly detail: string
}

export type ReadJson = { readonly value: unknown } | { readonly fault: JsonFault }

/**
 * Reads a JSON text without a byte order mark.
 *
 * A fault is text that is not JSON, or JSON with more than 64 levels, with an object of more than 200 fields, or with a
 * repeated name in an object. Names are compared decoded: `"\u0061"` is `"a"`.
 */
export function readJson(text: string): ReadJson {
  const fault = shapeFault(text)
  if (fault !== undefined) return { fault }
  try {
    return { value: JSON.parse(text) }
  } catch (error) {
    return { fault: { pointer: '', detail: `is no JSON: ${reasonOf(error)}` } }
  }
}

/** The error for a body with a fault. */
export const wrongJson = (fault: JsonFault): ServiceError =>
  new ServiceError('invalid_request', `${fault.pointer || 'body'} ${fault.detail}.`, { errors: [fault] })

/** Why a text is no JSON, in the parser's words. The text around the place may be a secret, and is left out. */
function reasonOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error)
  return words
    .replace(/, (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, '')
    .replace(/(?<=^Unexpected token ')[^\p{L}\p{N}\p{P}\p{S} ](?='$)/u, codeOf)
}

/** For a character that cannot be seen. */
const codeOf = (sign: string): string => `U+${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`

/** An open object or list at the current position. */
interface Level {
  readonly isObject: boolean
  /** Fields begun so far, or items ended so far. */
  count: number
  /** Whether the next string is the name of a field. */
  beforeName: boolean
  /** Position of the last field's name in the text, with its quotes. */
  nameFrom: number
  nameTo: number
  /** The names so far, as they read. */
  readonly names: Set<string>
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const [OPEN_OBJECT, CLOSE_OBJECT] = [0x7b, 0x7d]
const [OPEN_LIST, CLOSE_LIST] = [0x5b, 0x5d]

/** The fault in the shape of a JSON text, in one pass; undefined if none. Other text is left to the parser. */
function shapeFault(text: string): JsonFault | undefined {
  const open: Level[] = []
  let level: Level | undefined
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) {
      const end = endOfText(text, at)
      if (level?.beforeName === true) {
        level.beforeName = false
        level.count += 1
        if (level.count > MOST_FIELDS) {
          const detail = `has more fields than the ${MOST_FIELDS} an object may have`
          return { pointer: pointerTo(text, open.slice(0, -1)), detail }
        }
        level.nameFrom = at
        level.nameTo = end + 1
        const detail = nameFault(nameOf(text, at, end + 1), level)
        if (detail !== undefined) return { pointer: pointerTo(text, open), detail }
      }
      at = end
      continue
    }
    switch (sign) {
      case OPEN_OBJECT:
      case OPEN_LIST: {
        if (open.length === MOST_LEVELS) {
          const detail = `is nested deeper than the ${MOST_LEVELS} levels there may be`
          return { pointer: pointerTo(text, open), detail }
        }
        const isObject = sign === OPEN_OBJECT
        level = { isObject, count: 0, beforeName: isObject, nameFrom: 0, nameTo: 0, names: new Set() }
        open.push(level)
        break
      }
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        open.pop()
        level = open.at(-1)
        break
      case COMMA:
        if (level?.isObject === true) level.beforeName = true
        else if (level !== undefined) level.count += 1
        break
    }
  }
  return undefined
}

/** The fault of the next name of an object. Keeps the name. */
function nameFault(name: string, { names }: Level): string | undefined {
  // Code that copies such a field into an object would change what that object is.
  if (name === '__proto__') return 'is not a name that a field may have'
  if (names.has(name)) return 'stands twice in its object: give each name once'
  names.add(name)
  return undefined
}

/** Position of the closing quote of a string. The length of the text if there is none. */
function endOfText(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === BACKSLASH) at += 1
    else if (sign === QUOTE) return at
  }
  return text.length
}

/** JSON pointer (RFC 6901) to the current value in the innermost of these levels. */
const pointerTo = (text: string, levels: readonly Level[]): string =>
  levels
    .map(({ isObject, count, nameFrom, nameTo }) => (isObject ? nameOf(text, nameFrom, nameTo) : String(count)))
    .map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')

/** A name as it reads. @param to behind its closing quote */
function nameOf(text: string, from: number, to: number): string {
  const quoted = text.slice(from, to)
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}

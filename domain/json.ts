/**
 * Reads JSON of others: bodies, lines of files, answers. Its shape is checked in the text, before it is parsed. JSON that is
 * nested too deep, or has too many fields, would cost too much time in every reader. Of a name that stands twice only the
 * last would count. The limit for bodies also bounds the length of lists.
 */
import { ServiceError } from './errors.ts'

/** Deeper than any body needs. The 6 levels of a rule's conditions arrive as text. */
const MOST_LEVELS = 64
/** More than any object has: the largest has 30. */
const MOST_FIELDS = 200
/** Names of an object that are compared one by one. Of an object with more, the names are kept in a set. */
const FEW = 16
const RESERVED = '__proto__'

export interface JsonFault {
  /** JSON pointer to the value with the fault. Empty for text that is no JSON. */
  readonly pointer: string
  /** In words that follow the pointer: `stands twice, …`. */
  readonly detail: string
}

export type ReadJson = { readonly value: unknown } | { readonly fault: JsonFault }

/**
 * Reads a JSON text without a byte order mark.
 *
 * A fault is text that is no JSON, or JSON with more than 64 levels, with an object of more than 200 fields, or with a name
 * that stands twice in an object. Names are compared as they read: `"\u0061"` is `"a"`.
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

/** Why a text is no JSON, in the parser's words. Not what stands around the place: that may be a secret. */
function reasonOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error)
  return words
    .replace(/, (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, '')
    .replace(/(?<=^Unexpected token ')[^\p{L}\p{N}\p{P}\p{S} ](?='$)/u, codeOf)
}

/** For a character that cannot be seen. */
const codeOf = (sign: string): string => `U+${sign.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`

/** An object or list that is open at the current position. */
interface Level {
  readonly isObject: boolean
  /** How many are open around it. */
  readonly depth: number
  /** Fields begun so far, or items ended so far. */
  count: number
  /** Whether the next string is the name of a field. */
  beforeName: boolean
  /** Position of the last field's name in the text, with its quotes. */
  nameFrom: number
  nameTo: number
  /** A number made of its length and two characters, and whether it has an escape. */
  nameHash: number
  nameEscapes: boolean
  /** The names so far, as they read. Undefined while they are few: then their positions are in {@link froms}. */
  names: Set<string> | undefined
}

/** Of the first names of all objects that are open, {@link FEW} a level: where they begin and end. Used within a call. */
const [froms, tos] = [new Uint32Array(MOST_LEVELS * FEW), new Uint32Array(MOST_LEVELS * FEW)]
/** Their numbers: two names are compared by their characters only if these are the same. */
const hashes = new Int32Array(MOST_LEVELS * FEW)

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const [OPEN_OBJECT, CLOSE_OBJECT] = [0x7b, 0x7d]
const [OPEN_LIST, CLOSE_LIST] = [0x5b, 0x5d]

/**
 * What is wrong with the shape of a JSON text; undefined if nothing is. Text that is no JSON is left to the parser.
 *
 * One pass over the text, in memory that does not grow with it.
 */
function shapeFault(text: string): JsonFault | undefined {
  const open: Level[] = []
  let level: Level | undefined
  for (let at = 0; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) {
      if (level?.beforeName === true) {
        level.beforeName = false
        level.count += 1
        if (level.count > MOST_FIELDS) {
          const detail = `has more fields than the ${MOST_FIELDS} an object may have`
          return { pointer: pointerTo(text, open.slice(0, -1)), detail }
        }
        passName(text, at, level)
        const detail = nameFault(text, level)
        if (detail !== undefined) return { pointer: pointerTo(text, open), detail }
        at = level.nameTo - 1
      } else at = endOfText(text, at)
      continue
    }
    switch (sign) {
      case OPEN_OBJECT:
      case OPEN_LIST: {
        const depth = open.length
        if (depth === MOST_LEVELS) {
          const detail = `is nested deeper than the ${MOST_LEVELS} levels there may be`
          return { pointer: pointerTo(text, open), detail }
        }
        const isObject = sign === OPEN_OBJECT
        level = levelAt(depth, isObject)
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

const levelAt = (depth: number, isObject: boolean): Level => ({
  isObject,
  depth,
  count: 0,
  beforeName: isObject,
  nameFrom: 0,
  nameTo: 0,
  nameHash: 0,
  nameEscapes: false,
  names: undefined,
})

/** Goes to the end of a name, and notes in its level what it looks like. */
function passName(text: string, from: number, level: Level): void {
  let escapes = false
  let at = from + 1
  for (; at < text.length; at++) {
    const sign = text.charCodeAt(at)
    if (sign === QUOTE) break
    if (sign !== BACKSLASH) continue
    escapes = true
    at += 1
  }
  level.nameFrom = from
  level.nameTo = at + 1
  level.nameHash = (text.charCodeAt(from + 1) << 16) ^ (text.charCodeAt(at - 1) << 8) ^ (at - from)
  level.nameEscapes = escapes
}

/** What is wrong with the last name of an object. Keeps it for those that follow. */
function nameFault(text: string, level: Level): string | undefined {
  const { count, nameFrom: from, nameTo: to, nameEscapes } = level
  if (count > FEW || nameEscapes) level.names ??= namesSoFar(text, level)
  const { names } = level
  // Most names are compared where they stand, and never copied.
  const name = names !== undefined || to - from === RESERVED.length + 2 ? nameOf(text, from, to) : undefined
  // Code that copies such a field into an object would change what that object is.
  if (name === RESERVED) return 'is not a name that a field may have'
  const isRepeated = names === undefined ? isAmongFew(text, level) : names.has(name ?? '')
  if (isRepeated) return 'stands twice in its object: give each name once'
  names?.add(name ?? '')
  return undefined
}

function isAmongFew(text: string, { depth, count, nameFrom, nameTo, nameHash }: Level): boolean {
  const own = depth * FEW + count - 1
  for (let place = depth * FEW; place < own; place++) {
    if (hashes[place] === nameHash && isSame(text, place, nameFrom, nameTo)) return true
  }
  froms[own] = nameFrom
  tos[own] = nameTo
  hashes[own] = nameHash
  return false
}

/** Whether a name has the same characters as the one at a place. */
function isSame(text: string, place: number, from: number, to: number): boolean {
  const [otherFrom = 0, otherTo = 0] = [froms[place], tos[place]]
  if (otherTo - otherFrom !== to - from) return false
  for (let at = 1; at < to - from; at++) {
    if (text.charCodeAt(otherFrom + at) !== text.charCodeAt(from + at)) return false
  }
  return true
}

/** The names before the last one. */
function namesSoFar(text: string, { depth, count }: Level): Set<string> {
  const names = new Set<string>()
  for (let place = depth * FEW; place < depth * FEW + count - 1; place++) {
    names.add(nameOf(text, froms[place] ?? 0, tos[place] ?? 0))
  }
  return names
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

/**
 * Checks the shape of JSON in its text, before it is parsed. JSON that is nested too deep, or has too many fields,
 * would cost too much time in every reader. The limit for bodies also bounds the length of lists.
 */
import { ServiceError } from '../../domain/errors.ts'

/** Deeper than any body needs. The 6 levels of a rule's conditions arrive as text. */
const MOST_LEVELS = 64
/** More than any object has: the largest has 30. */
const MOST_FIELDS = 200

export interface ShapeFault {
  /** JSON pointer to the value that is nested too deep or has too many fields. */
  readonly pointer: string
  readonly detail: string
}

/** An object or list that is open at the current position. */
interface Level {
  readonly isObject: boolean
  /** Fields begun so far, or items ended so far. */
  count: number
  /** Whether the next string is the name of a field. */
  beforeName: boolean
  /** Position of the last field's name in the text, with its quotes. */
  nameFrom: number
  nameTo: number
}

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
export function shapeFault(text: string): ShapeFault | undefined {
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
        level = { isObject, count: 0, beforeName: isObject, nameFrom: 0, nameTo: 0 }
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
    .map(({ isObject, count, nameFrom, nameTo }) => (isObject ? nameOf(text.slice(nameFrom, nameTo)) : String(count)))
    .map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')

function nameOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted
  }
}

/** The error for a body with a shape fault. */
export const wrongShape = (fault: ShapeFault): ServiceError =>
  new ServiceError('invalid_request', `${fault.pointer || 'body'} ${fault.detail}.`, { errors: [fault] })

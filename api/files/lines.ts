/** Measures lines and records of deliveries while they are read. An endless line never fills the memory. */
import { ServiceError } from '../../domain/errors.ts'

/** Longest line of NDJSON and longest record of CSV, in bytes. */
export const MOST_LINE = 64 * 1024
export const LINE_TOO_LONG = `is longer than ${MOST_LINE} bytes`

const NEWLINE = 0x0a
const QUOTE = 0x22

/**
 * The lines of a stream, without their line ends. Yields null for a line that is too long, and keeps nothing of it.
 *
 * @param parts UTF-8
 */
export async function* linesOf(parts: AsyncIterable<Buffer>): AsyncGenerator<string | null> {
  let kept: Buffer[] = []
  let length = 0
  const take = (piece: Buffer) => {
    length += piece.length
    if (length > MOST_LINE) kept = []
    else kept.push(Buffer.from(piece))
  }
  const line = () => {
    const whole = length > MOST_LINE ? null : Buffer.concat(kept).toString('utf8')
    kept = []
    length = 0
    return whole
  }
  for await (const part of parts) {
    let from = 0
    for (let end = part.indexOf(NEWLINE); end >= 0; end = part.indexOf(NEWLINE, from)) {
      take(part.subarray(from, end))
      yield line()
      from = end + 1
    }
    take(part.subarray(from))
  }
  if (length > 0) yield line()
}

const recordTooLong = (line: number) =>
  new ServiceError('invalid_request', `The CSV cannot be read: the record in line ${line} ${LINE_TOO_LONG}`)

/**
 * Passes CSV on until a record is too long. Line ends within quotes belong to the record.
 *
 * @throws ServiceError invalid_request if a record is too long
 */
export async function* measuredCsv(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [length, lines, begun, quoted] = [0, 1, 1, false]
  for await (const part of parts) {
    for (let at = 0; at < part.length; at++) {
      const byte = part[at]
      length += 1
      if (byte === QUOTE) quoted = !quoted
      if (byte === NEWLINE) {
        lines += 1
        if (!quoted) [length, begun] = [0, lines]
      }
      if (length > MOST_LINE) throw recordTooLong(begun)
    }
    yield part
  }
}

/**
 * Checks the length of the lines of a complete text.
 *
 * @throws ServiceError invalid_request if a line is too long
 */
export function refuseLongLines(text: string): void {
  let line = 1
  for (let from = 0; from < text.length; line++) {
    const found = text.indexOf('\n', from)
    const end = found < 0 ? text.length : found
    if (end - from > MOST_LINE) throw recordTooLong(line)
    from = end + 1
  }
}

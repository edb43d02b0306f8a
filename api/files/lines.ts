/** Reads the lines of a file in bounded memory. An endless line never fills it. */
import { Waste } from '../../domain/waste.ts'

/** Longest line of NDJSON and longest record of CSV, in bytes. */
export const MOST_LINE = 64 * 1024
export const LINE_TOO_LONG = `is longer than ${MOST_LINE} bytes`

const NEWLINE = 0x0a

/** A line that is not blank. */
export interface Line {
  /** Its number in the file, from 1. */
  readonly number: number
  /** Without its line end. Null for a line that is too long: nothing of it is kept. */
  readonly text: string | null
}

/**
 * The lines of a file that are not blank. All lines that end in a part come at once: one by one they would cost four times
 * as much. Removes a byte order mark.
 *
 * @param parts UTF-8
 * @throws ServiceError invalid_request if too many lines are blank
 */
export async function* linesOf(parts: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  const waste = new Waste('blank lines')
  let lines: Line[] = []
  let number = 0
  /** The beginning of a line whose end is in a later part. */
  let begun: Buffer[] = []
  let length = 0
  const endLine = (piece: Buffer) => {
    number += 1
    length += piece.length
    const whole = begun.length === 0 ? piece : Buffer.concat([...begun, piece])
    const text = length > MOST_LINE ? null : whole.toString('utf8').replace(number === 1 ? /^\uFEFF/ : '', '')
    ;[begun, length] = [[], 0]
    if (text?.trim() === '') return waste.countUseless(`line ${number}`)
    waste.countUseful()
    lines.push({ number, text })
  }
  for await (const part of parts) {
    let from = 0
    for (let end = part.indexOf(NEWLINE); end >= 0; end = part.indexOf(NEWLINE, from)) {
      endLine(part.subarray(from, end))
      from = end + 1
    }
    const rest = part.subarray(from)
    length += rest.length
    if (length > MOST_LINE) begun = []
    else if (rest.length > 0) begun.push(Buffer.from(rest))
    if (lines.length > 0) yield lines
    lines = []
  }
  if (length > 0) endLine(Buffer.alloc(0))
  if (lines.length > 0) yield lines
}

/** Reads the records of NDJSON in bounded memory. An endless line never fills it. */
import { isUtf8 } from 'node:buffer'
import { withoutMark } from '../../domain/files/utf8.ts'
import { Unreadable, Waste } from '../../domain/files/waste.ts'
import { readJson } from '../../domain/json.ts'
import { NOT_UTF8 } from './utf8-parts.ts'

/** Longest line of NDJSON and longest record of CSV, in bytes. */
export const MOST_LINE = 64 * 1024
export const LINE_TOO_LONG = `is longer than ${MOST_LINE} bytes`

const NEWLINE = 0x0a

/** A record of a file, unchecked. */
export interface FileRecord {
  /** The line in which it begins, from 1. */
  readonly line: number
  /** {@link Unreadable} if it cannot be read. */
  readonly value: unknown
}

/**
 * The records of NDJSON, one for each line but the blank ones. The lines of a part come together: one by one they
 * would cost four times as much. Skips a byte order mark.
 *
 * @throws ServiceError invalid_request if too many lines are blank
 */
export async function* recordsOfLines(parts: AsyncIterable<Buffer>): AsyncGenerator<FileRecord[]> {
  const waste = new Waste('blank lines')
  let records: FileRecord[] = []
  let line = 0
  /** The beginning of a line whose end is in a later part. */
  let begun: Buffer[] = []
  let length = 0
  const endLine = (piece: Buffer) => {
    line += 1
    length += piece.length
    const bytes = begun.length === 0 ? piece : Buffer.concat([...begun, piece])
    const text = length > MOST_LINE ? null : textOf(bytes, line)
    ;[begun, length] = [[], 0]
    if (text?.trim() === '') return waste.countUseless(`line ${line}`)
    waste.countUseful()
    records.push({ line, value: text === null ? new Unreadable(line, LINE_TOO_LONG) : valueOf(text, bytes, line) })
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
    if (records.length > 0) yield records
    records = []
  }
  if (length > 0) endLine(Buffer.alloc(0))
  if (records.length > 0) yield records
}

const textOf = (bytes: Buffer, line: number): string => {
  const text = bytes.toString('utf8')
  return line === 1 ? withoutMark(text) : text
}

function valueOf(text: string, bytes: Buffer, line: number): unknown {
  if (!isUtf8(bytes)) return new Unreadable(line, NOT_UTF8)
  const read = readJson(text)
  return 'value' in read ? read.value : new Unreadable(line, `${read.fault.pointer} ${read.fault.detail}`.trim())
}

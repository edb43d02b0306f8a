/**
 * Adds up the shipped usage file without the service's code: splits lines at commas, and counts records with the same
 * id and time once.
 */
import { readFileSync } from 'node:fs'

export interface Line {
  readonly id: string
  readonly iccid: string
  readonly at: number
  readonly bytes: number
  readonly sessions: number
  readonly imei: string
  readonly country: string
  readonly text: string
}

/** All lines of a usage file, in order, repeated records included. */
export function linesOf(csv: string): Line[] {
  return csv
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((text) => {
      const [id = '', iccid = '', at = '', up, down, , , sessions, imei = '', country = ''] = text.split(',')
      const amounts = { bytes: Number(up) + Number(down), sessions: Number(sessions) }
      return { id, iccid, at: Date.parse(at), ...amounts, imei, country, text }
    })
}

/** Each record once. */
export function recordsOf(lines: readonly Line[]): Line[] {
  return [...new Map(lines.map((line) => [`${line.id} ${line.at}`, line])).values()]
}

/** Sums of bytes by the key that `of` returns. */
export function bytesBy(records: readonly Line[], of: (line: Line) => string): Map<string, number> {
  const sums = new Map<string, number>()
  for (const line of records) sums.set(of(line), (sums.get(of(line)) ?? 0) + line.bytes)
  return sums
}

export const shippedFile = (): string =>
  readFileSync(new URL('../../../examples/usage-2026-10.csv', import.meta.url), 'utf8')

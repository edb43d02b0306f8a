/** Finds the delimiter of a CSV: comma, semicolon or tab, as spreadsheet programs write them. */
import { MOST_LINE } from './lines.ts'

const DELIMITERS = [',', ';', '\t']

/** The delimiter that appears most often in the first line. Column names contain none of them. */
function mostFrequent(text: string): string {
  const first = /[^\r\n]+/.exec(text)?.[0] ?? ''
  const count = (delimiter: string) => first.split(delimiter).length
  return DELIMITERS.reduce((best, other) => (count(other) > count(best) ? other : best))
}

/**
 * Finds the delimiter of a file.
 *
 * @returns the delimiter, and the whole file from its beginning
 */
export async function delimiterOf(
  parts: AsyncGenerator<Buffer>,
): Promise<{ readonly delimiter: string; readonly all: AsyncGenerator<Buffer> }> {
  const read: Buffer[] = []
  let text = ''
  while (!/[^\r\n][\r\n]/.test(text) && text.length <= MOST_LINE) {
    const next = await parts.next()
    if (next.done === true) break
    read.push(next.value)
    // Decodes byte by byte: only ASCII is looked for, and a part may end within a character.
    text += next.value.toString('latin1')
  }
  async function* all() {
    yield* read
    yield* parts
  }
  return { delimiter: mostFrequent(text), all: all() }
}

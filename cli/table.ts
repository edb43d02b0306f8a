/** Tables on the terminal: text is aligned left, figures right. */

import { printable } from './print.ts'

export type Cell = string | number

const grouped = new Intl.NumberFormat('en-US')
/** A cell with any content fits on one line. */
const textOf = (cell: Cell) =>
  typeof cell === 'number' ? grouped.format(cell) : printable(cell).replaceAll('\n', '\\n').replaceAll('\t', ' ')

/** The line about what a list does not show. */
export const moreLines = (total: number, shown: number, words = 'more'): string[] =>
  total > shown ? [`… and ${grouped.format(total - shown)} ${words}`] : []

/**
 * The lines of a table. A column is as wide as its widest cell.
 *
 * @param head column titles; empty for none
 */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const all: readonly (readonly Cell[])[] = head.length === 0 ? rows : [head, ...rows]
  const columns = Math.max(0, ...all.map((row) => row.length))
  const places = Array.from({ length: columns }, (_, column) => ({
    width: Math.max(0, ...all.map((row) => textOf(row[column] ?? '').length)),
    right: rows.some((row) => typeof row[column] === 'number'),
  }))
  const line = (row: readonly Cell[]) =>
    places
      .map(({ width, right }, column) => {
        const text = textOf(row[column] ?? '')
        return right ? text.padStart(width) : text.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  const rule = places.map(({ width }) => '─'.repeat(width)).join('  ')
  return head.length === 0 ? rows.map(line) : [line(head), rule, ...rows.map(line)]
}

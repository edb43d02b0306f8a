/** Refuses text that the database cannot store. A rule's messages and operands are written with each alert. */
import { isStorable } from '../../domain/text.ts'
import { below, type Report } from './faults.ts'

/** Reports every such text in a file at its place, however deep, including names of fields. */
export function checkText(file: unknown, report: Report): void {
  const waiting = [{ pointer: '', value: file }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { pointer, value } = next
    if (typeof value === 'string' && !isStorable(value)) {
      report(pointer, value, 'text without U+0000 and halves of surrogate pairs')
    }
    if (typeof value !== 'object' || value === null) continue
    for (const [key, item] of Object.entries(value).toReversed()) {
      if (!isStorable(key)) report(pointer, key, 'names of fields without U+0000 and halves of surrogate pairs')
      waiting.push({ pointer: below(pointer, key), value: item })
    }
  }
}

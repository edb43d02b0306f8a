import { expect, test } from 'vitest'
import { insertedId } from '../../../store/inserted-id.ts'

test('answers the id of an inserted row, never 0', () => {
  expect(insertedId([{ id: 7 }])).toBe(7)
  expect(() => insertedId([])).toThrow('an insert has returned no id')
})

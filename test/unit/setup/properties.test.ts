import fc from 'fast-check'
import { expect, test } from 'vitest'

test('a property fails if its runs are interrupted', async () => {
  const slow = fc.asyncProperty(fc.nat(), () => new Promise((resolve) => setTimeout(resolve, 1)))

  await expect(fc.assert(slow, { numRuns: 1_000_000, interruptAfterTimeLimit: 50 })).rejects.toThrow(
    /^Property interrupted after \d+ tests/,
  )
})

import { expect, test } from 'vitest'
import { readSeed } from '../../setup/seed.ts'

test('readSeed takes the given seed, else one that the commit decides', () => {
  expect(readSeed('42')).toBe(42)
  expect(readSeed('')).toBe(readSeed(undefined))
  expect(readSeed(undefined)).toBeLessThan(2 ** 28)
})

test.each(['-1', '1.5', 'abc', '2147483648'])('readSeed refuses %s', (given) => {
  expect(() => readSeed(given)).toThrow(`SEED is '${given}', expected a whole number from 0 to 2147483647`)
})

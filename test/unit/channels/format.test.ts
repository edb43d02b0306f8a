import { expect, test } from 'vitest'
import { shortenLabel } from '../../../adapters/channels/mail/format.ts'

test.each([
  ['at 1,000,000 %', 20, 'at 1,000,000 %'],
  ['at 1,000,000 %', 10, 'at…'],
  ['at 1,000,000 %', 13, 'at 1,000,000…'],
  ['99 of 1.5 GB', 8, '99 of…'],
  ['8944500102000000002', 8, '8944500…'],
  ['meters 12', 9, 'meters 12'],
])('%j is cut to %i, never to another number: %j', (text, units, cut) => {
  expect(shortenLabel(text, units)).toBe(cut)
})

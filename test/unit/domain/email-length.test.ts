import { expect, test } from 'vitest'
import { emailLengthFault } from '../../../domain/text.ts'
import { readSettings } from '../../../process/settings.ts'

const LONGEST = `${'a'.repeat(64)}@${`${'b'.repeat(63)}.`.repeat(2)}${'c'.repeat(57)}.org`
const FAULTY: readonly (readonly [string, string])[] = [
  [`${'a'.repeat(65)}@example.com`, 'has 65 characters before the @; expected at most 64'],
  [`a@${'b'.repeat(64)}.example.com`, 'has 64 characters between dots of its domain; expected at most 63'],
  [`a@example.${'c'.repeat(64)}`, 'has 64 characters between dots of its domain; expected at most 63'],
  [LONGEST.replace('@', '@d'), 'has 255 characters; expected at most 254'],
  [`a@${'b.'.repeat(130)}org`, 'has 265 characters; expected at most 254'],
]

test.each(['a@b.example', LONGEST, `${'a'.repeat(64)}@${'b'.repeat(63)}.example`])('%s is short enough', (address) => {
  expect(emailLengthFault(address)).toBeUndefined()
})

test.each(FAULTY)('%s is too long', (address, fault) => {
  expect(emailLengthFault(address)).toBe(fault)
})

test.each(FAULTY)('settings refuse %s', (address, fault) => {
  for (const given of [
    { OPERATOR_EMAIL: address },
    { MAIL_FROM: address },
    { MAIL_FROM: `Simherd, a name of more than 64 characters, for all that it is worth here <${address}>` },
  ]) {
    expect(() => readSettings(given)).toThrow(`: its address ${fault}`)
  }
})

test('settings take a sender with and without a name', () => {
  for (const sender of ['Simherd <simherd@localhost>', '"Simherd, Inc." <mail@example.com>', 'mail@example.com']) {
    expect(readSettings({ MAIL_FROM: sender }).MAIL_FROM).toBe(sender)
  }
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hideSecrets, quote, shorten } from '../../../domain/quote.ts'

const bytesOf = (text: string) => Buffer.byteLength(JSON.stringify(text)) - 2
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  // Halves of surrogate pairs, and what takes six bytes in JSON.
  fc
    .array(fc.constantFrom('\ud83d', '\udca9', '💩', '\u0001', '"', '\\', 'a'), { maxLength: 400 })
    .map((signs) => signs.join('')),
)

describe('shorten', () => {
  test('leaves a text as it is that is not too long', () => {
    expect(shorten('There is no SIM 7.', 18)).toBe('There is no SIM 7.')
  })

  test('leaves out the middle of a longer one', () => {
    expect(shorten(`/${'n'.repeat(1_000_000)} is not a field`, 40)).toBe('/nnnnnnnnnnnnnnnnn…nnn is not a field')
  })

  test('never exceeds its bytes, and leaves no half pair', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 3, max: 300 }), (given, most) => {
        const short = shorten(given, most)
        expect(bytesOf(short)).toBeLessThanOrEqual(most)
        expect(short.isWellFormed()).toBe(true)
        if (bytesOf(given.toWellFormed()) <= most) expect(short).toBe(given.toWellFormed())
      }),
    )
  })
})

const SECRET = 'abcdefghijklmnopqrstuvwxyz_-ABCDEFGHIJ01234'
const KEY = `sim_0123456789ab_${SECRET}`

describe('hideSecrets', () => {
  test.each([
    ['a key', `got ${KEY}.`, 'got sim_0123456789ab_….'],
    ['a key in a query', `/api/pools?key=${KEY}&page=1`, '/api/pools?key=sim_0123456789ab_…&page=1'],
    ['a key with its line percent-encoded', KEY.replaceAll('_', '%5F'), 'sim%5F0123456789ab%5F…'],
    ['a part of a key', KEY.slice(0, 40), 'sim_0123456789ab_…'],
    ['a secret of a webhook', `secret: whsec_${'Ab+/'.repeat(8)}=`, 'secret: whsec_…'],
    ['a path of a link', 'There is no /n/WyJhY2siXQ.x/.', 'There is no /n/…'],
    ['an address of a link', '<https://iot.example/n/WyJhY2siXQ.x>', '<https://iot.example/n/…>'],
    ['an activation code', 'got LPA:1$smdp.example$04386-AGYFT$$1', 'got LPA:1$smdp.example$…$$1'],
    ['an activation code in a query', '/x?c=LPA%3A1%24smdp.example%2404386-A', '/x?c=LPA%3A1%24smdp.example%24…'],
    ['the signature of a token', `at /%6E/WyJhY2siXQ.${SECRET}/`, 'at /%6E/WyJhY2siXQ.…/'],
  ])('takes out %s', (_, given, hidden) => {
    expect(hideSecrets(given)).toBe(hidden)
    expect(JSON.parse(hideSecrets(JSON.stringify({ given })))).toEqual({ given: hidden })
  })

  test.each(['sim_overage', 'sim/sim-overage.json', 'version 1.29.1', 'y/n', 'line\n/n', 'sim_0123456789ab'])(
    'leaves %j as it is',
    (given) => {
      expect(hideSecrets(given)).toBe(given)
    },
  )
})

describe('quote', () => {
  test('hides a key before it shortens the text', () => {
    for (let before = 0; before < 200; before++) {
      expect(quote(`${'x'.repeat(before)} ${KEY} ${'x'.repeat(100)}`, 100), `after ${before}`).not.toMatch(/[A-Z]{4}/)
    }
  })
})

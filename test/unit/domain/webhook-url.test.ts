import { expect, test } from 'vitest'
import { mayReach, whyNotUrl } from '../../../domain/channels/webhook.ts'
import { isPublic, parseNetworks } from '../../../domain/networks.ts'

const no = (address: string): [string, boolean] => [address, false]
test.each<[string, boolean]>([
  ['93.184.215.14', true],
  ['2001:4860:4860::8888', true],
  ['2a00:1450:4001:80b::200e', true],
  ['3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true],
  // Below and above 2000::/3.
  ['::127.0.0.1', false],
  ['::7f00:1', false],
  ['::93.184.215.14', false],
  ['1fff:ffff::1', false],
  ['4000::1', false],
  ['8000::1', false],
  ['5f00::1', false],
  // IPv4 in other words.
  ['::ffff:10.0.0.1', false],
  ['::ffff:0:127.0.0.1', false],
  ['64:ff9b::7f00:1', false],
  ['64:ff9b:1::7f00:1', false],
  ['2002:7f00:1::', false],
  ['2001:0:7f00:1::', false],
  // For documents, measurements and identifiers.
  ['2001:db8::1', false],
  ['3fff::1', false],
  ['2001:2::1', false],
  ['2001:20::1', false],
  ['nobody', false],
  // IPv4 that is not public.
  ...['0.0.0.0', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '169.254.169.254', '224.0.0.1'].map(no),
  ...['127.0.0.1', '::', '::1', 'fe80::1', 'fd00::1'].map(no),
])('isPublic says of %s: %s', (address, expected) => {
  expect(isPublic(address)).toBe(expected)
})

test('mayReach takes http only within the networks that are allowed', () => {
  const allow = parseNetworks('10.1.0.0/16, fd00::/8') ?? []

  expect(['http:', 'https:'].map((protocol) => mayReach(protocol, '10.1.2.3', allow))).toEqual([true, true])
  expect(['http:', 'https:'].map((protocol) => mayReach(protocol, 'fd00::1', allow))).toEqual([true, true])
  expect(['http:', 'https:'].map((protocol) => mayReach(protocol, '93.184.215.14', allow))).toEqual([false, true])
  expect(['http:', 'https:'].map((protocol) => mayReach(protocol, '10.2.0.1', allow))).toEqual([false, false])
})

test.each([
  ['a line feed', 'https://ops.meadow.example/a\nb', '000A'],
  ['a carriage return in the host', 'https://ops.mea\rdow.example/', '000D'],
  ['a tab in the scheme', 'ht\ttps://ops.meadow.example/', '0009'],
  ['a line feed at its end', 'https://ops.meadow.example/\n', '000A'],
  ['a null character', 'https://ops.meadow.example/\0', '0000'],
  ['a delete character', 'https://ops.meadow.example/\u007f', '007F'],
  ['a control character of Latin 1', 'https://ops.meadow.example/\u0085', '0085'],
  ['a blank before it', ' https://ops.meadow.example/', '0020'],
  ['a line separator', 'https://ops.meadow.example/\u2028', '2028'],
  ['a character that turns the text around', 'https://ops.meadow.example/\u202egro', '202E'],
])('whyNotUrl refuses %s', (_what, url, character) => {
  expect(whyNotUrl(url, [])).toMatch(new RegExp(`^got a URL with the character U\\+${character}, expected`))
})

test('whyNotUrl takes a path and a query with any other characters', () => {
  expect(whyNotUrl('https://bücher.example:8443/ä%0A/$%7B?q=1&b=%20', [])).toBeUndefined()
})

import { describe, expect, test } from 'vitest'
import { isWithin, parseNetworks } from '../../../domain/networks.ts'

const within = (text: string, address: string) => isWithin(parseNetworks(text) ?? [], address)

describe('parseNetworks', () => {
  test.each([
    ['10.1.2.3', '10.1.2.3', '10.1.2.4'],
    ['10.1.0.0/16', '10.1.255.1', '10.2.0.1'],
    ['10.1.2.3/16', '10.1.255.1', '10.2.0.1'],
    ['fd00:1::7', 'fd00:1::7', 'fd00:1::8'],
    ['fd00:1::/64', 'fd00:1::8', 'fd00:2::8'],
    ['::ffff:10.1.2.3', '10.1.2.3', '10.1.2.4'],
    ['::ffff:10.1.0.0/112', '::ffff:10.1.255.1', '10.2.0.1'],
    [' 10.1.2.3 , fd00:1::/64, ', 'fd00:1::8', '10.1.2.4'],
    ['::/0', 'fd00:1::8', '10.1.2.4'],
  ])('takes %s: %s is within, %s is not', (text, inside, outside) => {
    expect([within(text, inside), within(text, outside)]).toEqual([true, false])
  })

  test.each([
    '10',
    '10/8',
    '010.0.0.1',
    '0x7f.1',
    '10.0.0.0/33',
    '10.0.0.0/',
    '/8',
    'fd00::/129',
    '10.0.0.1:80',
    'proxy',
    '10.0.0.1;10.0.0.2',
    '10.0.0.1/8/8',
  ])('refuses %s', (text) => {
    expect(parseNetworks(text)).toBeUndefined()
    expect(parseNetworks(`10.0.0.1,${text}`)).toBeUndefined()
  })
})

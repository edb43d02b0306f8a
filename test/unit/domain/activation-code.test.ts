import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ACTIVATION_CODE, MOST_CODE, wrongCode } from '../../../domain/sims/activation-code.ts'

describe('an activation code', () => {
  test.each([
    'LPA:1$SMDP.GSMA.COM$04386-AGYFT-A74Y8-3F815',
    'LPA:1$SMDP.GSMA.COM$04386-AGYFT-A74Y8-3F815$$1',
    'LPA:1$SMDP.GSMA.COM$04386-AGYFT-A74Y8-3F815$1.3.6.1.4.1.31746',
    'LPA:1$SMDP.GSMA.COM$04386-AGYFT-A74Y8-3F815$1.3.6.1.4.1.31746$1',
    'LPA:1$SMDP.GSMA.COM$$1.3.6.1.4.1.31746',
    'LPA:1$smdp.example.com$',
    'LPA:1$smdp-2.xn--bcher-kva.example$A',
    `LPA:1$${'a'.repeat(63)}.example$A`,
  ])('may be %s', (code) => {
    expect(ACTIVATION_CODE.test(code)).toBe(true)
    expect(wrongCode(code)).toBeUndefined()
  })

  test('is what is not wrong', () => {
    const piece = fc.constantFrom('LPA:1', '$', 'smdp.example.com', 'a', '.', '1', '1.3.6', 'A-1', '-', '\n')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = `LPA:1$${pieces.join('')}`
        expect(wrongCode(text) === undefined).toBe(ACTIVATION_CODE.test(text))
      }),
    )
  })

  test.each([
    ['', 'a text that does not begin with LPA:1$'],
    ['1$smdp.example.com$ABC', 'a text that does not begin with LPA:1$'],
    ['lpa:1$smdp.example.com$ABC', 'a text that does not begin with LPA:1$'],
    ['LPA:2$smdp.example.com$ABC', 'a text that does not begin with LPA:1$'],
    [' LPA:1$smdp.example.com$ABC', 'a text that does not begin with LPA:1$'],
    ['LPA:1$', 'a text with 2 parts between its $'],
    ['LPA:1$smdp.example.com', 'a text with 2 parts between its $'],
    ['LPA:1$smdp.example.com$ABC$1.3.6$1$1', 'a text with 6 parts between its $'],
    ['LPA:1$$ABC', 'a text whose host is no DNS name'],
    ['LPA:1$localhost$ABC', 'a text whose host is no DNS name'],
    ['LPA:1$192.0.2.1$ABC', 'a text whose host is no DNS name'],
    ['LPA:1$smdp..example.com$ABC', 'a text whose host is no DNS name'],
    ['LPA:1$smdp.example.com.$ABC', 'a text whose host is no DNS name'],
    ['LPA:1$-smdp.example.com$ABC', 'a text whose host is no DNS name'],
    ['LPA:1$smdp_1.example.com$ABC', 'a text whose host is no DNS name'],
    ['LPA:1$bücher.example$ABC', 'a text whose host is no DNS name'],
    ['LPA:1$https://smdp.example.com$ABC', 'a text whose host is no DNS name'],
    [`LPA:1$${'a'.repeat(64)}.example$ABC`, 'a text whose host is no DNS name'],
    ['LPA:1$smdp.example.com$abc', 'a text whose matching id has other characters than 0-9, A-Z and -'],
    ['LPA:1$smdp.example.com$AB C', 'a text whose matching id has other characters than 0-9, A-Z and -'],
    ['LPA:1$smdp.example.com$ABC\n', 'a text whose matching id has other characters than 0-9, A-Z and -'],
    ['LPA:1$smdp.example.com$ABC$', 'a text whose fourth part is no OID'],
    ['LPA:1$smdp.example.com$ABC$1', 'a text whose fourth part is no OID'],
    ['LPA:1$smdp.example.com$ABC$x$1', 'a text whose fourth part is no OID'],
    ['LPA:1$smdp.example.com$ABC$1.3.6$0', 'a text whose fifth part is not 1'],
    ['LPA:1$smdp.example.com$ABC$$', 'a text whose fifth part is not 1'],
    [`LPA:1$smdp.example.com$${'A'.repeat(233)}`, 'a text of 256 characters'],
  ])('may not be %j', (text, fault) => {
    expect(ACTIVATION_CODE.test(text) && text.length <= MOST_CODE).toBe(false)
    expect(wrongCode(text)).toBe(fault)
  })
})

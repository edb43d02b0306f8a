import { describe, expect, test } from 'vitest'
import { readSought } from '../../../domain/find.ts'

const read = (text: string) => readSought('t1', text)
const NOTHING = { iccids: [], imsis: [], msisdns: [], number: null, ticketId: null, workflowId: null }

describe('a text is read as', () => {
  test.each([
    ['an ICCID', '8944500102190000014', '8944500102190000014'],
    ['an ICCID in groups', ' 8944 5001\u00a00219\t0000-014\n', '8944500102190000014'],
    ['an ICCID with filler', '8944500102190000014F', '8944500102190000014'],
  ])('%s', (_, text, iccid) => {
    expect(read(text).iccids[0]).toBe(iccid)
  })

  test('an ICCID with and without check digit', () => {
    expect(read('894450010219000001').iccids).toEqual(['894450010219000001', '8944500102190000018'])
    expect(read('8944500102190000018').iccids).toContain('894450010219000001')
  })

  test.each([
    ['+49 171 5550100', '491715550100'],
    ['0049 171 5550100', '491715550100'],
    ['491715550100', '491715550100'],
  ])('an MSISDN: %s', (text, digits) => {
    expect(read(text).msisdns).toEqual([digits, `+${digits}`])
  })

  test('an IMSI or an MSISDN, of 15 digits', () => {
    expect(read('262 01 0000000017')).toMatchObject({ imsis: ['262010000000017'], iccids: [] })
    expect(read('+262010000000017').imsis).toEqual([])
  })

  test.each([
    ['17', 17],
    ['0017', 17],
    ['0', null],
    ['90071992547409931', null],
    ['17 meters', null],
  ])('a number of an object: %s', (text, number) => {
    expect(read(text).number).toBe(number)
  })

  test('an id of a ticket, in any case', () => {
    expect(read('0192F4C1-7d3a-7b52-9c55-2f6f1d0c8a11').ticketId).toBe('0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11')
    expect(read('0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a1').ticketId).toBeNull()
  })

  test("an id of the tenant's workflow, not of another's", () => {
    expect(read('suspend-on-overage:t1:17:2026-11').workflowId).toBe('suspend-on-overage:t1:17:2026-11')
    expect(read('suspend-on-overage:t2:17:2026-11').workflowId).toBeNull()
    expect(read('suspend-on-overage:t1:').workflowId).toBeNull()
  })

  test('nothing but a name', () => {
    expect(read('  hall 17 ')).toEqual({ text: 'hall 17', ...NOTHING })
    expect(read('  ')).toEqual({ text: '', ...NOTHING })
  })
})

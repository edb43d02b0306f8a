import { describe, expect, test } from 'vitest'
import { SimType } from '../../../domain/codes.ts'
import { checkImport, checkSim, SIM_FIELDS } from '../../../service/sims/check-sim.ts'

const iccid = '8999900000000000014'
const code = 'LPA:1$smdp.example.com$04386-AGYFT'
const now = Date.UTC(2026, 10, 26)
const faultOf = (checked: ReturnType<typeof checkImport>) => ('fault' in checked ? checked.fault : undefined)

describe('an activation code in the record of a SIM', () => {
  test('is a field of an eSIM', () => {
    const esim = { iccid, type: SimType.eSIM, esimQrPayload: code }

    expect(SIM_FIELDS).toContain('esimQrPayload')
    expect(checkImport(esim, now)).toEqual({ sim: esim, warnings: [] })
    expect(checkImport({ ...esim, status: 1, activatedAt: '2026-03-01T00:00:00Z', poolId: 1 }, now)).toMatchObject({
      sim: { esimQrPayload: code },
    })
    expect(checkImport({ iccid, type: 0, esimQrPayload: null }, now)).toMatchObject({ warnings: [] })
  })

  test.each([
    [0, 'type 0 (Physical SIM)'],
    [undefined, 'no type, which is 0 (Physical SIM)'],
    [null, 'no type, which is 0 (Physical SIM)'],
  ])('is refused with type %s', (type, words) => {
    const fault = `esimQrPayload: got one of a SIM with ${words}; expected none, or type 1 (eSIM)`

    expect(faultOf(checkImport({ iccid, type, esimQrPayload: code }, now))).toBe(fault)
    expect(faultOf(checkSim({ iccid, type, esimQrPayload: code }, SimType['Physical SIM']))).toBe(fault)
  })

  test.each<[unknown, string]>([
    ['LPA:1$smdp.example.com$s3cret', 'a text whose matching id has other characters than 0-9, A-Z and -'],
    ['https://smdp.example.com/S3CRET', 'a text that does not begin with LPA:1$'],
    [7, 'no text'],
    [['LPA:1$smdp.example.com$S3CRET'], 'no text'],
  ])('is refused without being shown: %j', (esimQrPayload, words) => {
    expect(faultOf(checkImport({ iccid, type: 1, esimQrPayload }, now))).toBe(
      `esimQrPayload: got ${words}; expected LPA:1$host$matching-id, and then $OID or $$1 or $OID$1 where there is more`,
    )
  })

  test('is not shown in the place of another field', () => {
    for (const field of ['imsi', 'imei', 'type', 'tag']) {
      const fault = faultOf(checkImport({ iccid, [field]: `${code}${'-X'.repeat(100)}` }, now))

      expect(fault).toContain(`${field}: got "LPA:1$smdp.example.com$…"`)
      expect(fault).not.toContain('AGYFT')
    }
  })
})

describe('checkSim', () => {
  test('takes SIMs of the type that was ordered', () => {
    expect(checkSim({ iccid }, SimType['Physical SIM'])).toEqual({ sim: { iccid, type: 0 }, warnings: [] })
    expect(checkSim({ iccid, esimQrPayload: code }, SimType.eSIM)).toMatchObject({
      sim: { iccid, type: 1, esimQrPayload: code },
    })
  })

  test.each([
    [SimType['Physical SIM'], 1, 'type: got 1; expected 0 (Physical SIM), as was ordered'],
    [SimType.eSIM, 0, 'type: got 0; expected 1 (eSIM), as was ordered'],
  ])('refuses SIMs of another type than %s', (ordered, type, fault) => {
    expect(faultOf(checkSim({ iccid, type }, ordered))).toBe(fault)
  })
})

test('the filler is taken off before the check digit is looked at', () => {
  const read = { sim: { iccid, tag: 'A', type: 0 }, warnings: [] }

  expect(checkSim({ iccid: `${iccid}F`, tag: 'A' }, SimType['Physical SIM'])).toEqual(read)
  expect(checkImport({ iccid: `${iccid}f`, tag: 'A', type: 0 }, now)).toEqual(read)
})

const active = (activatedAt: string) => checkImport({ iccid, status: 1, poolId: 1, activatedAt }, now)

describe('activatedAt', () => {
  const LATER = 'expected 1991 or later, as there were no SIMs before'
  const ZERO = 'which is day 0 of a spreadsheet: its cell was empty or 0'

  test.each([
    '1899-12-30T00:00:00Z',
    '1899-12-30 00:00:00+01:00',
    '1899-12-31T00:00:00Z',
    '1900-01-01T00:00:00Z',
    '1904-01-01T00:00:00Z',
  ])('is rejected if it is %s, what a spreadsheet makes of nothing', (at) => {
    expect(faultOf(active(at))).toBe(`activatedAt: got "${at}", ${ZERO}; ${LATER}`)
  })

  test("is rejected if it is Excel's day before 1900-01-01", () => {
    const [at, expected] = ['1900-01-00T00:00:00Z', 'expected a day and time there are']

    expect(faultOf(active(at))).toContain(`activatedAt: got "${at}", ${ZERO}; ${expected}`)
  })

  test.each(['1970-01-01T00:00:00Z', '1990-12-31T23:59:59Z', '0001-01-01T00:00:00Z'])(
    'is rejected if it is %s',
    (at) => {
      expect(faultOf(active(at))).toBe(`activatedAt: got "${at}"; ${LATER}`)
    },
  )

  test('of a Suspended SIM is checked too', () => {
    const sim = { iccid, status: 2, activatedAt: '1899-12-30T00:00:00Z' }

    expect(checkImport(sim, now)).toEqual({ fault: expect.stringContaining(LATER) })
  })

  test('may be the first day there were SIMs', () => {
    expect(active('1991-01-01T00:00:00Z')).toMatchObject({ sim: { activatedAt: '1991-01-01T00:00:00Z' } })
  })
})

import { describe, expect, test } from 'vitest'
import { SimType } from '../../../domain/codes.ts'
import { checkImport, checkSim, SIM_FIELDS } from '../../../operations/estate/check-sim.ts'

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
    const fault = faultOf(checkImport({ iccid, type: 1, esimQrPayload }, now))

    expect(fault).toBe(
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

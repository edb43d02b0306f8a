/** Tariffs as the internal interface takes them. */
import { expect, test } from 'vitest'
import { useHouse } from './house.ts'

const house = useHouse()
const made = (terms: object) =>
  house.tenant.inside('POST', '/internal/tariffs', { displayName: 'T', type: 0, ...terms })
const FEES = { simMonthlyFee: 1, smsFee: 0, voiceFee: 0, overageFeePerGb: 1 }

test.each([
  ['neither bytes nor GB', {}, 400, 'invalid_request'],
  ['bytes and GB that differ', { baseTariffBytes: 1_000_000_001, baseTariffGb: 1 }, 422, 'tariff_units_disagree'],
  ['bytes and GB alike', { baseTariffBytes: 1_500_000_000, baseTariffGb: 1.5 }, 201, undefined],
])('a tariff with %s: %i', async (_what, data, status, code) => {
  const answer = await made({ standardTariff: { ...data, ...FEES } })

  expect([answer.status, answer.body.code]).toEqual([status, code])
})

test('a tariff without the block of its type is refused', async () => {
  const answer = await made({ fixedPoolTariff: { fixedCapacityGb: 1, fixedBucketCost: 1, ...FEES } })

  expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/fixedPoolTariff' }] } })
})

/** Service document, sections 4.7 and 2.8. */
import { expect, test } from 'vitest'
import { aTariff, useHarness } from '../harness.ts'
import { inactive } from './estate.ts'
import { expectLabels, expectShape, TARIFF } from './shape.ts'

const harness = useHarness()
const FEES = { simMonthlyFee: 1.5, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 2.25 }
const NONE = { standardTariff: null, dynamicPoolTariff: null, fixedPoolTariff: null }

test.each([
  [0, { standardTariff: { baseTariffBytes: 1_000_000_000, baseTariffGb: 1, ...FEES } }],
  [1, { dynamicPoolTariff: { baseTariffBytes: 500_000_000, baseTariffGb: 0.5, ...FEES } }],
  [2, { fixedPoolTariff: { fixedCapacityBytes: 100_000_000_000, fixedCapacityGb: 100, fixedBucketCost: 80, ...FEES } }],
] as const)('4.7 GET /api/tariffs/{id} + 2.8 Tariff: type %i has only the block of its type', async (type, block) => {
  const id = await aTariff(harness.tenant, type)

  const { status, body } = await harness.tenant.ask('GET', `/api/tariffs/${id}`)

  expect(status).toBe(200)
  expectShape(body, TARIFF)
  expect(body).toEqual({
    id,
    displayName: `Tariff of type ${type}`,
    description: '',
    isActive: true,
    type,
    ...NONE,
    ...block,
  })
})

test('4.7 GET /api/tariffs/{id} + 2.8 Tariff: shows its description and whether it is active', async () => {
  const words = { displayName: 'Meadow 2 GB', description: 'For meters: 2 GB and é\n' }
  const standardTariff = { baseTariffGb: 2, ...FEES }
  const { body: made } = await harness.tenant.inside('POST', '/internal/tariffs', { ...words, type: 0, standardTariff })
  const get = async () => (await harness.tenant.ask('GET', `/api/tariffs/${made.id}`)).body

  const given = await get()
  await inactive(harness.tenant, made.id)

  expect(given).toMatchObject({ ...words, isActive: true })
  expect(await get()).toEqual({ ...given, isActive: false })
})

test('4.7 GET /api/tariffs: lists tariffs of tenant and platform by id', async () => {
  const own = await aTariff(harness.tenant)
  const old = await aTariff(harness.tenant)
  await inactive(harness.tenant, old)
  const theirs = await aTariff(harness.other)
  const standardTariff = { baseTariffGb: 2, simMonthlyFee: 1, smsFee: 0, voiceFee: 0, overageFeePerGb: 0 }
  const made = await harness.operate('POST', '/internal/tariffs', { displayName: 'For all', type: 0, standardTariff })

  const { status, body } = await harness.tenant.ask('GET', '/api/tariffs')

  const found: number[] = body.map(({ id }: { id: number }) => id)
  expect(status).toBe(200)
  for (const tariff of body) expectShape(tariff, TARIFF)
  expect(found).toEqual(found.toSorted((a, b) => a - b))
  expect(found).toEqual(expect.arrayContaining([own, old, made.body.id]))
  expect(found).not.toContain(theirs)
  expect(body.find(({ id }: { id: number }) => id === old).isActive).toBe(false)
  expect((await harness.other.ask('GET', `/api/tariffs/${made.body.id}`)).status).toBe(200)
})

test('4.7 GET /api/tariffs/metadata: has the codes of type only', async () => {
  expectLabels(await harness.tenant.ask('GET', '/api/tariffs/metadata'), {
    type: { 0: 'Standard', 1: 'Dynamic Pool', 2: 'Fixed Pool' },
  })
})

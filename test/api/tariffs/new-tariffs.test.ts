/** Tariffs in the internal interface: which are accepted, and who may withdraw them. */
import { expect, test } from 'vitest'
import { useHarness } from '../harness.ts'

const harness = useHarness()
const made = (terms: object) =>
  harness.tenant.inside('POST', '/internal/tariffs', { displayName: 'T', type: 0, ...terms })
const FEES = { simMonthlyFee: 1, smsFee: 0, voiceFee: 0, overageFeePerGb: 1 }

test.each([
  ['neither bytes nor GB', {}, 400, 'invalid_request'],
  ['bytes and GB that differ', { baseTariffBytes: 1_000_000_001, baseTariffGb: 1 }, 422, 'tariff_units_disagree'],
  ['bytes and GB alike', { baseTariffBytes: 1_500_000_000, baseTariffGb: 1.5 }, 201, undefined],
])('a tariff with %s answers %i', async (_what, data, status, code) => {
  const answer = await made({ standardTariff: { ...data, ...FEES } })

  expect([answer.status, answer.body.code]).toEqual([status, code])
})

test('a tariff allows a SIM at most one terabyte', async () => {
  const of = (baseTariffBytes: number) => made({ type: 1, dynamicPoolTariff: { baseTariffBytes, ...FEES } })

  expect((await of(10 ** 12)).status).toBe(201)
  expect(await of(10 ** 12 + 1)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
})

test('a tariff needs the block of its type', async () => {
  const answer = await made({ fixedPoolTariff: { fixedCapacityGb: 1, fixedBucketCost: 1, ...FEES } })

  expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/fixedPoolTariff' }] } })
})

test('a withdrawn tariff takes no pool until offered again', async () => {
  const { body } = await made({ standardTariff: { baseTariffGb: 1, ...FEES } })
  const path = `/internal/tariffs/${body.id}`
  const offered = async () => (await harness.tenant.ask('GET', `/api/tariffs/${body.id}`)).body.isActive
  const pool = () => harness.tenant.ask('POST', '/api/pools', { type: 0, tariffId: body.id, watchdogMode: 0 })

  expect(await harness.tenant.inside('PATCH', path, { isActive: false })).toMatchObject({ status: 200, body })
  expect(await offered()).toBe(false)
  expect(await pool()).toMatchObject({ status: 422, body: { code: 'tariff_inactive' } })
  await harness.tenant.inside('PATCH', path, { isActive: true })
  expect(await offered()).toBe(true)
  expect((await pool()).status).toBe(200)
})

test('a platform tariff is withdrawn by the platform only', async () => {
  const terms = { displayName: 'Everybody', type: 0, standardTariff: { baseTariffGb: 1, ...FEES } }
  const { id } = (await harness.operate('POST', '/internal/tariffs', terms)).body
  const path = `/internal/tariffs/${id}`

  const refused = await harness.tenant.inside('PATCH', path, { isActive: false })
  expect(refused).toMatchObject({ status: 404, body: { code: 'tariff_not_found' } })
  expect((await harness.operate('PATCH', path, { isActive: false })).status).toBe(200)
  expect((await harness.other.ask('GET', `/api/tariffs/${id}`)).body.isActive).toBe(false)
})

test('an owner lists its tariffs alone, withdrawn ones too', async () => {
  const terms = { displayName: 'Whose', type: 0, standardTariff: { baseTariffGb: 1, ...FEES } }
  const [ours, shared] = [
    (await made(terms)).body.id,
    (await harness.operate('POST', '/internal/tariffs', terms)).body.id,
  ]
  await harness.tenant.inside('PATCH', `/internal/tariffs/${ours}`, { isActive: false })
  const listed = await Promise.all(
    [harness.tenant.inside, harness.other.inside, harness.operate].map(async (ask) => {
      const { body } = await ask('GET', '/internal/tariffs')
      return body.map(({ id }: { id: number }) => id).filter((id: number) => [ours, shared].includes(id))
    }),
  )

  expect(listed).toEqual([[ours], [], [shared]])
  expect((await harness.tenant.inside('GET', '/internal/tariffs')).body).toContainEqual(
    (await harness.tenant.ask('GET', `/api/tariffs/${ours}`)).body,
  )
})

/** Every request that can name a SIM's own tariff refuses it if another tariff governs. */
import { describe, expect, test } from 'vitest'
import { anIccid, aPool, aSim, aTariff, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()

interface Place {
  readonly simId: number
  readonly poolId: number
  readonly tariffId?: number
}
type Refusal = readonly [status: number, code: string | undefined]

const refusalOf = ({ status, body }: { readonly status: number; readonly body: any }): Refusal => [status, body.code]

const fresh = async () => (await aSim(harness.tenant)).id
const inUse = async () => {
  const id = await fresh()
  await provisioned(harness, harness.tenant, id, {})
  return id
}

/** Every way to name an own tariff: the SIM that it takes, and the request. */
const DOORS: Record<string, { sim: () => Promise<number>; ask: (place: Place) => Promise<Refusal> }> = {
  provision: {
    sim: fresh,
    ask: async (place) => refusalOf(await harness.tenant.ask('POST', '/api/tickets/provision', place)),
  },
  'queue-reprovision': {
    sim: inUse,
    ask: async ({ simId, ...to }) =>
      refusalOf(await harness.tenant.ask('POST', `/api/sims/${simId}/queue-reprovision`, to)),
  },
  'internal provision': {
    sim: fresh,
    ask: async (place) => refusalOf(await harness.tenant.inside('POST', '/internal/tickets/provision', place)),
  },
  'a bulk run': {
    sim: fresh,
    ask: async ({ simId, ...to }) => {
      const run = { type: 'provision', sims: { ids: [simId] }, ...to }
      return refusalOf(await harness.tenant.inside('POST', '/internal/bulk-tickets', run))
    },
  },
  'a row of a batch': { sim: fresh, ask: (place) => inABatch({ sims: [place] }) },
  'a row of a batch, with defaults for it': {
    sim: fresh,
    ask: ({ simId, ...defaults }) => inABatch({ sims: [{ simId }], defaults }),
  },
}

async function inABatch(batch: object): Promise<Refusal> {
  const answer = await harness.tenant.inside('POST', '/internal/workflows/provision-in-bulk', batch)
  return answer.status === 422 ? [422, answer.body.errors[0].code] : refusalOf(answer)
}

const SHARED = { Dynamic: { type: 1, tariffType: 1 }, Fixed: { type: 0, tariffType: 2 } } as const
const aSharedPool = async (kind: keyof typeof SHARED) => {
  const { type, tariffType } = SHARED[kind]
  const tariffId = await aTariff(harness.tenant, tariffType)
  return { poolId: await aPool(harness.tenant, { type, tariffId }), tariffId }
}

describe.each(Object.entries(DOORS))('%s', (_, door) => {
  test.each(['Dynamic', 'Fixed'] as const)('into a %s pool takes the pool’s tariff or none', async (kind) => {
    const { poolId, tariffId } = await aSharedPool(kind)
    const alike = await aTariff(harness.tenant, SHARED[kind].tariffType)
    const standard = await aTariff(harness.tenant)
    const ask = async (more: { tariffId?: number }) => door.ask({ simId: await door.sim(), poolId, ...more })

    expect(await ask({ tariffId: standard })).toEqual([422, 'tariff_has_no_effect'])
    expect(await ask({ tariffId: alike })).toEqual([422, 'tariff_has_no_effect'])
    for (const place of [{ tariffId }, {}]) {
      const [status, code] = await ask(place)
      expect([status < 300, code]).toEqual([true, undefined])
    }
  })

  test('into a Standard pool takes an own tariff', async () => {
    const poolId = await aPool(harness.tenant)
    const tariffId = await aTariff(harness.tenant)

    const [status] = await door.ask({ simId: await door.sim(), poolId, tariffId })

    expect(status).toBeLessThan(300)
  })
})

describe('queue-reprovision', () => {
  const queue = (simId: number, body: object) =>
    harness.tenant.ask('POST', `/api/sims/${simId}/queue-reprovision`, body)

  test('checks the tariff against the SIM’s current pool', async () => {
    const { poolId, tariffId } = await aSharedPool('Dynamic')
    const simId = await fresh()
    await provisioned(harness, harness.tenant, simId, { poolId })

    const refused = await queue(simId, { tariffId: await aTariff(harness.tenant) })

    expect(refused).toMatchObject({ status: 422, body: { code: 'tariff_has_no_effect' } })
    expect(refused.body.detail).toContain(`pool ${poolId}, whose tariff ${tariffId} governs`)
    expect((await queue(simId, { tariffId })).status).toBe(200)
  })

  test('checks a queued tariff against a new pool', async () => {
    const { poolId, tariffId } = await aSharedPool('Fixed')
    const simId = await inUse()
    await queue(simId, { tariffId: await aTariff(harness.tenant) })

    const refused = await queue(simId, { poolId })

    expect(refused).toMatchObject({ status: 422, body: { code: 'tariff_has_no_effect' } })
    expect((await queue(simId, { poolId, tariffId })).status).toBe(200)
  })

  test('lets a SIM keep its own tariff', async () => {
    const { poolId } = await aSharedPool('Dynamic')
    const simId = await fresh()
    const tariffId = await aTariff(harness.tenant)
    await provisioned(harness, harness.tenant, simId, { tariffId })

    expect((await queue(simId, { poolId })).status).toBe(200)
  })
})

test('batch defaults that conflict refuse only rows with both', async () => {
  const { poolId } = await aSharedPool('Dynamic')
  const [tariffId, standardPool] = [await aTariff(harness.tenant), await aPool(harness.tenant)]
  const sims = [{ simId: await fresh() }, { simId: await fresh(), poolId: standardPool }, { iccid: anIccid() }]

  const batch = { sims, defaults: { poolId, tariffId } }
  const { status, body } = await harness.tenant.inside('POST', '/internal/workflows/provision-in-bulk', batch)

  expect(status).toBe(422)
  expect(body.errors.map(({ pointer, code }: any) => [pointer, code])).toEqual([
    ['/sims/0', 'tariff_has_no_effect'],
    ['/sims/2', 'sim_not_found'],
  ])
})

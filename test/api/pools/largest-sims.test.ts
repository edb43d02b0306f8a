import { beforeAll, describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { complete } from '../../service/harness.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { anActiveSim, aPool, times, useHarness } from '../harness.ts'

const harness = useHarness()
let poolId: number
let simIds: number[]
const read = (query = '', id = poolId) => harness.tenant.inside('GET', `/internal/pools/${id}/largest-sims${query}`)

beforeAll(async () => {
  const { tenant, store } = harness
  poolId = await aPool(tenant)
  const otherPool = await aPool(tenant)
  const sims = await times(4, () => anActiveSim(harness, tenant, { poolId }, { tag: 'meter' }))
  const elsewhere = await anActiveSim(harness, tenant, { poolId: otherPool })
  simIds = sims.map(({ id }) => id)
  const used = [10, 60, 30, 0].map((bytesDown, n) => ({ simId: simIds[n], bytesDown }))
  await recordUsage(
    store,
    tenant.id,
    [...used, { simId: elsewhere.id, bytesDown: 1000 }].map((one, n) => ({
      ...one,
      recordId: `${n}`,
      at: '2026-11-20T12:00:00Z',
    })),
  )
  await inTenant(store, tenant.id, (tx) =>
    complete(tx, { simId: simIds[2] ?? 0, type: TicketType.Provision, unassign: true }),
  )
})

describe('GET /internal/pools/{id}/largest-sims', () => {
  test('has SIMs with data by usage in the pool, and its shares', async () => {
    const { sims } = (await read()).body

    expect(sims).toMatchObject([
      { id: simIds[1], tag: 'meter', status: 1, isInPool: true, usageMB: 0.00006, sharePct: 60 },
      { id: simIds[2], status: 0, isInPool: false, usageMB: 0.00003, sharePct: 30 },
      { id: simIds[0], isInPool: true, usageMB: 0.00001, sharePct: 10 },
    ])
  })

  test('has no more than it is asked for', async () => {
    expect((await read('?limit=1')).body.sims).toMatchObject([{ id: simIds[1] }])
    expect((await read('?limit=101')).status).toBe(400)
    expect((await read('?limit=0')).status).toBe(400)
  })

  test('counts the running cycle alone', async () => {
    const inDecember = await harness.at(Date.parse('2026-12-02T00:00:00Z'), () => read())

    expect(inDecember.body).toEqual({ sims: [] })
  })

  test('is refused for a pool that is not there, or of another tenant', async () => {
    const theirs = await aPool(harness.other)

    expect((await read('', 999_999)).body.code).toBe('pool_not_found')
    expect((await read('', theirs)).body.code).toBe('pool_not_found')
  })
})

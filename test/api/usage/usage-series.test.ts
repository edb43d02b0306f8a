import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { MOST_READ } from '../../../service/usage/rows/usage-series.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { anActiveSim, aPool, aSim, useHarness } from '../harness.ts'

const harness = useHarness()
let poolId: number
let sim: number

const read = (query: string) => harness.tenant.inside('GET', `/internal/usage?${query}`)
const DAY = 'from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z'
interface Point {
  readonly at: string
  readonly bytes: number
}
const usedIn = async (query: string): Promise<[string, number][]> =>
  (await read(query)).body.points.flatMap(({ at, bytes }: Point) => (bytes === 0 ? [] : [[at, bytes]]))

beforeAll(async () => {
  const { tenant, store } = harness
  poolId = await aPool(tenant)
  sim = (await anActiveSim(harness, tenant, { poolId })).id
  const other = (await anActiveSim(harness, tenant, { poolId })).id
  harness.now = Date.parse('2026-11-20T23:00:00Z')
  await recordUsage(store, tenant.id, [
    { recordId: 'a', simId: sim, at: '2026-11-20T12:01:00Z', bytesUp: 1, bytesDown: 10 },
    { recordId: 'b', simId: sim, at: '2026-11-20T12:59:59Z', bytesDown: 100, smsCount: 2 },
    { recordId: 'c', simId: sim, at: '2026-11-20T13:00:00Z', bytesDown: 1000, voiceSeconds: 3 },
    { recordId: 'd', simId: other, at: '2026-11-20T13:04:00Z', bytesDown: 20_000 },
  ])
})

describe('GET /internal/usage', () => {
  test.each([
    ['a SIM', () => `simId=${sim}`, [111, 1000]],
    ['a pool', () => `poolId=${poolId}`, [111, 21_000]],
    ['the tenant', () => '', [111, 21_000]],
  ])('adds up the hours of %s', async (_what, of, [noon, one]) => {
    expect(await usedIn(`${of()}&${DAY}&step=PT1H`)).toEqual([
      ['2026-11-20T12:00:00.000Z', noon],
      ['2026-11-20T13:00:00.000Z', one],
    ])
  })

  test('has every step from the first to the last', async () => {
    const { body } = await read(`simId=${sim}&from=2026-11-20T12:30:00Z&to=2026-11-20T14:30:00%2B01:00&step=PT1H`)

    expect(body).toEqual({
      step: 'PT1H',
      points: [
        { at: '2026-11-20T12:00:00.000Z', bytes: 111, voiceSeconds: 0, smsCount: 2 },
        { at: '2026-11-20T13:00:00.000Z', bytes: 1000, voiceSeconds: 3, smsCount: 0 },
      ],
    })
    expect((await read('from=2026-11-01T00:00:00Z&to=2026-12-01T00:00:00Z&step=P1D')).body.points).toHaveLength(30)
  })

  test('has days in UTC and steps of five minutes', async () => {
    expect(await usedIn(`${DAY}&step=P1D`)).toEqual([['2026-11-20T00:00:00.000Z', 21_111]])
    expect(await usedIn(`simId=${sim}&${DAY}&step=PT5M`)).toEqual([
      ['2026-11-20T12:00:00.000Z', 11],
      ['2026-11-20T12:55:00.000Z', 100],
      ['2026-11-20T13:00:00.000Z', 1000],
    ])
  })

  test.each([
    ['more than 31 days', 'from=2026-11-01T00:00:00Z&to=2026-12-02T00:00:01Z&step=P1D', 'to: got 2026-12-02T00:00:01Z'],
    [
      'an end before the start',
      'from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z&step=P1D',
      'expected an instant after',
    ],
    [
      'too many steps',
      'from=2026-11-01T00:00:00Z&to=2026-11-30T00:00:00Z&step=PT5M',
      '8352 steps, expected at most 1000',
    ],
    ['another step', `${DAY}&step=P1W`, 'step'],
    ['a SIM and a pool', `${DAY}&step=P1D&simId=1&poolId=1`, 'got simId and poolId'],
  ])('refuses %s', async (_what, query, detail) => {
    const { status, body } = await read(query)

    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.detail).toContain(detail)
  })

  test('refuses steps below the time buckets of short cycles', async () => {
    const { tenant, store } = harness
    await inTenant(store, tenant.id, ({ q }) => sql`update tenants set billing_cycle = 'PT10H'`.execute(q))
    const { status, body } = await read(`${DAY}&step=PT5M`)
    await inTenant(store, tenant.id, ({ q }) => sql`update tenants set billing_cycle = 'P1M'`.execute(q))

    expect([status, body.detail]).toEqual([400, expect.stringContaining('expected at least 600 s')])
  })

  test('refuses a SIM with too many records to read', async () => {
    const { tenant, store } = harness
    const busy = (await aSim(tenant)).id
    await inTenant(store, tenant.id, ({ q }) =>
      sql`insert into usage_records (record_id, at, sim_id, pool_id, cycle_key, bytes_up, bytes_down, voice_seconds, sms_count, received_at)
          select 'busy ' || n, '2026-11-20T12:00:00Z', ${busy}::bigint, 0, '2026-11', 0, 1, 0, 0, '2026-11-20T12:00:00Z'
            from generate_series(1, ${MOST_READ} + 1) n`.execute(q),
    )
    const { status, body } = await read(`simId=${busy}&${DAY}&step=P1D`)

    expect([status, body.detail]).toEqual([400, expect.stringContaining('more than 50000 records')])
  })

  test('does not show those of others', async () => {
    const ask = (of: string) => harness.other.inside('GET', `/internal/usage?${of}&${DAY}&step=P1D`)

    expect((await ask(`simId=${sim}`)).body.code).toBe('sim_not_found')
    expect((await ask(`poolId=${poolId}`)).body.code).toBe('pool_not_found')
    expect((await ask('')).body.points).toMatchObject([{ bytes: 0 }])
  })
})

/** Usage records that are refused: days that do not exist, times too long ago, amounts too large to add up exactly. */
import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { PoolType, TariffType } from '../../../domain/codes.ts'
import { MOST_TOTAL, USAGE_MAX_AGE_MS } from '../../../domain/usage/usage-record.ts'
import { findPool } from '../../../service/pools/rows/pools.ts'
import { readPoolFigures } from '../../../service/usage/rows/figures.ts'
import { lockPools } from '../../../service/usage/rows/pool-totals.ts'
import { cases } from '../../setup/cases.ts'
import { aPool, aStore, aTariff } from '../../setup/estate.ts'
import { aHarness, oneActiveSim } from '../harness.ts'
import { recordUsage } from '../record-usage.ts'

// Its tests write totals that belong to no rows.
const store = await aStore('2026-12-10T12:00:00Z', { counted: false })
const TERABYTE = 1_000_000_000_000
const CYCLE = '2026-12'

describe('the time of a usage record', () => {
  test('must be within the default maximum age', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    const ages = [USAGE_MAX_AGE_MS + 1, USAGE_MAX_AGE_MS].map((ms) => new Date(store.now - ms).toISOString())
    const times = ['0000-01-01T00:00:00Z', '1970-01-01T00:00:00Z', ...ages]

    const answer = await harness.record(times.map((at) => harness.usage(simId, { at, bytesUp: 1 })))

    expect(answer.accepted).toBe(1)
    expect(answer.rejected.map(({ code }) => code)).toEqual(['invalid_record', 'usage_too_old', 'usage_too_old'])
    const opened = await harness.rows(sql<{ key: string }>`select key from cycles order by key`)
    expect(opened.map(({ key }) => key)).toEqual(['2026-09', CYCLE])
  })

  test('may be before the tenant was created', async () => {
    const harness = await aHarness(store)
    const [simId = 0] = await harness.unprovisioned(1)

    const answer = await harness.record([harness.usage(simId, { at: '2026-10-01T00:00:00Z', bytesUp: 1 })])

    expect(answer).toMatchObject({ accepted: 1, rejected: [] })
  })

  test('is bounded by the USAGE_MAX_AGE setting', async () => {
    const { simId, ...harness } = await oneActiveSim(store)
    const record = harness.usage(simId, { at: new Date(store.now - 2000).toISOString(), bytesUp: 1 })

    const strict = await recordUsage(store, harness.tenantId, [record], { maxAgeMs: 1000 })

    expect(strict.rejected).toMatchObject([{ code: 'usage_too_old', detail: expect.stringContaining('USAGE_MAX_AGE') }])
  })
})

describe('the amounts of a usage record', () => {
  test.each([
    ['one way', { bytesUp: TERABYTE }, { bytesUp: TERABYTE + 1 }],
    ['both ways together', { bytesUp: 1, bytesDown: TERABYTE - 1 }, { bytesUp: 1, bytesDown: TERABYTE }],
  ])('sum to at most a terabyte: %s', async (_, most, more) => {
    const { simId, ...harness } = await oneActiveSim(store)

    const answer = await harness.record([harness.usage(simId, most), harness.usage(simId, more)])

    expect(answer).toMatchObject({ accepted: 1, rejected: [{ index: 1, code: 'invalid_record' }] })
  })
})

describe('a total too large to be exact', () => {
  /** SIMs in and outside a pool, with a byte of usage each. */
  async function aFullEstate() {
    const harness = await aHarness(store)
    const poolId = await harness.aPool(TariffType['Dynamic Pool'], 1000)
    const [full = 0, other = 0] = await harness.activeSims(2, { poolId })
    const [outside = 0] = await harness.activeSims(1)
    await harness.record([full, other, outside].map((simId) => harness.usage(simId, { bytesUp: 1 })))
    return { ...harness, poolId, full, other, outside }
  }
  const most = sql.lit(MOST_TOTAL - 10)

  test.each([
    ['a SIM', (sim: number) => sql`update usage_ledger set bytes = ${most} where sim_id = ${sim}`],
    ['a pool', (_: number, pool: number) => sql`update pool_cycles set bytes = ${most} where pool_id = ${pool}`],
    ['a tenant', () => sql`update cycles set bytes = ${most}`],
    ['an hour', () => sql`update usage_buckets set bytes = ${most} where subject_kind = 2`],
  ])('of %s rejects the record, not its chunk', async (_, filled) => {
    const harness = await aFullEstate()
    await harness.rows(filled(harness.full, harness.poolId))
    const amounts = [3, 11, 4, 1]

    const answer = await harness.record(amounts.map((bytesUp) => harness.usage(harness.full, { bytesUp })))

    expect(answer).toMatchObject({ accepted: 3, rejected: [{ index: 1, code: 'total_out_of_range' }] })
    const [row] = await harness.rows(sql<{ n: number }>`select count(*) as n from usage_records where bytes_up <> 1`)
    expect(row?.n).toBe(2)
  })

  test('allows other SIMs, and a correction', async () => {
    const harness = await aFullEstate()
    await harness.rows(sql`update usage_ledger set bytes = ${most} where sim_id = ${harness.full}`)

    const answer = await harness.record([
      harness.usage(harness.full, { bytesUp: 11 }),
      harness.usage(harness.other, { bytesUp: 5 }),
      harness.usage(harness.outside, { bytesUp: 6 }),
    ])
    const corrected = await harness.record([harness.usage(harness.full, { bytesUp: -100, correction: true })])

    expect(answer).toMatchObject({ accepted: 2, rejected: [{ index: 0, code: 'total_out_of_range' }] })
    expect(corrected).toMatchObject({ accepted: 1, rejected: [] })
    const ledger = Object.fromEntries((await harness.ledger()).map(({ simId, bytes }) => [simId, bytes]))
    expect(ledger).toEqual({ [harness.full]: MOST_TOTAL - 110, [harness.other]: 6, [harness.outside]: 7 })
  })
})

describe('poolFigures', () => {
  test('returns exact figures, capped at 2^53 − 1', async () => {
    const harness = await aHarness(store)
    const largest = 10 ** 15
    const allowance = fc.oneof(fc.constantFrom(0, 1, 10 ** 12, largest), fc.integer({ min: 0, max: largest }))
    const sims = fc.oneof(fc.constantFrom(1, 9, 10, 9007, 9008), fc.integer({ min: 1, max: 9223 }))
    const usage = fc.oneof(fc.constantFrom(0, MOST_TOTAL), fc.integer({ min: 0, max: MOST_TOTAL }))
    const shown = (exact: bigint) => Number(exact > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : exact)

    await fc.assert(
      fc.asyncProperty(allowance, sims, usage, async (allowanceBytes, contributing, bytes) => {
        const tariff = await harness.asTenant((tx) => aTariff(tx, TariffType['Dynamic Pool'], 0))
        // Larger than the API accepts.
        await sql`update tariffs set allowance_bytes = ${allowanceBytes} where id = ${tariff.id}`.execute(store.db)
        const { id: poolId } = await harness.asTenant((tx) => aPool(tx, tariff.id, { type: PoolType.Dynamic }))
        const read = await harness.asTenant(async (tx) => {
          await lockPools(tx, CYCLE, [poolId])
          await sql`update pool_cycles set bytes = ${bytes}, contributing = ${contributing}, usage_version = usage_version + 1
                   where pool_id = ${poolId}`.execute(tx.q)
          return { figures: (await readPoolFigures(tx, CYCLE, [poolId])).get(poolId), pool: await findPool(tx, poolId) }
        })
        const capacity = BigInt(allowanceBytes) * BigInt(contributing)
        const over = BigInt(bytes) - capacity
        expect(read.figures).toMatchObject({
          limitBytes: shown(capacity),
          usageBytes: bytes,
          overageBytes: shown(over > 0n ? over : 0n),
          remainingBytes: shown(over < 0n ? -over : 0n),
        })
        expect(read.pool).toMatchObject({ id: poolId })
      }),
      { numRuns: cases(60) },
    )
  })
})

/** The next billing cycle is opened ahead, in slices, while SIMs change and processes die. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType } from '../../../domain/codes.ts'
import { cycleAt, nextCycle } from '../../../domain/time/cycle.ts'
import { setSuspensionUntil } from '../../../service/enforcement/set-suspension-until.ts'
import { listCycles } from '../../../service/month-end/rows/progress.ts'
import { prepareRenewal, renewCycle } from '../../../service/month-end/steps.ts'
import { pageOfPools } from '../../../service/pools/rows/pools.ts'
import { pageOfSims } from '../../../service/sims/rows/sim-reads.ts'
import { wrongSums } from '../../../service/usage/rows/check-sums.ts'
import { keepCyclesOpen } from '../../../service/usage/rows/cycles.ts'
import { openSlice } from '../../../service/usage/rows/open-cycle.ts'
import { inTenant, readOnly, type Store } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { overlapping } from '../../setup/lock-waits.ts'
import { aHarness, evaluationOptions, type Harness, watch } from '../harness.ts'

const store = await aStore()
const BOUNDARY = Date.parse('2026-12-01T00:00:00Z')
const NEXT = '2026-12'
const next = nextCycle('P1M', cycleAt('P1M', BOUNDARY - 1))
const HOUR = 3_600_000
/** In the last 48th of November: 15 hours. */
const AHEAD = BOUNDARY - 14 * HOUR

/** A tenant in the middle of November, and a pool with so many Active SIMs. */
async function anEstate(count: number) {
  store.now = Date.parse('2026-11-10T12:00:00Z')
  const harness = await aHarness(store)
  const pool = await harness.aPool(TariffType['Dynamic Pool'], 1000)
  return { ...harness, pool, sims: await harness.activeSims(count, { poolId: pool }) }
}
const inTwos: Store = { ...store, opening: { sims: 2, waitMs: 60_000 } }
const keepOpen = (harness: Harness) => keepCyclesOpen(inTwos, harness.tenantId)
const slice = (harness: Harness) => harness.asTenant((tx) => openSlice(tx, next, 2))

/** The SIMs that contribute to the next cycle by its ledger. Its sums must be right. */
async function contributing(harness: Harness) {
  expect(await harness.asTenant((tx) => wrongSums(tx))).toEqual([])
  return (await harness.ledger())
    .filter((row) => row.cycle === NEXT && row.contributing)
    .map(({ simId, poolId }) => [simId, poolId])
}
const isOpen = async (harness: Harness) =>
  (await harness.rows(sql`select from cycles where key = ${NEXT}`)).length === 1
const dueShards = async (harness: Harness) =>
  (await harness.rows(sql`select from watch_shards where next_at <= ${new Date(store.now)}`)).length
/** What the lists of SIMs and pools show. */
const shown = (harness: Harness) =>
  inTenant(readOnly(store), harness.tenantId, async (tx) => ({
    sims: (await pageOfSims(tx, {})).data,
    pools: (await pageOfPools(tx, {})).data,
  }))
describe('the sweep of cycle boundaries', () => {
  test('opens the next cycle in the last 48th of the running one', async () => {
    const estate = await anEstate(5)
    const { endsAt, startsAt } = cycleAt('P1M', store.now)

    expect(await keepOpen(estate)).toBe(endsAt - (endsAt - startsAt) / 48)
    expect(await contributing(estate)).toEqual([])
    store.now = AHEAD
    expect(await keepOpen(estate)).toBe(BOUNDARY)

    expect(await contributing(estate)).toEqual(estate.sims.map((id) => [id, estate.pool]))
    expect(await isOpen(estate)).toBe(true)
  })

  test('leaves all shards due when the cycle begins, and not before', async () => {
    const estate = await anEstate(5)
    await watch(store, evaluationOptions(), estate.tenantId)
    store.now = AHEAD
    await watch(store, evaluationOptions(), estate.tenantId)
    await keepOpen(estate)
    const before = await dueShards(estate)

    store.now = BOUNDARY

    expect(before).toBe(0)
    expect(await dueShards(estate)).toBe(4)
    expect(await estate.rows(sql`select from cycle_openings`)).toEqual([])
  })

  test('goes on where another process was killed', async () => {
    const estate = await anEstate(5)
    store.now = AHEAD
    await slice(estate)
    expect(await contributing(estate)).toHaveLength(2)
    expect(await isOpen(estate)).toBe(false)

    await keepOpen(estate)

    expect(await contributing(estate)).toEqual(estate.sims.map((id) => [id, estate.pool]))
  })

  test('opens a cycle without SIMs', async () => {
    store.now = AHEAD
    const harness = await aHarness(store)

    await keepOpen(harness)

    expect(await isOpen(harness)).toBe(true)
  })
})

describe('a cycle that is opened in part', () => {
  test('is shown as one that is not open', async () => {
    const estate = await anEstate(5)
    store.now = BOUNDARY
    const before = await shown(estate)
    store.now = AHEAD
    await slice(estate)

    store.now = BOUNDARY
    expect(await shown(estate)).toEqual(before)
    await keepOpen(estate)
    expect(await shown(estate)).toEqual(before)
  })

  test('is not listed before it begins', async () => {
    const estate = await anEstate(3)
    store.now = AHEAD
    await keepOpen(estate)
    const keys = async () => (await estate.asTenant((tx) => listCycles(tx, 10))).map(({ key }) => key)

    expect(await keys()).toEqual(['2026-11'])
    store.now = BOUNDARY
    expect(await keys()).toEqual([NEXT, '2026-11'])
  })

  test('is opened to its end by usage for it', async () => {
    const estate = await anEstate(5)
    store.now = BOUNDARY - 60_000
    await slice(estate)
    const [simId = 0] = estate.sims

    const early = estate.usage(simId, { at: new Date(BOUNDARY + 1000).toISOString(), bytesUp: 7 })
    expect(await estate.record([early])).toMatchObject({ accepted: 1 })

    expect(await contributing(estate)).toEqual(estate.sims.map((id) => [id, estate.pool]))
    expect((await estate.ledger()).filter(({ cycle, bytes }) => cycle === NEXT && bytes > 0)).toMatchObject([
      { simId, bytes: 7 },
    ])
  })

  test.each([
    ['opened already', 0, 1],
    ['still to be opened', 4, 1],
  ])('follows a ticket that ends meanwhile: a SIM %s', async (_which, n) => {
    const estate = await anEstate(5)
    store.now = AHEAD
    await slice(estate)
    const simId = estate.sims[n] ?? 0
    const rest = estate.sims.filter((id) => id !== simId)

    await overlapping(
      store,
      estate.tenantId,
      (tx) => openSlice(tx, next, 3),
      () => estate.complete({ simId, type: TicketType.Suspend }),
    )
    await keepOpen(estate)

    expect(await contributing(estate)).toEqual(rest.map((id) => [id, estate.pool]))
  })

  test('follows a suspension that is to last beyond the renewal', async () => {
    const estate = await anEstate(2)
    const [simId = 0, other = 0] = estate.sims
    const cause = { by: 'watchdog', rule: 'r', cycle: '2026-11', until: 'renewal', workflowId: 'w' } as const
    await estate.complete({ simId, type: TicketType.Suspend, cause })
    store.now = AHEAD
    await keepOpen(estate)
    expect(await contributing(estate)).toHaveLength(2)

    await estate.asTenant((tx) => setSuspensionUntil(tx, { id: simId, workflowId: 'w', until: 'manual' }))

    expect(await contributing(estate)).toEqual([[other, estate.pool]])
  })
})

describe('prepareRenewal', () => {
  test('leaves a cycle that nobody has opened to the renewal, all but its row', async () => {
    const estate = await anEstate(5)
    store.now = BOUNDARY + HOUR

    await prepareRenewal(store, estate.tenantId, '2026-11')
    expect(await isOpen(estate)).toBe(false)
    expect(await estate.asTenant((tx) => renewCycle(tx, '2026-11'))).toEqual({ opened: true })

    expect(await contributing(estate)).toEqual(estate.sims.map((id) => [id, estate.pool]))
  })
})

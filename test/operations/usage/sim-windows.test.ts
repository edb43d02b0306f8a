/** What SIMs have used in a window is summed over their records. */
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import { importSims } from '../../../operations/estate/import-sims.ts'
import { createTenant } from '../../../operations/tenants/create-tenant.ts'
import { recordUsage } from '../../../operations/usage/record-usage.ts'
import { connect } from '../../../store/connect.ts'
import { migrate } from '../../../store/migrate.ts'
import { inPlatform, inTenant, type Store } from '../../../store/tenancy.ts'
import { poolWindowSums, simWindowSums } from '../../../store/watchdog/facts.ts'
import { aPool, aStore, aTariff } from '../../setup/estate.ts'
import { ownDatabase } from '../../setup/login.ts'
import { aHarness } from '../harness.ts'

const NOW = Date.UTC(2026, 10, 20, 12, 3)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const BUCKET = 5 * MINUTE

describe('windows of a SIM', () => {
  test('are those of a pool that it is alone in', async () => {
    const store = await aStore()
    store.now = NOW
    const harness = await aHarness(store)
    const poolId = await harness.asTenant(
      async (tx) => (await aPool(tx, (await aTariff(tx, TariffType.Standard, 1)).id)).id,
    )
    const [simId = 0] = await harness.activeSims(1, { poolId })
    store.now = NOW + 30 * DAY
    const start = (ms: number) => Math.floor((store.now - ms) / BUCKET) * BUCKET
    const windows = { short: start(6 * HOUR), long: start(60 * HOUR), day: start(DAY), week: start(7 * DAY) }
    const edges = Object.values(windows).flatMap((at) => [at - 1, at, at + 1, at + BUCKET])
    await harness.record(
      [...edges, store.now, store.now + 4 * MINUTE].map((at, n) =>
        harness.usage(simId, { at: new Date(at).toISOString(), bytesUp: 2 ** n, bytesDown: n, smsCount: n }),
      ),
    )
    await harness.record([
      harness.usage(simId, { at: new Date(start(DAY)).toISOString(), bytesUp: -3, correction: true }),
    ])

    const [ofSim, ofPool] = await harness.asTenant(async (tx) => {
      const { short, long, day, week } = windows
      const until = new Date(start(0) + BUCKET)
      const at = { short: new Date(short), long: new Date(long), day: new Date(day), week: new Date(week), until }
      return [(await simWindowSums(tx, [simId], at)).get(simId), (await poolWindowSums(tx, [poolId], at)).get(poolId)]
    })

    expect(ofSim).toEqual(ofPool)
    expect(new Set(Object.values(ofSim ?? {})).size).toBe(5)
  })
})

describe('time buckets of SIMs', () => {
  const closing: (() => Promise<unknown>)[] = []
  afterAll(async () => {
    for (const close of closing.reverse()) await close()
  })

  test('are kept until no process of the release before is left', async () => {
    const database = await ownDatabase({ contract: false })
    closing.push(database.drop)
    const [{ db, close }, root] = [connect(database.url, { max: 3 }), connect(database.rootUrl, { max: 1 })]
    closing.push(close, root.close)
    const store: Store = { db, clock: () => NOW, enqueue: () => undefined }
    const record = await aFeed(store)
    const buckets = async () =>
      (
        await sql<{ kind: number; bytes: number }>`
          select subject_kind as kind, sum(bytes)::bigint as bytes from usage_buckets group by 1 order by 1`.execute(
          root.db,
        )
      ).rows.map(({ kind, bytes }) => [kind, bytes])

    await record('before', 5)
    const before = await buckets()
    await migrate(database.url)
    await record('after', 7)

    expect(before).toEqual([
      [1, 10],
      [3, 10],
    ])
    expect(await buckets()).toEqual([[3, 24]])
  })
})

/** Two SIMs of a tenant, and what records a record of each. */
async function aFeed(store: Store) {
  const tenant = { name: 'Meadow', billingEmail: 'billing@meadow.example' }
  const { id } = await inPlatform(store, (tx) => createTenant(tx, tenant, 'P1M'))
  const iccids = ['894450010300000001', '894450010300000002']
  await inTenant(store, id, (tx) =>
    importSims(
      tx,
      iccids.map((iccid) => ({ iccid })),
    ),
  )
  return (recordId: string, bytesUp: number) =>
    recordUsage(
      store,
      id,
      iccids.map((iccid) => ({ recordId: `${recordId}-${iccid}`, iccid, at: new Date(NOW).toISOString(), bytesUp })),
    )
}

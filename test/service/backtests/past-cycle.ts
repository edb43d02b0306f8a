/** A tenant with a cycle that has ended, and backtests of it. */
import { TariffType } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { doNextBacktest } from '../../../service/backtests/do-next-backtest.ts'
import { connect } from '../../../store/connect.ts'
import type { Db } from '../../../store/tenancy.ts'
import { aPool, aTariff, type TestStore } from '../../setup/estate.ts'
import { aHarness } from '../harness.ts'
import { replayOptions } from './lived.ts'

const HOUR = 3_600_000
const options = replayOptions()
const never = new AbortController().signal

/** Three deliveries of a SIM that passes its limit. Nobody has evaluated them. @returns the tenant */
export async function aPastCycle(store: TestStore): Promise<string> {
  const harness = await aHarness(store, 'PT6H')
  const pool = await harness.asTenant(async (tx) => {
    const { id } = await aTariff(tx, TariffType.Standard, 100 * MB)
    return aPool(tx, id, { name: 'meters', warningThresholdPct: 80 })
  })
  const [simId = 0] = await harness.activeSims(1, { poolId: pool.id })
  for (const bytesDown of [50 * MB, 40 * MB, 30 * MB]) {
    store.now += HOUR
    await harness.record([harness.usage(simId, { bytesDown })])
  }
  store.now += 4 * HOUR
  return harness.tenantId
}

/** Works on a connection of its own, as a replay does. */
export async function connected<T>(store: TestStore, work: (db: Db) => Promise<T>): Promise<T> {
  const { db, close } = connect(store.databaseUrl, { max: 1 })
  try {
    return await db.connection().execute(work)
  } finally {
    await close()
  }
}

export interface DoNext {
  /** Called at each instant, with the connection of the replay. */
  readonly onInstant?: (own: Db) => unknown
  readonly signal?: AbortSignal
  readonly onTrouble?: (id: number, error: unknown) => void
}

/** Does the next backtest. @returns whether there may be another to do now */
export const doNext = (
  store: TestStore,
  { onInstant = () => undefined, signal = never, onTrouble = (_id, error) => Promise.reject(error) }: DoNext = {},
): Promise<boolean> =>
  connected(store, (own) =>
    doNextBacktest(own, {
      store,
      options: { ...options, onProgress: async () => void (await onInstant(own)) },
      signal,
      progressEveryMs: 0,
      onTrouble,
    }),
  )

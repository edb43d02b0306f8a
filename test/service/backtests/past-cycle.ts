/** A tenant with a cycle that has ended, and backtests of it. */
import { TariffType } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { doNextBacktest } from '../../../service/backtests/do-next-backtest.ts'
import type { Db } from '../../../store/tenancy.ts'
import type { TestStore } from '../../setup/estate.ts'
import { aHarness } from '../harness.ts'
import { connected, replayOptions } from './lived.ts'

const HOUR = 3_600_000
const options = replayOptions()
const never = new AbortController().signal

/** Three deliveries of a SIM that passes its limit. Nobody has evaluated them. @returns the tenant */
export async function aPastCycle(store: TestStore): Promise<string> {
  const harness = await aHarness(store, 'PT6H')
  const poolId = await harness.aPool(TariffType.Standard, 100 * MB, { name: 'meters', warningThresholdPct: 80 })
  const [simId = 0] = await harness.activeSims(1, { poolId })
  for (const bytesDown of [50 * MB, 40 * MB, 30 * MB]) {
    store.now += HOUR
    await harness.record([harness.usage(simId, { bytesDown })])
  }
  store.now += 4 * HOUR
  return harness.tenantId
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

/** Executes queued backtests. Of the real tables it writes only `backtests`, by a connection beside the replay's. */
import { ServiceError } from '../../domain/errors.ts'
import { isAway, isDiskFull } from '../../store/away.ts'
import { type Db, inPlatform, type Store } from '../../store/tenancy.ts'
import { backtest } from './backtest.ts'
import type { ReplayOptions } from './replay.ts'
import {
  type BegunBacktest,
  beginBacktest,
  endBacktest,
  noteBacktestProgress,
  releaseBacktestLock,
  requeueBacktest,
  tryBacktestLock,
} from './rows/backtests.ts'

/** Most starts of a backtest. One stopped by its worker's orderly shutdown is not counted. */
const MOST_STARTS = 3
/** Least time between two notes of the progress, in milliseconds. */
const PROGRESS_EVERY_MS = 1000

export interface BacktestWork {
  /** Where backtests are queued. */
  readonly store: Store
  readonly options: ReplayOptions
  /** Ends the work at its next instant: the backtest goes back to the queue. */
  readonly signal: AbortSignal
  /** Called for errors not caused by the question: a lost connection, or a fault of the service. */
  readonly onTrouble: (id: number, error: unknown) => void
  /** Default: a second. */
  readonly progressEveryMs?: number
}

/** The backtest was removed during the replay, or another process has it now. */
class RemovedBacktest extends Error {}

/**
 * Executes the oldest waiting backtest, unless another process executes one.
 *
 * @param own a single connection, which its maker closes afterwards: it holds the lock
 * @returns whether there may be another to do now
 */
export async function doNextBacktest(own: Db, work: BacktestWork): Promise<boolean> {
  if (work.signal.aborted || !(await tryBacktestLock(own))) return false
  try {
    return await doOldest(own, work)
  } finally {
    // If the connection is lost, the lock goes with it. Closing one takes a while: it drops its temporary tables.
    await releaseBacktestLock(own).catch(() => undefined)
  }
}

async function doOldest(own: Db, work: BacktestWork): Promise<boolean> {
  const { store } = work
  const begun = await inPlatform(store, beginBacktest)
  if (begun === undefined) return false
  if (begun.starts > MOST_STARTS) {
    const why = `It was begun ${MOST_STARTS} times, and each time its worker or its connection ended first.`
    await inPlatform(store, (tx) => endBacktest(tx, begun, why))
    return true
  }
  try {
    const { tenantId, cycles, files, version } = begun
    const options = { ...work.options, onProgress: progressOf(begun, work) }
    const report = await backtest(own, store.clock, { tenantId, cycles, rules: files ?? version }, options)
    await inPlatform(store, (tx) => endBacktest(tx, begun, report))
    return true
  } catch (error) {
    return failed(begun, work, error)
  }
}

/** Writes the progress now and then. @throws RemovedBacktest; the signal's reason if the work is to end */
function progressOf(begun: BegunBacktest, work: BacktestWork) {
  const { store, options, signal, progressEveryMs = PROGRESS_EVERY_MS } = work
  let toldAt = Number.NEGATIVE_INFINITY
  return async (done: number, of: number): Promise<void> => {
    await options.onProgress?.(done, of)
    signal.throwIfAborted()
    if (store.clock() - toldAt < progressEveryMs) return
    toldAt = store.clock()
    if (!(await inPlatform(store, (tx) => noteBacktestProgress(tx, begun, done, of)))) throw new RemovedBacktest()
  }
}

/** @returns whether there may be another to do now */
async function failed(begun: BegunBacktest, { store, signal, onTrouble }: BacktestWork, error: unknown) {
  if (error instanceof RemovedBacktest) return true
  if (signal.aborted) {
    await inPlatform(store, (tx) => requeueBacktest(tx, begun))
    return false
  }
  if (!(error instanceof ServiceError)) onTrouble(begun.id, error)
  // It stays unchanged, and the next holder of the lock starts it again.
  if (isAway(error) && !isDiskFull(error)) return false
  await inPlatform(store, (tx) => endBacktest(tx, begun, wordsOf(error)))
  return true
}

function wordsOf(error: unknown): string {
  if (error instanceof ServiceError)
    return [error.message, ...error.errors.map(({ pointer, detail }) => `${pointer}: ${detail}`)].join('\n')
  if (isDiskFull(error)) return 'The database has no room for a copy of the usage: take fewer cycles.'
  return `The service failed: ${error instanceof Error ? error.message : String(error)}`
}

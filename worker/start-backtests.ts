/**
 * Backtests, one at a time in all workers. They are no job of a queue: one may take half an hour, and needs a connection of
 * its own. The connection's end releases the lock, even if the worker dies.
 */
import type { Logger } from 'pino'
import { startSweeps } from '../process/start-sweeps.ts'
import { reasonOf } from '../process/until-done.ts'
import { type BacktestWork, doNextBacktest } from '../service/backtests/do-next-backtest.ts'
import { backendOf, countWaitingBacktests, endBackend } from '../service/backtests/rows/backtests.ts'
import { connect } from '../store/connect.ts'
import { inPlatform } from '../store/tenancy.ts'

export interface BacktestsAt extends Omit<BacktestWork, 'signal' | 'onTrouble'> {
  readonly databaseUrl: string
  /** Pause between two looks for a backtest, in milliseconds. */
  readonly everyMs: number
  readonly log: Logger
}

/** Does backtests until `stop`, which ends a running one at once: it goes back to the queue. */
export function startBacktests({ databaseUrl, everyMs, log, ...work }: BacktestsAt) {
  const { store } = work
  const stopping = new AbortController()
  const { signal } = stopping
  const onTrouble = (id: number, error: unknown) =>
    log.warn({ backtest: id, reason: reasonOf(error) }, 'a backtest was broken off')

  async function doNext(): Promise<boolean> {
    const { db, close } = connect(databaseUrl, { max: 1 })
    try {
      return await db.connection().execute(async (own) => {
        const backend = await backendOf(own)
        // A statement may take minutes. It ends with its session.
        const end = () =>
          void endBackend(store.db, backend).catch((error: unknown) =>
            log.warn({ reason: reasonOf(error) }, 'still runs'),
          )
        signal.addEventListener('abort', end)
        try {
          return await doNextBacktest(own, { ...work, signal, onTrouble })
        } finally {
          signal.removeEventListener('abort', end)
        }
      })
    } finally {
      await close()
    }
  }

  const run = async () => {
    while (!signal.aborted && (await inPlatform(store, countWaitingBacktests)) > 0 && (await doNext()));
  }
  const rounds = startSweeps([{ name: 'backtests', run }], everyMs, log)
  return {
    stop: async () => {
      stopping.abort()
      await rounds.stop()
    },
  }
}

/** Runs a process until a signal ends it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

export interface Running {
  readonly stop: () => Promise<void>
}

/** A supervisor kills after 30 s. Unfinished work is then left to its lease. */
const STOP_MS = 25_000

/** How long a start may go on after a signal. */
const START_MS = 3000

/** The exit code that supervisors and shells expect after a second Ctrl-C. */
const INTERRUPTED = 130

/**
 * Starts something and keeps it running until SIGTERM or SIGINT. The first signal stops it in order, the second ends it
 * at once. A signal during the start waits a moment for its end; a start that goes on is ended as it is, like one that is
 * killed.
 *
 * @throws any error of the start
 */
export async function runUntilSignal(
  log: Logger,
  start: () => Promise<Running>,
  { startMs = START_MS, stopMs = STOP_MS }: { readonly startMs?: number; readonly stopMs?: number } = {},
): Promise<void> {
  let told: (signal: NodeJS.Signals) => void = () => undefined
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    told = resolve
  })
  let signals = 0
  const hear = (signal: NodeJS.Signals) => {
    signals += 1
    if (signals > 1) process.exit(INTERRUPTED)
    told(signal)
  }
  process.on('SIGTERM', hear)
  process.on('SIGINT', hear)

  const starting = start()
  const late = signalled.then(() => sleep(startMs, undefined))
  const running = await Promise.race([starting, late])
  if (running === undefined) {
    log.info(`${await signalled}: ended before it had started`)
    process.exit(0)
  }
  log.info(`${await signalled}: stopping in order`)
  const hasStopped = await Promise.race([running.stop().then(() => true), sleep(stopMs, false)])
  if (hasStopped) log.info('stopped')
  else log.warn(`not stopped within ${stopMs / 1000} s: ending all the same; others take over what is left`)
  process.exit(0)
}

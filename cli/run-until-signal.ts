/** Runs a process until a signal ends it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

export interface Running {
  readonly stop: () => Promise<void>
}

/** A supervisor kills after 30 s. Work that has not ended by then is left to its lease. */
const STOP_MS = 25_000

/** The exit code that supervisors and shells expect after a second Ctrl-C. */
const INTERRUPTED = 130

/**
 * Starts something and keeps it running until SIGTERM or SIGINT. The first signal stops it in order, the second ends it
 * at once. A first signal during the start takes effect after it.
 */
export async function runUntilSignal(
  log: Logger,
  start: () => Promise<Running>,
  { stopMs = STOP_MS }: { readonly stopMs?: number } = {},
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

  const running = await start()
  log.info(`${await signalled}: stopping in order`)
  const hasStopped = await Promise.race([running.stop().then(() => true), sleep(stopMs, false)])
  if (hasStopped) log.info('stopped')
  else log.warn(`not stopped within ${stopMs / 1000} s: ending all the same; others take over what is left`)
  process.exit(0)
}

/** Running a process until it is told to end. */
import type { Logger } from 'pino'

export interface Running {
  readonly stop: () => Promise<void>
}

/** What a supervisor and a shell expect of a process that a second Ctrl-C has ended. */
const INTERRUPTED = 130

/**
 * Starts something and keeps it until SIGTERM or SIGINT; the first ends it in order, the second at once.
 * A signal during the start is heard after it.
 */
export async function runUntilSignal(log: Logger, start: () => Promise<Running>): Promise<void> {
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
  await running.stop()
  log.info('stopped')
  process.exit(0)
}

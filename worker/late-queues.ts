/**
 * Queues that are opened once the database answers.
 *
 * Opened before, while it is away or still starting, they would keep that first failure for as long as the
 * process lives. A bell that rings earlier is lost, and the sweep finds its work.
 */
import type { Logger } from 'pino'
import type { Bell } from '../domain/bell.ts'
import { openQueues, type Queues, type QueuesAt } from '../queues/backend.ts'
import { untilDone } from './persistence.ts'

export interface LateQueues {
  /** Never throws. */
  readonly ring: (bells: readonly Bell[]) => void
  /** @throws Error while they are not open, or not reachable */
  readonly ping: () => Promise<void>
  /** Jobs waiting, running and failed, by queue; none while they are not open. */
  readonly counts: () => Promise<Record<string, Record<string, number>>>
  /** Settles when they are open; undefined where the process was told to stop first. */
  readonly opened: Promise<Queues | undefined>
  readonly close: () => Promise<void>
}

/** @param check of the database; rejects while it is not ready */
export function openLate(
  at: QueuesAt,
  check: () => Promise<unknown>,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): LateQueues {
  let queues: Queues | undefined
  const open = async () => {
    const ready = await untilDone('the database', check, { log, signal })
    if (ready !== undefined && !signal.aborted) queues = openQueues(at)
    return queues
  }
  const opened = open()
  return {
    ring: (bells) => queues?.ring(bells),
    ping: async () => {
      if (queues === undefined) throw new Error('not open yet: waiting for the database')
      await queues.ping()
    },
    counts: async () => (await queues?.counts()) ?? {},
    opened,
    close: async () => {
      await opened
      await queues?.close()
    },
  }
}

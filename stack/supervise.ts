/**
 * Keeps processes running.
 *
 *   start ──▶ running ──dies──▶ pause (0.5 s … 30 s) ──▶ start
 *                └──stop()──▶ ended, for good
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../domain/time/backoff.ts'
import { type Child, type ChildOptions, type StopOptions, startChild } from './child.ts'

const PAUSES = { firstMs: 500, longestMs: 30_000 }
/** A process that ran this long was healthy: after its next death, the pauses begin with the first again. */
const HEALTHY_AFTER_MS = 30_000
const READY_TIMEOUT_MS = 60_000

/** A process that runs now. */
export interface RunningProcess {
  readonly pid: number | undefined
  /** How it has ended. Never rejects. */
  readonly ended: Promise<string>
  /** Safe to call twice, and after it has ended. */
  readonly stop: (options?: StopOptions) => Promise<void>
}

export interface SupervisedProcess {
  /** Pid of the current process. In the pause before a restart, undefined. */
  readonly pid: () => number | undefined
  /**
   * Safe to call twice.
   *
   * @returns when the process has ended
   */
  readonly stop: (options?: StopOptions) => Promise<void>
}

/**
 * Starts a running process again whenever it ends without `stop`. A start that fails is repeated.
 *
 * @param again starts it with the same data and the same port
 * @param onEnd called with what happened and when it is started again: `ended unasked (SIGKILL); starting it again in 0.5 s`
 */
export function keepRunning(
  first: RunningProcess,
  again: () => Promise<RunningProcess>,
  onEnd: (text: string) => void,
): SupervisedProcess {
  const stopping = new AbortController()
  let run = first
  let isUp = true

  const keep = async () => {
    let failures = 0
    let startedAt = Date.now()
    let what = `ended unasked (${await run.ended})`
    while (!stopping.signal.aborted) {
      isUp = false
      failures = Date.now() - startedAt >= HEALTHY_AFTER_MS ? 1 : failures + 1
      const pauseMs = backoffMs(failures, PAUSES)
      onEnd(`${what}; starting it again in ${pauseMs / 1000} s`)
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return
      startedAt = Date.now()
      try {
        run = await again()
      } catch (error) {
        what = `did not start again (${error instanceof Error ? error.message : String(error)})`
        continue
      }
      isUp = true
      // It may have been stopped while it was starting.
      if (stopping.signal.aborted) await run.stop()
      what = `ended unasked (${await run.ended})`
    }
  }
  const kept = keep()

  return {
    pid: () => (isUp ? run.pid : undefined),
    stop: async (options) => {
      stopping.abort()
      await run.stop(options)
      await kept
      isUp = false
    },
  }
}

export interface SuperviseOptions extends ChildOptions {
  /** Whether it is ready to serve; called until it returns true. A throw means not yet. */
  readonly ready?: () => Promise<boolean>
  readonly readyTimeoutMs?: number
}

/**
 * Starts a child process, and starts it again whenever it dies without `stop`.
 *
 * @returns when it is ready
 * @throws Error with its last lines if the first start fails; that start is not repeated
 */
export async function supervise(options: SuperviseOptions): Promise<SupervisedProcess> {
  const first = startChild(options)
  try {
    await waitUntilReady(options, first)
  } catch (error) {
    await first.stop({ signal: 'SIGKILL' })
    throw error
  }
  return keepRunning(
    first,
    async () => startChild(options),
    (text) => options.onLine(`${options.name} | ${text}`),
  )
}

async function waitUntilReady({ name, ready, readyTimeoutMs }: SuperviseOptions, child: Child): Promise<void> {
  if (ready === undefined) return
  let how: string | undefined
  void child.ended.then((text) => {
    how = text
  })
  const deadline = Date.now() + (readyTimeoutMs ?? READY_TIMEOUT_MS)
  while (!(await ready().catch(() => false))) {
    const late = Date.now() > deadline ? 'was not ready in time' : undefined
    const fault = how === undefined ? late : `ended while starting (${how})`
    if (fault !== undefined) throw new Error([`${name} ${fault}; its last lines:`, ...child.lastLines].join('\n  '))
    await Promise.race([sleep(100), child.ended])
  }
}

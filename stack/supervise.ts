/**
 * Keeps child processes running.
 *
 *   start ──ready──▶ running ──dies──▶ pause (0.5 s … 30 s) ──▶ start
 *                       └──stop()──▶ SIGTERM ──timeout──▶ SIGKILL
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../domain/time/backoff.ts'

const PAUSES = { firstMs: 500, longestMs: 30_000 }
/** A process that ran this long was healthy: after its next death, the pauses begin with the first again. */
const HEALTHY_AFTER_MS = 30_000
const READY_TIMEOUT_MS = 60_000
const STOP_TIMEOUT_MS = 20_000
/** Lines that are reported with a failed start. Enough for a message and its stack. */
const LAST_LINES = 12

export interface SuperviseOptions {
  /** Prefix of its lines. */
  readonly name: string
  /** Default: this Node, with a preload that ends the process in order when the supervisor dies. */
  readonly command?: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** Called with every line of stdout and stderr, and when it is started again. Lines have the name as a prefix. */
  readonly onLine: (line: string) => void
  /** Called with the pid of every new process. */
  readonly onPid?: (pid: number) => void
  /** Whether it is ready to serve; called until it returns true. A throw means not yet. */
  readonly ready?: () => Promise<boolean>
  readonly readyTimeoutMs?: number
}

export interface Supervised {
  /** Pid of the current process. In the pause before a restart, undefined. */
  readonly pid: () => number | undefined
  /**
   * Safe to call twice.
   *
   * @returns when the process has ended
   */
  readonly stop: (options?: { readonly signal?: NodeJS.Signals; readonly timeoutMs?: number }) => Promise<void>
}

interface Run {
  readonly child: ChildProcess
  readonly ended: Promise<string>
  readonly lastLines: string[]
}

/**
 * Starts a process, and starts it again whenever it dies without `stop`.
 *
 * @returns when it is ready
 * @throws Error with its last lines if the first start fails; that start is not repeated
 */
export async function supervise(options: SuperviseOptions): Promise<Supervised> {
  const stopping = new AbortController()
  let run: Run | undefined = startRun(options)
  try {
    await waitUntilReady(options, run)
  } catch (error) {
    stopping.abort()
    await endRun(run, 'SIGKILL', STOP_TIMEOUT_MS)
    throw error
  }

  const keepRunning = async () => {
    let failures = 0
    let startedAt = Date.now()
    while (run !== undefined) {
      const how = await run.ended
      run = undefined
      if (stopping.signal.aborted) return
      failures = Date.now() - startedAt >= HEALTHY_AFTER_MS ? 1 : failures + 1
      const pauseMs = backoffMs(failures, PAUSES)
      options.onLine(`${options.name} | ended unasked (${how}); starting it again in ${pauseMs / 1000} s`)
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined)
      if (stopping.signal.aborted) return
      startedAt = Date.now()
      run = startRun(options)
    }
  }
  const kept = keepRunning()

  const stop: Supervised['stop'] = async ({ signal = 'SIGTERM', timeoutMs = STOP_TIMEOUT_MS } = {}) => {
    stopping.abort()
    if (run !== undefined) await endRun(run, signal, timeoutMs)
    await kept
  }
  return { pid: () => run?.child.pid, stop }
}

function startRun(options: SuperviseOptions): Run {
  const { name, command, args, cwd, onLine, onPid } = options
  const preload = command === undefined ? ['--import', new URL('end-with-parent.ts', import.meta.url).href] : []
  const child = spawn(command ?? process.execPath, [...preload, ...args], {
    ...(cwd !== undefined && { cwd }),
    env: options.env ?? process.env,
    // A process group of its own: the terminal's Ctrl-C reaches only the supervisor, which stops everything in order.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // Nothing is written to it. The end of a child must not cause an error here.
  child.stdin.on('error', () => undefined)
  const lastLines: string[] = []
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on('line', (line) => {
      lastLines.push(line)
      if (lastLines.length > LAST_LINES) lastLines.shift()
      onLine(`${name} | ${line}`)
    })
  }
  const ended = new Promise<string>((done) => {
    child.once('error', (error) => done(error.message))
    child.once('close', (code, signal) => done(signal ?? `exit code ${code}`))
  })
  if (child.pid !== undefined) onPid?.(child.pid)
  return { child, ended, lastLines }
}

async function waitUntilReady(options: SuperviseOptions, run: Run): Promise<void> {
  const { name, ready } = options
  if (ready === undefined) return
  let how: string | undefined
  void run.ended.then((text) => {
    how = text
  })
  const deadline = Date.now() + (options.readyTimeoutMs ?? READY_TIMEOUT_MS)
  while (!(await ready().catch(() => false))) {
    const late = Date.now() > deadline ? 'was not ready in time' : undefined
    const fault = how === undefined ? late : `ended while starting (${how})`
    if (fault !== undefined) throw new Error([`${name} ${fault}; its last lines:`, ...run.lastLines].join('\n  '))
    await Promise.race([sleep(100), run.ended])
  }
}

async function endRun(run: Run, signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
  run.child.kill(signal)
  const timer = setTimeout(() => run.child.kill('SIGKILL'), timeoutMs)
  await run.ended
  clearTimeout(timer)
}

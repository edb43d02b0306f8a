/** A child process, its output line by line. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { dropUndefined } from '../domain/drop-undefined.ts'

const STOP_TIMEOUT_MS = 20_000
/** Lines that are reported with a failed start. Enough for a message and its stack. */
const LAST_LINES = 12

export interface ChildOptions {
  /** Prefix of its lines. */
  readonly name: string
  /** Default: this Node, with a preload that ends the process in order when its parent dies. */
  readonly command?: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** Called with every line of stdout and stderr, with the name as a prefix. */
  readonly onLine: (line: string) => void
  /** Called with the pid. */
  readonly onPid?: (pid: number) => void
}

export interface Child {
  readonly pid: number | undefined
  /** How it has ended: its signal or exit code, or why it did not start. Never rejects. */
  readonly ended: Promise<string>
  readonly lastLines: readonly string[]
  /**
   * Ends it, with SIGKILL after the timeout. Safe to call twice.
   *
   * @returns when it has ended
   */
  readonly stop: (options?: StopOptions) => Promise<void>
}

export interface StopOptions {
  /** Default: SIGTERM. */
  readonly signal?: NodeJS.Signals
  /** Default: 20,000 ms. */
  readonly timeoutMs?: number
}

/** Starts a process. If that fails, `ended` says why. */
export function startChild({ name, command, args, env, cwd, onLine, onPid }: ChildOptions): Child {
  const preload = command === undefined ? ['--import', new URL('end-with-parent.ts', import.meta.url).href] : []
  const child = spawn(command ?? process.execPath, [...preload, ...args], {
    ...dropUndefined({ cwd }),
    env: env ?? process.env,
    // A process group of its own: the terminal's Ctrl-C reaches only the parent, which stops everything in order.
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

  const stop: Child['stop'] = async ({ signal = 'SIGTERM', timeoutMs = STOP_TIMEOUT_MS } = {}) => {
    child.kill(signal)
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    await ended
    clearTimeout(timer)
  }
  return { pid: child.pid, ended, lastLines, stop }
}

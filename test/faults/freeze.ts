/** Stops processes without ending them, as a hung machine, a full disk or a cut network does. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** What a process has started, and that in turn: PostgreSQL has a process for each connection. */
async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const lines = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const found = [pid]
  for (const one of found) {
    for (const [child, parent] of lines) if (parent === one && child !== undefined) found.push(child)
  }
  return found.slice(1)
}

/** Freezes a process while something goes on. @returns what that returns, when the process runs again */
export async function whileFrozen<T>(pid: number | undefined, work: () => Promise<T>): Promise<T> {
  if (pid === undefined) throw new Error('there is no process to freeze')
  process.kill(pid, 'SIGSTOP')
  const frozen = [pid]
  try {
    // From here on it starts no others.
    frozen.push(...(await childrenOf(pid)))
    signalAll(frozen, 'SIGSTOP')
    return await work()
  } finally {
    signalAll(frozen.toReversed(), 'SIGCONT')
  }
}

/** Passes over processes that have ended, such as those of connections that were closed. */
function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {}
  }
}

/** Stops processes without ending them, as a hung machine, a full disk or a cut network does. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A process and all that it has started: PostgreSQL has one for each connection. */
async function withChildren(pid: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const lines = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number))
  const found = [pid]
  for (const one of found) {
    for (const [child, parent] of lines) if (parent === one && child !== undefined) found.push(child)
  }
  return found
}

/** Freezes a process while something goes on. @returns what that returns, when the process runs again */
export async function whileFrozen<T>(pid: number | undefined, work: () => Promise<T>): Promise<T> {
  if (pid === undefined) throw new Error('there is no process to freeze')
  const frozen = await withChildren(pid)
  for (const one of frozen) process.kill(one, 'SIGSTOP')
  try {
    return await work()
  } finally {
    // A process that a frozen one had to end may be gone.
    for (const one of frozen.toReversed()) {
      try {
        process.kill(one, 'SIGCONT')
      } catch {}
    }
  }
}

/** Servers that all projects of one run share: started by the first that asks, stopped by the last that leaves. */
import { appendFileSync } from 'node:fs'
import { startedAt } from '../../stack/pids.ts'

interface Share {
  readonly value: Promise<{ readonly stop: () => Promise<void> }>
  users: number
}

// Each project loads its own copy of the setup files, in one process: the table must be the process's own.
const TABLE = Symbol.for('simherd.test.servers')
const shares: Map<string, Share> = ((globalThis as Record<symbol, unknown>)[TABLE] ??= new Map()) as Map<string, Share>

/**
 * Starts a server unless another project has.
 *
 * @returns the server, and what gives it up
 */
export async function share<T extends { readonly stop: () => Promise<void> }>(
  name: string,
  start: () => Promise<T>,
): Promise<{ readonly server: T; readonly leave: () => Promise<void> }> {
  let entry = shares.get(name)
  if (entry === undefined) {
    entry = { value: start(), users: 0 }
    shares.set(name, entry)
  }
  const mine = entry
  mine.users += 1
  const server = (await mine.value) as T
  const leave = async () => {
    mine.users -= 1
    if (mine.users > 0) return
    shares.delete(name)
    await server.stop()
  }
  return { server, leave }
}

/** Tells test/run.ts of a server, which it ends should the test run be killed. */
export async function noteServer(pid: number): Promise<void> {
  note({ pid, startedAt: await startedAt(pid) })
}

/** Tells test/run.ts what is skipped and why. */
export function noteSkip(skipped: string, why: string): void {
  note({ skipped, why })
}

function note(line: object): void {
  const file = process.env.SIMHERD_TEST_NOTES
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}

/** Servers that all projects of a run share: the first project starts them, the last one stops them. */
import { noteServer } from './notes.ts'

interface Server {
  readonly pid?: number
  readonly stop: () => Promise<void>
}

interface Share {
  readonly server: Promise<Server>
  users: number
}

// All projects run in one process, but each loads its own copy of the setup files: the table must be global.
const TABLE = Symbol.for('simherd.test.servers')
const shares: Map<string, Share> = ((globalThis as Record<symbol, unknown>)[TABLE] ??= new Map()) as Map<string, Share>

/**
 * Starts a server unless another project has started it.
 *
 * @returns the server, and `leave`, to call when the project no longer needs it
 */
export async function share<T extends Server>(
  name: string,
  start: () => Promise<T>,
): Promise<{ readonly server: T; readonly leave: () => Promise<void> }> {
  let entry = shares.get(name)
  if (entry === undefined) {
    entry = { server: startWatched(start), users: 0 }
    shares.set(name, entry)
  }
  const mine = entry
  mine.users += 1
  const server = (await mine.server) as T
  const leave = async () => {
    mine.users -= 1
    if (mine.users > 0) return
    shares.delete(name)
    await server.stop()
  }
  return { server, leave }
}

/** Starts a server that stops with this process, whether this ends normally or by Ctrl-C. */
async function startWatched<T extends Server>(start: () => Promise<T>): Promise<T> {
  const server = await start()
  const { pid } = server
  if (pid === undefined) return server
  await noteServer(pid)
  const end = () => process.kill(pid, 'SIGINT')
  process.once('exit', end)
  const stop = async () => {
    process.off('exit', end)
    await server.stop()
  }
  return { ...server, stop }
}

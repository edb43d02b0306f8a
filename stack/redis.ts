/** A Redis for tests and trials. It has no persistence and evicts nothing, because the queues' jobs must stay. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findOnPath } from './downloads.ts'
import { freePort, LOOPBACK, requireFreePort } from './free-port.ts'
import { endProcess, startedAt } from './pids.ts'

export interface Redis {
  readonly url: string
  readonly pid: number
  readonly stop: () => Promise<void>
}

/**
 * Starts `redis-server` on loopback.
 *
 * @returns undefined if that program is not on PATH
 * @throws Error if it ends, or does not respond within ten seconds
 */
export async function startRedis(options: { readonly port?: number } = {}): Promise<Redis | undefined> {
  const program = await findOnPath('redis-server')
  if (program === undefined) return undefined
  const port = options.port ?? (await freePort())
  await requireFreePort(port, 'Redis')
  const dir = await mkdtemp(join(tmpdir(), 'simherd-redis-'))
  const settings = { bind: LOOPBACK, port, dir, save: '', appendonly: 'no', 'maxmemory-policy': 'noeviction' }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(program, args, { detached: true, stdio: 'ignore' })
  child.unref()
  const { pid } = child
  if (pid === undefined) throw new Error(`${program} did not start`)
  const stop = async () => {
    await endProcess(pid)
    await rm(dir, { recursive: true, force: true })
  }
  for (const deadline = Date.now() + 10_000; !(await answers(port)); await sleep(25)) {
    if (Date.now() < deadline && (await startedAt(pid)) !== undefined) continue
    await stop()
    throw new Error(`${program} does not answer on port ${port}: run it by hand to see why`)
  }
  return { url: `redis://${LOOPBACK}:${port}`, pid, stop }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, LOOPBACK, () => socket.write('PING\r\n'))
    const finish = (ok: boolean) => {
      socket.destroy()
      resolve(ok)
    }
    socket.setTimeout(500, () => finish(false))
    socket.once('data', (data) => finish(data.toString().startsWith('+PONG')))
    socket.once('error', () => finish(false))
  })
}

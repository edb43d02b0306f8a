/** Ports on loopback. */
import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

export const LOOPBACK = '127.0.0.1'

/**
 * Free ports are drawn from these. The systems give others to outgoing connections (Linux from 32768, macOS and Windows
 * from 49152): such a connection could take the port before the server that it was chosen for listens.
 */
const DRAWN = { from: 15_000, to: 32_767 }
const TRIES = 200

/** Listens for a moment. */
export function isPortFree(port: number, host = LOOPBACK): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    })
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

/**
 * A port, drawn by chance, on which nothing is listening at the moment.
 *
 * @throws Error if none of 200 drawn ports is free
 */
export async function freePort(host = LOOPBACK): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(DRAWN.from, DRAWN.to + 1)
    if (await isPortFree(port, host)) return port
  }
  throw new Error(`no free port on ${host} from ${DRAWN.from} to ${DRAWN.to}: end programs that listen there`)
}

/**
 * Checks that a port is free and may be listened on. Accepts port 0.
 *
 * @param what name of the server that needs it
 * @param setting name of the setting for another port, for the message
 * @throws Error with the fix
 */
export async function requireFreePort(port: number, what: string, setting?: string): Promise<void> {
  if (port === 0) return
  let free = false
  try {
    free = await isPortFree(port)
  } catch (error) {
    throw new Error(portMessage(port, what, `cannot be listened on (${String(error)})`, setting), { cause: error })
  }
  if (!free) throw new Error(portMessage(port, what, 'is in use', setting))
}

function portMessage(port: number, what: string, fault: string, setting?: string): string {
  const other = setting === undefined ? 'choose another' : `choose another with ${setting}=<port>`
  return `port ${port} for ${what} ${fault}: stop the program that listens there, or ${other}`
}

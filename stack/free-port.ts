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

interface WantedPort {
  /** 0 is any port. */
  readonly port: number
  /** Name of the server that needs it. */
  readonly what: string
  /** Name of the setting for another port, for the message. */
  readonly setting?: string
}

/** Checks that a port is free and may be listened on. @throws Error with the fix */
export const requireFreePort = (port: number, what: string): Promise<void> => requireFreePorts([{ port, what }])

/** Checks that ports are free and may be listened on. @throws Error with the fix of each that is not, a line each */
export async function requireFreePorts(wanted: readonly WantedPort[]): Promise<void> {
  const faults = (await Promise.all(wanted.map(faultOf))).filter((fault) => fault !== undefined)
  if (faults.length > 0) throw new Error(faults.join('\n'))
}

async function faultOf({ port, what, setting }: WantedPort): Promise<string | undefined> {
  const other = setting === undefined ? 'choose another' : `choose another with ${setting}=<port>`
  const message = (fault: string) =>
    `port ${port} for ${what} ${fault}: stop the program that listens there, or ${other}`
  try {
    return port === 0 || (await isPortFree(port)) ? undefined : message('is in use')
  } catch (error) {
    return message(`cannot be listened on (${String(error)})`)
  }
}

/** Ports on loopback. */
import { createServer } from 'node:net'

export const LOOPBACK = '127.0.0.1'

/**
 * Listens for a moment; port 0 takes any free one.
 *
 * @returns the port, or undefined if it is taken
 */
function tryPort(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined)
      else reject(error)
    })
    probe.listen({ port, host, exclusive: true }, () => {
      const address = probe.address()
      probe.close(() => resolve(address === null || typeof address === 'string' ? undefined : address.port))
    })
  })
}

/**
 * A port on which nothing is listening at the moment.
 *
 * @throws Error if there is none
 */
export async function freePort(host = LOOPBACK): Promise<number> {
  const port = await tryPort(0, host)
  if (port === undefined) throw new Error(`no free port on ${host}: end programs that listen there`)
  return port
}

export const isPortFree = async (port: number, host = LOOPBACK): Promise<boolean> =>
  (await tryPort(port, host)) !== undefined

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

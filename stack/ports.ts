/** Ports on loopback. */
import { createServer } from 'node:net'

export const LOOPBACK = '127.0.0.1'

/** Listens for a moment. @returns the port, or undefined where it is taken; 0 takes any free one */
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

/** A port nobody listens on just now. */
export async function freePort(host = LOOPBACK): Promise<number> {
  const port = await tryPort(0, host)
  if (port === undefined) throw new Error(`no free port on ${host}: end programs that listen there`)
  return port
}

export const isPortFree = async (port: number, host = LOOPBACK): Promise<boolean> =>
  (await tryPort(port, host)) !== undefined

/**
 * Refuses a port that somebody listens on, or that may not be listened on.
 *
 * @param what names the server that wants it; `setting`, when given, how another port is chosen
 * @throws Error that says what to do
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

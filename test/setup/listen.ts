import { once } from 'node:events'
import type { Server } from 'node:net'

/** Lets a server listen on any free port. @returns the port */
export async function listenAnywhere(server: Server, host = '127.0.0.1'): Promise<number> {
  await once(server.listen(0, host), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}

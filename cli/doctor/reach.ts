import { connect } from 'node:net'

/**
 * Opens a connection to the host and port of a URL, and closes it.
 *
 * @throws Error if nothing listens there, or if nothing responds in time
 */
export function reachTcp(url: string, defaultPort: number, timeoutMs: number): Promise<void> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port || defaultPort), timeout: timeoutMs })
    const end = (error?: Error) => {
      socket.destroy()
      if (error === undefined) resolve()
      else reject(error)
    }
    socket.once('connect', () => end())
    socket.once('timeout', () =>
      end(new Error(`no answer from ${hostname}:${port || defaultPort} within ${timeoutMs} ms`)),
    )
    socket.once('error', end)
  })
}

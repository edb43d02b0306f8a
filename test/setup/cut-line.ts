/** A line to a server, as PostgreSQL, that a test can cut, or make silent, without the server's knowledge. */
import net from 'node:net'
import { listenAnywhere } from './listen.ts'

export interface CutLine {
  /** The server's url, over this line. */
  readonly url: string
  /** Ends all connections, and refuses new ones. */
  readonly cut: () => void
  /** Keeps all connections, and lets nothing through. */
  readonly silence: () => void
  /** New connections get through again. Those before stay as they are. */
  readonly mend: () => void
  readonly close: () => Promise<void>
}

export async function cutLine(serverUrl: string): Promise<CutLine> {
  const to = new URL(serverUrl)
  const sockets = new Set<net.Socket>()
  let isCut = false
  const server = net.createServer((here) => {
    if (isCut) return here.destroy()
    const there = net.connect(Number(to.port), to.hostname)
    for (const [one, other] of [
      [here, there],
      [there, here],
    ] as const) {
      sockets.add(one)
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
    return undefined
  })
  const url = new URL(serverUrl)
  url.host = `127.0.0.1:${await listenAnywhere(server)}`
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut,
    silence: () => {
      isCut = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    mend: () => {
      isCut = false
    },
    close: async () => {
      cut()
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      await closed.promise
    },
  }
}

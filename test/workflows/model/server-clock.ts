/**
 * The test server's time as a clock that can be read without a request.
 *
 * The server's time runs at the same rate as ours, and sometimes leaps ahead. So the clock stores how far the server is
 * ahead. It is refreshed before anything that depends on the time. The server does not leap while an activity is in
 * flight, so a refresh before an activity's request is valid until the response.
 */
import { request as forward } from 'node:http'
import type { TestWorkflowEnvironment } from '@temporalio/testing'
import { serve } from '../../../stack/http.ts'

export interface ServerClock {
  /** Epoch milliseconds; never goes back. */
  readonly now: () => number
  /** Reads the server's time. */
  readonly refresh: () => Promise<void>
}

export async function serverClock(env: TestWorkflowEnvironment): Promise<ServerClock> {
  let aheadMs = 0
  let latest = 0
  let [sent, received] = [0, 0]
  const refresh = async () => {
    sent += 1
    const turn = sent
    const sentAt = Date.now()
    const serverNow = await env.currentTimeMs()
    // A response that a later request's response has overtaken may be from before a leap.
    if (turn < received) return
    received = turn
    // Compared with the time of sending: slightly ahead is right for a workflow whose timer has just fired.
    aheadMs = serverNow - sentAt
  }
  await refresh()
  const now = () => {
    latest = Math.max(latest, Date.now() + aheadMs)
    return latest
  }
  return { now, refresh }
}

/**
 * What happens to a request: it gets through; the connection breaks before it is forwarded (`away`); or it is handled
 * but its response is lost (`lost`).
 */
export type Fate = 'through' | 'away' | 'lost'

/** Forwards each request to a server, after a refresh of the clock. @param fateOf gets `METHOD /path` */
export async function refreshingProxy(
  target: string,
  clock: ServerClock,
  fateOf: (line: string) => Fate = () => 'through',
) {
  const to = new URL(target)
  return serve(0, 'the proxy that refreshes the clock', (request, response) => {
    const handle = async () => {
      await clock.refresh()
      const fate = fateOf(`${request.method} ${request.url}`)
      if (fate === 'away') return response.destroy()
      const options = { host: to.hostname, port: to.port, path: request.url, method: request.method }
      const onward = forward({ ...options, headers: request.headers }, (received) => {
        if (fate === 'lost') return received.resume().on('end', () => response.destroy())
        response.writeHead(received.statusCode ?? 502, received.headers)
        received.pipe(response)
      })
      onward.on('error', () => response.destroy())
      request.pipe(onward)
    }
    handle().catch(() => response.destroy())
  })
}

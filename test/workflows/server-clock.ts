/**
 * The test server's time as a clock that can be read at once.
 *
 * Its time runs as ours does, and now and then leaps ahead: so what is kept is how far it is ahead of ours, and
 * it is asked anew before anything that decides by it. It does not leap while an activity is in flight, so what
 * is asked for an activity's request holds until the answer.
 */
import { request as forward } from 'node:http'
import type { TestWorkflowEnvironment } from '@temporalio/testing'
import { serve } from '../../stack/http.ts'

export interface ServerClock {
  /** Epoch milliseconds; never goes back. */
  readonly now: () => number
  /** Asks the server. */
  readonly refresh: () => Promise<void>
}

export async function serverClock(env: TestWorkflowEnvironment): Promise<ServerClock> {
  let aheadMs = 0
  let latest = 0
  const refresh = async () => {
    const askedAt = Date.now()
    const serverNow = await env.currentTimeMs()
    // By the earlier of our two instants: a little ahead is right for a workflow whose timer has just fired.
    aheadMs = serverNow - askedAt
  }
  await refresh()
  const now = () => {
    latest = Math.max(latest, Date.now() + aheadMs)
    return latest
  }
  return { now, refresh }
}

/** Hands each request on to a server, with the clock asked anew before. */
export async function refreshingProxy(target: string, clock: ServerClock) {
  const to = new URL(target)
  return serve(0, 'the proxy that asks for the time', (request, response) => {
    const hand = async () => {
      await clock.refresh()
      const options = { host: to.hostname, port: to.port, path: request.url, method: request.method }
      const onward = forward({ ...options, headers: request.headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      onward.on('error', () => response.destroy())
      request.pipe(onward)
    }
    hand().catch(() => response.destroy())
  })
}

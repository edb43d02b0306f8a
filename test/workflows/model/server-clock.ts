/**
 * The test server's time as a clock that can be read at once.
 *
 * Its time runs as ours does, and now and then leaps ahead: so what is kept is how far it is ahead of ours, and
 * it is asked anew before anything that decides by it. It does not leap while an activity is in flight, so what
 * is asked for an activity's request holds until the answer.
 */
import { request as forward } from 'node:http'
import type { TestWorkflowEnvironment } from '@temporalio/testing'
import { serve } from '../../../stack/http.ts'

export interface ServerClock {
  /** Epoch milliseconds; never goes back. */
  readonly now: () => number
  /** Asks the server. */
  readonly refresh: () => Promise<void>
}

export async function serverClock(env: TestWorkflowEnvironment): Promise<ServerClock> {
  let aheadMs = 0
  let latest = 0
  let [asked, heard] = [0, 0]
  const refresh = async () => {
    asked += 1
    const turn = asked
    const askedAt = Date.now()
    const serverNow = await env.currentTimeMs()
    // An answer that comes after that to a later question is of a time before the server's leap, perhaps.
    if (turn < heard) return
    heard = turn
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

/**
 * What becomes of a request on the way: it gets through; nobody answers; its answer is lost after it was done; or it is
 * told to come again, with the seconds of Retry-After.
 */
export type Fate = 'through' | 'away' | 'lost' | { readonly retryAfter: number }

/** Hands each request on to a server, with the clock asked anew before. @param fateOf of `METHOD /path` */
export async function refreshingProxy(
  target: string,
  clock: ServerClock,
  fateOf: (line: string) => Fate = () => 'through',
) {
  const to = new URL(target)
  return serve(0, 'the proxy that asks for the time', (request, response) => {
    const hand = async () => {
      await clock.refresh()
      const fate = fateOf(`${request.method} ${request.url}`)
      if (fate === 'away') return response.destroy()
      if (typeof fate === 'object') return response.writeHead(503, { 'retry-after': `${fate.retryAfter}` }).end()
      const options = { host: to.hostname, port: to.port, path: request.url, method: request.method }
      const onward = forward({ ...options, headers: request.headers }, (answer) => {
        if (fate === 'lost') return answer.resume().on('end', () => response.destroy())
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      onward.on('error', () => response.destroy())
      request.pipe(onward)
    }
    hand().catch(() => response.destroy())
  })
}

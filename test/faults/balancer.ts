/** A small load balancer: sends each request once, to APIs in turn that answered `/readyz` with 200 in the last second. */
import { Agent, createServer, request as requestTo } from 'node:http'
import { listenAnywhere } from '../setup/listen.ts'

const ASK_EVERY_MS = 1000

interface Target {
  readonly url: string
  /** Its internal listener. */
  readonly readyUrl: string
}

export async function startBalancer(targets: readonly Target[]) {
  const agent = new Agent({ keepAlive: true })
  const states = targets.map((target) => ({ ...target, isReady: false, served: 0 }))
  const askAll = () =>
    Promise.all(
      states.map(async (state) => {
        const answer = await fetch(`${state.readyUrl}/readyz`, { signal: AbortSignal.timeout(ASK_EVERY_MS) }).catch(
          () => undefined,
        )
        await answer?.body?.cancel()
        state.isReady = answer?.ok === true
      }),
    )
  await askAll()
  const timer = setInterval(() => void askAll(), ASK_EVERY_MS)
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const ready = states.filter(({ isReady }) => isReady)
    const target = ready[turn++ % ready.length]
    if (target === undefined) return void outgoing.writeHead(503).end('none is ready')
    const { method = 'GET', url, headers } = incoming
    const passed = requestTo(target.url + url, { method, headers, agent }, (answer) => {
      target.served += 1
      const { connection: _, ...rest } = answer.headers
      outgoing.writeHead(answer.statusCode ?? 502, rest)
      answer.pipe(outgoing)
    })
    passed.on('error', (error) => outgoing.writeHead(502).end(error.message))
    incoming.pipe(passed)
  })
  return {
    url: `http://127.0.0.1:${await listenAnywhere(server)}`,
    /** How many APIs get requests now. */
    ready: () => states.filter(({ isReady }) => isReady).length,
    /** How many requests each has answered. */
    served: () => states.map(({ served }) => served),
    stop: () => {
      clearInterval(timer)
      server.closeAllConnections()
      server.close()
      agent.destroy()
    },
  }
}

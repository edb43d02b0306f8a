/** A carrier's bridge that responds over HTTP as a test tells it to. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll } from 'vitest'
import { httpNetwork } from '../../network/http.ts'
import type { CarrierRequest } from '../../network/network.ts'

/** Done; refused for good; not available now; response lost, whether done or not. */
export type BridgeResponse = 'ok' | 'refused' | 'away' | 'lost'

/** Decides the bridge's response to a request. Until it returns, the request to the carrier stays open. */
type Answering = (request: CarrierRequest) => Promise<BridgeResponse> | BridgeResponse

export async function aBridge() {
  const bridge = { answer: (() => 'ok') as Answering, requests: [] as CarrierRequest[] }
  const server = createServer(async (request, response) => {
    const asked = (await json(request)) as CarrierRequest
    bridge.requests.push(asked)
    give(response, asked, await bridge.answer(asked))
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const network = httpNetwork({ url: `http://127.0.0.1:${port}`, secret: 'secret-of-the-tests', timeoutMs: 5000 })
  return Object.assign(bridge, { network })
}

function give(response: ServerResponse, { ticketId }: CarrierRequest, answer: BridgeResponse): void {
  const say = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  switch (answer) {
    case 'ok':
      return void say(200, { ticketId, effect: 'done' })
    case 'refused':
      return void say(409, { code: 'not_allowed', detail: 'the test says so' })
    case 'away':
      return void say(503, { code: 'away', detail: 'the test says so' })
    case 'lost':
      return void response.destroy()
  }
}

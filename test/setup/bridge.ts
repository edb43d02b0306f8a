/** A carrier's bridge over HTTP. The test decides its responses. */
import { createServer, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { afterAll } from 'vitest'
import { httpNetwork } from '../../adapters/carrier/http-network.ts'
import type { CarrierRequest } from '../../adapters/carrier/network.ts'
import { listenAnywhere } from './listen.ts'

/** Done; refused for good; not available now; response lost, whether done or not. */
type BridgeResponse = 'ok' | 'refused' | 'away' | 'lost'

/** Decides the bridge's response to a request. Until it returns, the request to the carrier stays open. */
type Respond = (request: CarrierRequest) => Promise<BridgeResponse> | BridgeResponse

export async function aBridge() {
  const bridge = { answer: (() => 'ok') as Respond, requests: [] as CarrierRequest[] }
  const server = createServer(async (request, response) => {
    const received = (await json(request)) as CarrierRequest
    bridge.requests.push(received)
    send(response, received, await bridge.answer(received))
  })
  const port = await listenAnywhere(server)
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const network = httpNetwork({ url: `http://127.0.0.1:${port}`, secret: 'secret-of-the-tests', timeoutMs: 30_000 })
  return Object.assign(bridge, { network })
}

function send(response: ServerResponse, { ticketId }: CarrierRequest, kind: BridgeResponse): void {
  const json = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  switch (kind) {
    case 'ok':
      return void json(200, { ticketId, effect: 'done' })
    case 'refused':
      return void json(409, { code: 'not_allowed', detail: 'the test says so' })
    case 'away':
      return void json(503, { code: 'away', detail: 'the test says so' })
    case 'lost':
      return void response.destroy()
  }
}

/** The client through which commands call the service. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { idempotent } from '../../../adapters/rest/client.ts'
import { openInternalClient, responseOf } from '../../../cli/service.ts'
import { exampleOf, problemOf, standInCheck } from '../../setup/documents.ts'

const fault = standInCheck()

/** A service that sends these responses in turn, and the bodies that it received. */
async function aService(...answers: RequestListener[]) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += String(part)
    bodies.push(body)
    answers[Math.min(bodies.length, answers.length) - 1]?.(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { bodies, client: openInternalClient({ url: `http://127.0.0.1:${port}`, key: 'k', patienceMs: 30_000 }) }
}

/** A response of the service. */
const json = (status: number, body: object): RequestListener => {
  const type = status < 400 ? 'application/json' : 'application/problem+json'
  const headers = { 'content-type': type, 'x-request-id': 'r' }
  return ({ method = '', url = '' }, response) => {
    expect(fault({ method, url, status, headers, body })).toBeUndefined()
    response.writeHead(status, headers).end(JSON.stringify(body))
  }
}
/** The response of a proxy while the service is away. */
const nobody: RequestListener = (_request, response) => void response.writeHead(503).end('nobody there')
const breaksOff: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{"id"')
  setTimeout(() => response.destroy(), 20)
}

test('internalClient resends its body after 503, 409 or a break', async () => {
  const busy = json(409, problemOf('idempotency_in_progress', 'It is under way.', '/internal/tenants'))
  const made = exampleOf('createTenant')
  const { bodies, client } = await aService(nobody, busy, breaksOff, json(201, made))
  const body = { name: 'Acme', billingEmail: 'bills@acme.example' }

  const answer = await responseOf(client.POST('/internal/tenants', { body, params: idempotent('one') }))

  expect(answer).toEqual(made)
  expect(bodies).toEqual(Array(4).fill(JSON.stringify(body)))
})

test('responseOf names the request and its faults', async () => {
  const errors = [{ pointer: '/name', detail: 'is required' }]
  const { client } = await aService(
    json(400, problemOf('invalid_request', '/name is required.', '/internal/cycles', errors)),
  )

  await expect(responseOf(client.GET('/internal/cycles'))).rejects.toMatchObject({
    status: 400,
    code: 'invalid_request',
    message: 'GET /internal/cycles: /name is required. (400 invalid_request)',
    faults: ['/name: is required'],
  })
})

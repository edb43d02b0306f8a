/** The client through which commands call the service. */
import { expect, onTestFinished, test } from 'vitest'
import { idempotent } from '../../../adapters/rest/client.ts'
import { openInternalClient, responseOf } from '../../../cli/service.ts'
import { exampleOf, problemOf, standInCheck } from '../../setup/documents.ts'
import { type Answer, answers, startReceiver } from '../../setup/webhook-receiver.ts'

const fault = standInCheck()

/** A service that sends these responses in turn, and what it received. */
async function aService(...turns: Answer[]) {
  const service = await startReceiver()
  onTestFinished(service.stop)
  service.answer = (response, received, n) => turns[Math.min(n, turns.length) - 1]?.(response, received, n)
  const client = openInternalClient({ url: service.url, key: 'k', patienceMs: 30_000 })
  return { received: service.received, client }
}

/** A response of the service. */
const json = (status: number, body: object): Answer => {
  const type = status < 400 ? 'application/json' : 'application/problem+json'
  const headers = { 'content-type': type, 'x-request-id': 'r' }
  return (response, { method, path: url }) => {
    expect(fault({ method, url, status, headers, body })).toBeUndefined()
    response.writeHead(status, headers).end(JSON.stringify(body))
  }
}
/** The response of a proxy while the service is away. */
const nobody = answers(503, 'nobody there')
const breaksOff: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{"id"')
  setTimeout(() => response.destroy(), 20)
}

test('internalClient resends its body after 503, 409 or a break', async () => {
  const busy = json(409, problemOf('idempotency_in_progress', 'It is under way.', '/internal/tenants'))
  const made = exampleOf('createTenant')
  const { received, client } = await aService(nobody, busy, breaksOff, json(201, made))
  const body = { name: 'Acme', billingEmail: 'bills@acme.example' }

  expect(await responseOf(client.POST('/internal/tenants', { body, params: idempotent('one') }))).toEqual(made)
  expect(received.map((request) => request.body)).toEqual(Array(4).fill(JSON.stringify(body)))
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

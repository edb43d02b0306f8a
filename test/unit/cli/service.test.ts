/** The client that commands call the service by. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { answerOf, internalClient, once as onceKey } from '../../../cli/service.ts'

/** A service that gives these answers, one after the other, and what it was sent. */
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
  return { bodies, client: internalClient({ url: `http://127.0.0.1:${port}`, key: 'k', patienceMs: 5000 }) }
}

const json = (status: number, body: object): RequestListener => {
  return (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
const breaksOff: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{"id"')
  setTimeout(() => response.destroy(), 20)
}

test('asks again, with the same body, while the service is away, busy or breaks off in the middle of an answer', async () => {
  const busy = json(409, { code: 'idempotency_in_progress' })
  const { bodies, client } = await aService(json(503, {}), busy, breaksOff, json(201, { id: 7 }))
  const body = { name: 'Acme', billingEmail: 'bills@acme.example' }

  const answer = await answerOf(client.POST('/internal/tenants', { body, params: onceKey('one') }))

  expect(answer).toEqual({ id: 7 })
  expect(bodies).toEqual(Array(4).fill(JSON.stringify(body)))
})

test('says what was asked for and what was wrong with it', async () => {
  const errors = [{ pointer: '/name', detail: 'is required' }]
  const { client } = await aService(json(400, { code: 'invalid_request', detail: '/name is required.', errors }))

  await expect(answerOf(client.GET('/internal/cycles'))).rejects.toMatchObject({
    status: 400,
    code: 'invalid_request',
    message: 'GET /internal/cycles: /name is required. (400 invalid_request)',
    faults: ['/name: is required'],
  })
})

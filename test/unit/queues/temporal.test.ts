/** What the service makes of a Temporal server's refusals; a small one of our own that refuses as hosted ones do. */
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { temporal } from '@temporalio/proto'
import { onTestFinished, test } from 'vitest'
import { openWorkflowClient, type WorkflowInput } from '../../../queues/temporal/client.ts'

/** gRPC status codes. */
const OK = 0
const INVALID_ARGUMENT = 3
const PERMISSION_DENIED = 7
const UNAUTHENTICATED = 16
/** A message in its frame: not compressed, and how long it is. */
function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** A server that gives each call the status of its name; to the others their answer, or an empty one. Calls are noted. */
async function startServer(statuses: Record<string, number>, answers: Record<string, Uint8Array> = {}) {
  const calls: string[] = []
  const asked: Buffer[] = []
  const server = createServer()
  server.on('stream', async (stream, headers) => {
    const call = String(headers[':path']).split('/').at(-1) ?? ''
    calls.push(call)
    const type = { ':status': 200, 'content-type': 'application/grpc' }
    const status = statuses[call] ?? OK
    const asks = await buffer(stream)
    if (call in answers) asked.push(asks.subarray(5))
    if (status !== OK) {
      const trailers = { 'grpc-status': String(status), 'grpc-message': 'it said why' }
      return stream.respond({ ...type, ...trailers }, { endStream: true })
    }
    stream.respond(type, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(OK) }))
    stream.end(framed(answers[call] ?? Buffer.alloc(0)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const workflowClient = openWorkflowClient({ address: `127.0.0.1:${port}`, namespace: 'hosted' })
  onTestFinished(async () => {
    await workflowClient.close()
    server.close()
  })
  return { workflowClient, calls, asked, statuses }
}

const input: WorkflowInput = { tenantId: 't1', simId: 7 }
const aStart = { type: 'provision-and-activate', workflowId: 'provision-and-activate:t1:7', input } as const

test('a request that the server finds wrong is no `unavailable`: asking again would not help', async ({ expect }) => {
  const { workflowClient } = await startServer({ StartWorkflowExecution: INVALID_ARGUMENT })

  await expect(workflowClient.start(aStart)).rejects.toMatchObject({
    name: 'ServiceError',
    cause: { code: INVALID_ARGUMENT, details: 'it said why' },
  })
  await expect(workflowClient.start(aStart)).rejects.not.toHaveProperty('code')
})

test('nor is a fault of our own', async ({ expect }) => {
  const { workflowClient } = await startServer({})

  await expect(workflowClient.start({ ...aStart, input: JSON.parse('null') })).rejects.toBeInstanceOf(TypeError)
})

test('what may be otherwise the next time is `unavailable`, with the reason', async ({ expect }) => {
  const { workflowClient } = await startServer({ StartWorkflowExecution: UNAUTHENTICATED })

  await expect(workflowClient.start(aStart)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/the Temporal server at .* does not take the call: it said why/),
  })
})

test('a namespace without the search attributes is not ready, until its owner has added them', async ({ expect }) => {
  const { workflowClient, statuses } = await startServer({ AddSearchAttributes: PERMISSION_DENIED })

  await expect(workflowClient.check()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/namespace hosted lacks search attributes.*: SimherdTenant, SimId, /),
  })

  statuses['AddSearchAttributes'] = OK
  await expect(workflowClient.check()).resolves.toBeUndefined()
})

test('one that does not let its users look is taken to have them, and is looked at once', async ({ expect }) => {
  const { workflowClient, calls } = await startServer({
    ListSearchAttributes: PERMISSION_DENIED,
    AddSearchAttributes: PERMISSION_DENIED,
  })

  await workflowClient.check()
  await workflowClient.check()

  expect(calls.filter((call) => call === 'ListSearchAttributes')).toHaveLength(1)
})

test('a late page of a list is reached with a thousand of the ones before it a call', async ({ expect }) => {
  const { CountWorkflowExecutionsResponse, ListWorkflowExecutionsRequest } = temporal.api.workflowservice.v1
  const count = CountWorkflowExecutionsResponse.encode({ count: 5000 as never }).finish()
  const { workflowClient, asked } = await startServer(
    {},
    { CountWorkflowExecutions: count, ListWorkflowExecutions: Buffer.alloc(0) },
  )

  for (const page of [1, 3, 40]) await workflowClient.list({ tenantId: 't1' }, { page, pageSize: 50 })

  const lists = asked.filter((_, index) => index % 2 === 1)
  expect(lists.map((request) => ListWorkflowExecutionsRequest.decode(request).pageSize)).toEqual([50, 150, 1000])
})

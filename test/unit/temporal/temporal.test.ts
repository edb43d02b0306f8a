/** How the service treats refusals of a Temporal server. The server here is our own: it refuses as hosted ones do. */
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import proto from '@temporalio/proto'
import { onTestFinished, test } from 'vitest'
import { openWorkflowClient } from '../../../adapters/temporal/client.ts'
import type { WorkflowSubject } from '../../../domain/temporal/start.ts'

/** gRPC status codes. */
const OK = 0
const INVALID_ARGUMENT = 3
const PERMISSION_DENIED = 7
const UNAUTHENTICATED = 16
/** A message in its gRPC frame: a flag (not compressed), its length, the message. */
function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** A server that records its calls. It responds with a call's status, else with its message, else with an empty one. */
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

const input: WorkflowSubject = { tenantId: 't1', simId: 7 }
const aStart = { type: 'provision-and-activate', workflowId: 'provision-and-activate:t1:7', input } as const

test('start does not call an invalid request `unavailable`', async ({ expect }) => {
  const { workflowClient } = await startServer({ StartWorkflowExecution: INVALID_ARGUMENT })

  await expect(workflowClient.start(aStart)).rejects.toMatchObject({
    name: 'ServiceError',
    cause: { code: INVALID_ARGUMENT, details: 'it said why' },
  })
  await expect(workflowClient.start(aStart)).rejects.not.toHaveProperty('code')
})

test('start does not call our own fault `unavailable`', async ({ expect }) => {
  const { workflowClient } = await startServer({})

  await expect(workflowClient.start({ ...aStart, input: JSON.parse('null') })).rejects.toBeInstanceOf(TypeError)
})

test('start calls a refusal that may pass `unavailable`', async ({ expect }) => {
  const { workflowClient } = await startServer({ StartWorkflowExecution: UNAUTHENTICATED })

  await expect(workflowClient.start(aStart)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/the Temporal server at .* does not take the call: it said why/),
  })
})

test('check fails until the search attributes are there', async ({ expect }) => {
  const { workflowClient, statuses } = await startServer({ AddSearchAttributes: PERMISSION_DENIED })

  await expect(workflowClient.check()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/namespace hosted lacks search attributes.*: SimherdTenant, SimId, /),
  })

  statuses['AddSearchAttributes'] = OK
  await expect(workflowClient.check()).resolves.toBeUndefined()
})

test('check passes if listing attributes is denied', async ({ expect }) => {
  const { workflowClient, calls } = await startServer({
    ListSearchAttributes: PERMISSION_DENIED,
    AddSearchAttributes: PERMISSION_DENIED,
  })

  await workflowClient.check()
  await workflowClient.check()

  expect(calls.filter((call) => call === 'ListSearchAttributes')).toHaveLength(1)
})

test('list reads at most 1,000 runs a call', async ({ expect }) => {
  const { CountWorkflowExecutionsResponse, ListWorkflowExecutionsRequest } = proto.temporal.api.workflowservice.v1
  const count = CountWorkflowExecutionsResponse.encode({ count: 5000 as never }).finish()
  const { workflowClient, asked } = await startServer(
    {},
    { CountWorkflowExecutions: count, ListWorkflowExecutions: Buffer.alloc(0) },
  )

  for (const page of [1, 3, 40]) await workflowClient.list({ tenantId: 't1' }, { page, pageSize: 50 })

  const lists = asked.filter((_, index) => index % 2 === 1)
  expect(lists.map((request) => ListWorkflowExecutionsRequest.decode(request).pageSize)).toEqual([50, 150, 1000])
})

/** Commands that steer a workflow, against a service that loses responses. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { cancelWorkflow, retryWorkflow, updateWorkflow } from '../../../cli/workflows/steer.ts'
import { readSettings } from '../../../process/settings.ts'
import { standInCheck } from '../../setup/documents.ts'

const WORKFLOW = 'suspend-on-overage:t0123456789ab:7:2026-11'

const fault = standInCheck()
/** The response to each request. */
const ANSWERS: Readonly<Record<string, readonly [status: number, body: object]>> = {
  extendGrace: [200, { phase: 'grace' }],
  cancel: [202, {}],
  retry: [202, { workflowId: WORKFLOW, runId: 'r', status: 'running' }],
}

/** A service that loses its first responses and records the keys of the requests. */
async function aService(lost: number) {
  const keys: unknown[] = []
  const faults: unknown[] = []
  const server = createServer(async (asked, response) => {
    const { method = '', url = '', headers } = asked
    keys.push(headers['idempotency-key'])
    const sent = (await asked.toArray()).join('')
    if (keys.length <= lost) return void response.destroy()
    const [status, body] = ANSWERS[url.split('/').at(-1) ?? ''] ?? [404, {}]
    const answer = { status, headers: { 'content-type': 'application/json', 'x-request-id': 'r' }, body }
    faults.push(fault({ method, url, ...answer, request: { headers, body: sent === '' ? '' : JSON.parse(sent) } }))
    response.writeHead(status, answer.headers).end(JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    expect(faults.filter((one) => one !== undefined)).toEqual([])
  })
  const { port } = server.address() as AddressInfo
  return { keys, settings: { ...readSettings(), SERVICE_INTERNAL_URL: `http://127.0.0.1:${port}`, SERVICE_KEY: 'k' } }
}
type Asked = Awaited<ReturnType<typeof aService>>['settings']

beforeEach(() => void vi.spyOn(console, 'log').mockReturnValue())
afterEach(() => void vi.restoreAllMocks())

describe.each([
  ['update', (to: Asked, key?: string) => updateWorkflow(to, WORKFLOW, 'extendGrace', { by: 'PT1H', ...options(key) })],
  ['cancel', (to: Asked, key?: string) => cancelWorkflow(to, WORKFLOW, options(key))],
  ['retry', (to: Asked, key?: string) => retryWorkflow(to, WORKFLOW, options(key))],
])('%sWorkflow', (_, ask) => {
  test('repeats a lost request under the same key', async () => {
    const { keys, settings } = await aService(1)

    await ask(settings)

    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), keys[0]])
  })

  test('names its key on failure, accepts it next time', async () => {
    const { keys, settings } = await aService(1)
    // The patience for retries ends after the first request.
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 20_000))

    const failure = await ask(settings).catch((error: unknown) => error)
    clock.mockRestore()
    expect(failure).toMatchObject({
      exitCode: 5,
      message: expect.stringContaining(`ask again with --key ${String(keys[0])}`),
    })

    await ask(settings, String(keys[0]))
    expect(keys).toEqual([keys[0], keys[0]])
  })
})

const options = (key: string | undefined) => (key === undefined ? {} : { key })

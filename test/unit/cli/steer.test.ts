/** Commands that steer a workflow, against a service that loses responses. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { cancelWorkflow, retryWorkflow, updateWorkflow } from '../../../cli/workflows/steer.ts'
import { readSettings } from '../../../process/settings.ts'
import { standInCheck } from '../../setup/documents.ts'
import { startReceiver } from '../../setup/webhook-receiver.ts'

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
  const faults: unknown[] = []
  const service = await startReceiver()
  service.answer = (response, { method, path: url, headers, body: sent }, n) => {
    if (n <= lost) return response.destroy()
    const [status, body] = ANSWERS[url.split('/').at(-1) ?? ''] ?? [404, {}]
    const answer = { status, headers: { 'content-type': 'application/json', 'x-request-id': 'r' }, body }
    faults.push(fault({ method, url, ...answer, request: { headers, body: sent === '' ? '' : JSON.parse(sent) } }))
    return response.writeHead(status, answer.headers).end(JSON.stringify(body))
  }
  onTestFinished(async () => {
    await service.stop()
    expect(faults.filter((one) => one !== undefined)).toEqual([])
  })
  const keys = () => service.received.map(({ headers }) => headers['idempotency-key'])
  return { keys, settings: { ...readSettings(), SERVICE_INTERNAL_URL: service.url, SERVICE_KEY: 'k' } }
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

    expect(keys()).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), keys()[0]])
  })

  test('names its key on failure, accepts it next time', async () => {
    const { keys, settings } = await aService(1)
    // The patience for retries ends after the first request.
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 20_000))

    const failure = await ask(settings).catch((error: unknown) => error)
    clock.mockRestore()
    const key = String(keys()[0])
    expect(failure).toMatchObject({ exitCode: 5, message: expect.stringContaining(`ask again with --key ${key}`) })

    await ask(settings, key)
    expect(keys()).toEqual([key, key])
  })
})

const options = (key: string | undefined) => (key === undefined ? {} : { key })

/** Activities that fail again and again: real Temporal and the real API, whose public listener is away for the worker. */
import { request as forward } from 'node:http'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { provisionAndActivateId } from '../../domain/temporal/ids.ts'
import { answerJson, serve } from '../../stack/http.ts'
import { startTemporalWorker } from '../../worker/start-temporal-worker.ts'
import { aPool, aSim, startedApi, useHarness } from '../api/harness.ts'
import { soon } from '../setup/soon.ts'
import { workflowBundle } from '../setup/workflow-bundle.ts'
import { useTemporal } from './development-server.ts'

const { address, namespace, workflowClient, temporal } = await useTemporal()
const harness = useHarness({ workflowClient })
const closing: (() => Promise<unknown>)[] = []
let isAway = false

beforeAll(async () => {
  const api = await startedApi(harness, { workflowClient })
  const line = await serve(0, 'the line of the worker', (request, response) => {
    if (isAway) return answerJson(response, 503, { code: 'unavailable', detail: 'The line is cut.' })
    const { method, headers, url = '' } = request
    const onward = forward(new URL(url, api.apiUrl), { ...(method && { method }), headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(onward)
  })
  const { internalUrl } = api
  const service = { serviceUrl: line.url, internalUrl, key: harness.operatorKey }
  const log = pino({ level: 'silent' })
  const workflows = await workflowBundle()
  const worker = startTemporalWorker({ address, namespace, ...service, workflows, log, shutdownGraceMs: 100 })
  closing.push(() => worker.shutdown(), line.stop, api.close)
})
afterAll(async () => {
  for (const close of closing) await close()
})

async function aRun() {
  const [{ id: simId }, poolId] = [await aSim(harness.tenant), await aPool(harness.tenant)]
  await harness.tenant.inside('POST', '/internal/workflows/provision-and-activate', { simId, poolId })
  return provisionAndActivateId(harness.tenant.id, simId)
}
const troubles = async ({ inside } = harness.tenant) => (await inside('GET', '/internal/workflows/troubles')).body
const retrying = async () => (await harness.tenant.inside('GET', '/internal/status')).body.retryingWorkflows

test('are listed until they succeed', async () => {
  isAway = true
  const workflowId = await aRun()
  await soon(async () => expect(await retrying()).toBe(1))

  const listed = await troubles()
  expect(listed).toMatchObject({ pagination: { totalItems: 1 }, isChecked: true })
  const failure = { activity: 'openBothTickets', code: 'unavailable', detail: 'The line is cut.' }
  expect(listed.data).toMatchObject([{ workflowId, type: 'provision-and-activate', activityId: '1', ...failure }])
  const [{ attempt, since, failedAt, nextAttemptAt }] = listed.data
  expect(attempt).toBeGreaterThanOrEqual(3)
  expect([since, failedAt, nextAttemptAt].toSorted()).toEqual([since, failedAt, nextAttemptAt])
  expect(await troubles(harness.other)).toMatchObject({ data: [] })

  isAway = false
  // The worker reports it: a status asks no Temporal.
  await soon(async () => expect(await retrying()).toBe(0))
  expect((await harness.tenant.inside('GET', `/internal/workflows/${workflowId}`)).body.status).toBe('running')
})

test('are no longer listed once their workflow was terminated', async () => {
  isAway = true
  const workflowId = await aRun()
  await soon(async () => expect((await troubles()).data).toMatchObject([{ workflowId }]))
  await temporal.getHandle(workflowId).terminate('for the test')
  expect(await retrying()).toBe(1)

  expect(await troubles()).toMatchObject({ data: [], pagination: { totalItems: 0 }, isChecked: true })
  expect(await retrying()).toBe(0)
})

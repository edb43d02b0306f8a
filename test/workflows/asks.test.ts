/**
 * Routes that call Temporal, on its development server: who may call them, their rows in the audit trail, and their
 * Idempotency-Key. A worker runs the workflows; their activities cannot reach a service.
 */
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTemporalWorker } from '../../worker/start-temporal-worker.ts'
import { LINES, OPERATIONS } from '../api/every-route/calls.ts'
import { isIdempotent, type Keys, opensToNobodyElse, someKeys } from '../api/every-route/route-checks.ts'
import { useEstates } from '../api/full-tenant.ts'
import type { Tenant } from '../api/harness.ts'
import { workflowBundle } from '../setup/workflow-bundle.ts'
import { useTemporal } from './development-server.ts'

const { address, namespace, workflowClient, temporal } = await useTemporal()
const nowhere = 'http://127.0.0.1:9'
const worker = startTemporalWorker({
  address,
  namespace,
  serviceUrl: nowhere,
  internalUrl: nowhere,
  key: 'key',
  workflows: await workflowBundle(),
  log: pino({ level: 'silent' }),
  shutdownGraceMs: 100,
})
const estates = useEstates({ workflowClient, terminate: (id) => temporal.getHandle(id).terminate('for the test') })
const { harness } = estates
let keys: Keys

beforeAll(async () => {
  keys = await someKeys(harness)
  for (const { id } of [harness.tenant, harness.other]) {
    await workflowClient.ensureSchedule({ tenantId: id, billingCycle: 'P1M' })
  }
})
afterAll(() => worker.shutdown())

const CALLING = OPERATIONS.filter(({ operationId }) => LINES[operationId]?.asksTemporal)

describe('keys and tenants', () => {
  test.each(CALLING)('admits no other key or tenant, and leaves its trail: $method $path', async (operation) => {
    await opensToNobodyElse(estates, keys, operation)
  })
})

describe('Idempotency-Key', () => {
  test.each(CALLING.filter(({ headers }) => headers.includes('Idempotency-Key')))(
    'makes $method $path idempotent',
    async (operation) => {
      await isIdempotent(estates, operation)
    },
  )
})

test('a workflow is found by its id, by its tenant alone', async () => {
  const undo = { rule: 'rule-to-find', since: '2026-11-01T00:00:00Z' }
  const { workflowId } = (await harness.tenant.inside('POST', '/internal/workflows/undo-suspensions', undo)).body
  const find = async ({ inside }: Tenant) =>
    (await inside('GET', `/internal/find?q=${encodeURIComponent(workflowId)}`)).body.objects

  expect(await find(harness.tenant)).toEqual([{ kind: 'workflow', id: workflowId, matched: 'id', name: '' }])
  expect(await find(harness.other)).toEqual([])
})

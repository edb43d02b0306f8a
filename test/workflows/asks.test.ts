/**
 * Routes that call Temporal, on its development server: who may call them, their rows in the audit trail, and their
 * Idempotency-Key. A worker runs the workflows; their activities cannot reach a service.
 */
import { pino } from 'pino'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { startTemporalWorker } from '../../worker/start-temporal-worker.ts'
import { LINES, OPERATIONS } from '../api/every-route/calls.ts'
import { isIdempotent, type Keys, opensToNobodyElse, someKeys } from '../api/every-route/route-checks.ts'
import { useEstates } from '../api/full-tenant.ts'
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

/**
 * Routes that call Temporal, on its development server: who may call them, their rows in the audit trail, and their
 * Idempotency-Key. A worker runs the workflows; their activities cannot reach a service.
 */
import { Connection, WorkflowClient } from '@temporalio/client'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, inject, test } from 'vitest'
import { openWorkflowClient } from '../../adapters/temporal/client.ts'
import { startTemporalWorker } from '../../worker/temporal.ts'
import { LINES, OPERATIONS } from '../api/every-route/calls.ts'
import {
  isIdempotent,
  type Keys,
  leavesItsTrail,
  opensToNobodyElse,
  someKeys,
} from '../api/every-route/route-checks.ts'
import { useEstates } from '../api/full-tenant.ts'
import { freshNamespace } from '../setup/service.ts'
import { workflowBundle } from '../setup/workflow-bundle.ts'

const [address, namespace] = [inject('temporalAddress'), await freshNamespace()]
const workflowClient = openWorkflowClient({ address, namespace })
const connection = await Connection.connect({ address })
const temporal = new WorkflowClient({ connection, namespace })
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
afterAll(async () => {
  await worker.shutdown()
  await workflowClient.close()
  await connection.close()
})

const CALLING = OPERATIONS.filter(({ operationId }) => LINES[operationId]?.asksTemporal)

describe('keys and tenants', () => {
  test.each(CALLING)('admits no other key or tenant: $method $path', async (operation) => {
    await opensToNobodyElse(estates, keys, operation)
  })
})

describe('the audit trail', () => {
  test.each(CALLING.filter(({ method }) => method !== 'GET'))('has a row for $method $path', async (operation) => {
    await leavesItsTrail(estates, operation)
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

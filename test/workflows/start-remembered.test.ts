/** A person starts a suspension, and the API process or the Temporal server is lost in the middle. */
import { createServer } from 'node:net'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openWorkflowClient } from '../../adapters/temporal/client.ts'
import { buildInternal } from '../../api/server.ts'
import { carryOutWorkflowRequests } from '../../service/workflows/carry-out-workflow-requests.ts'
import { aPool, aSim, asking, INTERNAL, provisioned, useHarness } from '../api/harness.ts'
import { soon } from '../setup/soon.ts'
import { useTemporal } from './development-server.ts'

const { namespace, workflowClient } = await useTemporal()
/** Accepts connections and never responds, like a server that hangs. */
const silent = createServer(() => {})
const harness = useHarness({ workflowClient })
beforeAll(() => new Promise<void>((done) => silent.listen(0, '127.0.0.1', done)))
afterAll(() => void silent.close())

/** The same service, with Temporal at another address. */
async function serviceAt(temporal: string) {
  const elsewhere = openWorkflowClient({ address: temporal, namespace })
  const app = await buildInternal({ store: harness.store, ...INTERNAL, workflowClient: elsewhere, dependencies: [] })
  const headers = { authorization: `Bearer ${harness.operatorKey}`, 'x-tenant-id': harness.tenant.id }
  return { ask: asking(app, headers), close: () => Promise.all([app.close(), elsewhere.close()]) }
}

async function aRun() {
  const { id: simId } = await aSim(harness.tenant)
  await provisioned(harness, harness.tenant, simId, { poolId: await aPool(harness.tenant) })
  return { simId, workflowId: `suspend-on-overage:${harness.tenant.id}:${simId}:2026-11` }
}
const START = '/internal/workflows/suspend-on-overage'

const remembered = async (workflowId: string) => {
  const { rows } = await sql`select 1 from workflow_starts where workflow_id = ${workflowId}`.execute(harness.root)
  return rows.length
}
const waiting = async (workflowId: string) => {
  const { rows } = await sql`
    select 1 from workflow_outbox where workflow_id = ${workflowId} and done_at is null`.execute(harness.root)
  return rows.length
}
/** Delivers the outbox as a worker does, an hour later. */
async function anHourLater() {
  harness.now += 3_600_000
  await carryOutWorkflowRequests(harness.store, workflowClient, {
    onRequestFailed: (_, error) => expect.unreachable(String(error)),
    onFailedRun: ({ workflowId }) => expect.unreachable(workflowId),
  })
}

test('starts the workflow though the requesting process dies', async () => {
  const { simId, workflowId } = await aRun()
  const { port } = silent.address() as { port: number }
  const dying = await serviceAt(`127.0.0.1:${port}`)
  const lost = dying.ask('POST', START, { simId })
  await soon(async () => expect(await remembered(workflowId)).toBe(1))

  await anHourLater()
  expect(await workflowClient.describe(workflowId, harness.tenant.id)).toMatchObject({ status: 'running' })
  expect(await waiting(workflowId)).toBe(0)
  await lost
  await dying.close()
})

test('accepts a start once while Temporal is away', async () => {
  const { simId, workflowId } = await aRun()
  const away = await serviceAt('127.0.0.1:1')

  const first = await away.ask('POST', START, { simId })
  expect(first).toMatchObject({ status: 202, body: { workflowId, runId: '', status: 'running' } })
  await anHourLater()
  const { runId } = await workflowClient.describe(workflowId, harness.tenant.id)
  const second = await harness.tenant.inside('POST', START, { simId })
  expect(second).toMatchObject({ status: 200, body: { workflowId, runId, status: 'running' } })
  await away.close()
})

test('leaves no outbox row after Temporal takes a start', async () => {
  const { simId, workflowId } = await aRun()

  const { status, body } = await harness.tenant.inside('POST', START, { simId })
  const { runId } = await workflowClient.describe(workflowId, harness.tenant.id)
  expect({ status, body }).toMatchObject({ status: 202, body: { workflowId, runId } })
  expect([await remembered(workflowId), await waiting(workflowId)]).toEqual([1, 0])
})

test('starts one run for two simultaneous requests', async () => {
  const { simId, workflowId } = await aRun()

  const responses = await Promise.all([1, 2].map(() => harness.tenant.inside('POST', START, { simId })))
  expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 202])
  const { rows } = await sql`select 1 from workflow_outbox where workflow_id = ${workflowId}`.execute(harness.root)
  expect(rows).toHaveLength(1)
})

test('refuses a start for a SIM that a person has passed over', async () => {
  const { simId } = await aRun()
  await harness.tenant.inside('POST', '/internal/enforcement/pass-over', { simIds: [simId] })

  const detail = `A person has ended enforcement on SIM ${simId} for cycle 2026-11.`
  const start = await harness.tenant.inside('POST', START, { simId })
  expect(start).toMatchObject({ status: 409, body: { code: 'sim_state_conflict', detail } })
})

test('forgets what the carrier refused on a person’s overLimit', async () => {
  const { simId, workflowId } = await aRun()
  await harness.tenant.inside('POST', START, { simId })
  await sql`update workflow_starts set refused_at = now() where workflow_id = ${workflowId}`.execute(harness.root)
  const refused = async () => {
    const { rows } = await sql`
      select 1 from workflow_starts where workflow_id = ${workflowId} and refused_at is not null`.execute(harness.root)
    return rows.length
  }
  const signal = (name: string) => harness.tenant.inside('POST', `/internal/workflows/${workflowId}/signals/${name}`)

  expect(await signal('cleared')).toMatchObject({ status: 202 })
  expect(await refused()).toBe(1)
  expect(await signal('overLimit')).toMatchObject({ status: 202 })
  expect(await refused()).toBe(0)
})

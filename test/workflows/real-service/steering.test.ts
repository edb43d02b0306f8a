/** Steering workflows over the internal interface, on the development server. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { provisionAndActivateId } from '../../../domain/temporal/ids.ts'
import { activeSim } from '../../api/full-tenant.ts'
import { aPool, aSim, useHarness } from '../../api/harness.ts'
import { soon } from '../../setup/soon.ts'
import { useTemporal } from '../development-server.ts'
import { startHarness, useModel } from '../harness.ts'
import * as model from '../model/service.ts'

describe('/internal/workflows with a worker', async () => {
  const door = await useTemporal()
  const harness = useHarness({ workflowClient: door.workflowClient })
  let poolId: number
  beforeAll(async () => {
    poolId = await aPool(harness.tenant)
  })
  const workers = useModel(() => startHarness(door.address, door.namespace))
  beforeEach(() => {
    workers.model.tenantId = harness.tenant.id
  })

  const get = async (path: string) => (await harness.tenant.inside('GET', `/internal/workflows${path}`)).body
  const post = (path: string, body?: unknown) => harness.tenant.inside('POST', `/internal/workflows${path}`, body)
  const ended = (id: string) =>
    soon(async () => {
      const run = await get(`/${id}`)
      expect(run.status).not.toBe('running')
      return run
    })
  async function aLine() {
    const { id: simId } = await aSim(harness.tenant)
    workers.model.sims.set(simId, model.aSim({ status: 0 }))
    return { simId, workflowId: provisionAndActivateId(harness.tenant.id, simId) }
  }
  const start = ({ simId }: { simId: number }) => post('/provision-and-activate', { simId, poolId, tag: 'door 4' })

  test('lists by state together with other filters', async () => {
    const [good, bad] = [await aLine(), await aLine()]
    workers.model.failing.set(`activate/${bad.simId}`, 'line_unknown')
    for (const line of [good, bad]) {
      await start(line)
      await ended(line.workflowId)
    }

    const list = async (query: string) => {
      const { data, pagination } = await get(`?type=provision-and-activate&${query}`)
      return { ids: data.map((run: { workflowId: string }) => run.workflowId), total: pagination.totalItems }
    }
    // Lists lag a little.
    await soon(async () => {
      expect(await list('state=compensated')).toEqual({ ids: [bad.workflowId], total: 1 })
      expect(await list('state=activated&status=completed')).toEqual({ ids: [good.workflowId], total: 1 })
    })
    expect((await list(`simId=${bad.simId}`)).total).toBe(1)
    expect(await list(`state=activated&simId=${bad.simId}`)).toEqual({ ids: [], total: 0 })
    expect(await list("state=activated' OR SimherdState='compensated")).toEqual({ ids: [], total: 0 })
  })

  test('retries a failed run with the same input', async () => {
    const line = await aLine()
    workers.model.failing.set('provision', 'line_unknown')
    await start(line)
    const failed = await ended(line.workflowId)
    expect(failed).toMatchObject({ status: 'completed', result: { outcome: 'failed' } })

    workers.model.failing.clear()
    workers.model.processing.add('provision')
    const again = await post(`/${line.workflowId}/retry`)
    expect(again).toMatchObject({ status: 202, body: { workflowId: line.workflowId, status: 'running' } })
    expect(again.body.runId).not.toBe(failed.runId)
    expect(await post(`/${line.workflowId}/retry`)).toMatchObject({
      status: 409,
      body: { code: 'workflow_not_retryable', detail: `workflow ${line.workflowId} runs` },
    })

    workers.model.processing.clear()
    expect(await ended(line.workflowId)).toMatchObject({
      runId: again.body.runId,
      input: failed.input,
      result: { outcome: 'activated' },
    })
    expect(await post(`/${line.workflowId}/retry`)).toMatchObject({
      status: 409,
      body: { code: 'workflow_not_retryable', detail: `workflow ${line.workflowId} has ended well: activated` },
    })
    expect((await harness.tenant.inside('GET', '/internal/audit?subject=workflow')).body.data).toContainEqual(
      expect.objectContaining({
        action: 'retryWorkflow',
        subjectId: line.workflowId,
        after: { retry: true, after: failed.runId },
      }),
    )
  })

  test('retries once under one key without a kept response', async () => {
    const line = await aLine()
    workers.model.failing.set('provision', 'line_unknown')
    await start(line)
    await ended(line.workflowId)
    const headers = { 'idempotency-key': 'again' }
    const retry = () =>
      harness.tenant.inside('POST', `/internal/workflows/${line.workflowId}/retry`, undefined, headers)
    // As if the API were killed after Temporal has started the run.
    const forget = () => sql`delete from idempotency_keys where key = 'again'`.execute(harness.root)

    // The run stays open until the second response has come.
    workers.model.failing.clear()
    workers.model.processing.add('provision')
    const first = await retry()
    await forget()
    expect(await retry()).toMatchObject({ status: 202, body: first.body })

    workers.model.processing.clear()
    await ended(line.workflowId)
    await forget()
    expect(await retry()).toMatchObject({ status: 202, body: { runId: first.body.runId, status: 'completed' } })
    const { data } = (await harness.tenant.inside('GET', '/internal/audit?subject=workflow')).body
    const retries = data.filter(
      ({ action, subjectId }: { action: string; subjectId: string }) =>
        action === 'retryWorkflow' && subjectId === line.workflowId,
    )
    expect(retries).toHaveLength(1)
  })

  test('shows an activity’s failure, attempts and next attempt', async () => {
    const line = await aLine()
    workers.model.outages = 1000
    await start(line)

    const pending = await soon(async () => {
      const body = await get(`/${line.workflowId}/pending`)
      expect(body.activities[0]?.attempt).toBeGreaterThan(1)
      expect(body.activities[0]?.nextAttemptAt).not.toBeNull()
      return body
    })
    expect(pending).toMatchObject({ status: 'running', workers: 1, task: null, children: [] })
    expect(pending.activities).toEqual([
      expect.objectContaining({
        type: 'openBothTickets',
        status: 'waiting',
        lastFailure: { code: 'unavailable', detail: expect.any(String) },
      }),
    ])
    workers.model.outages = 0
    await ended(line.workflowId)
    expect(await get(`/${line.workflowId}/pending`)).toMatchObject({ status: 'completed', activities: [], task: null })
  })

  test('describes runs and activities on Temporal’s page', async () => {
    const line = await aLine()
    workers.model.processing.add('provision')
    await start(line)
    const handle = door.temporal.getHandle(line.workflowId)
    const details = async () =>
      (await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails
    await soon(async () => expect(await details()).toMatch(/^\*\*Waits for ticket /))

    expect(await details()).toMatch(/\n- \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \*\*check\*\*: Unprovisioned$/)
    const described = await handle.describe()
    expect(await described.staticSummary()).toBe(`SIM ${line.simId}, pool ${poolId}`)
    expect(await described.staticDetails()).toMatch(
      /^Takes a SIM from Unprovisioned to Active .*\n\n.*`simherd workflows show /,
    )
    const { events = [] } = await handle.fetchHistory()
    const summaries = (events ?? []).flatMap(({ userMetadata, activityTaskScheduledEventAttributes }) =>
      activityTaskScheduledEventAttributes == null
        ? []
        : [JSON.parse(Buffer.from(userMetadata?.summary?.data ?? '""').toString())],
    )
    expect(summaries).toEqual([`provision SIM ${line.simId} pool ${poolId}`])
    workers.model.processing.clear()
    await ended(line.workflowId)
  })

  test('describes each timer on Temporal’s page', async () => {
    const estate = { ...harness, harness, poolId, word: 'w', firstId: 1, iccidPrefix: '894450017400' }
    const { id: simId } = await activeSim(estate)
    workers.model.sims.set(simId, model.aSim())
    const { body } = await post('/suspend-on-overage', { simId, grace: 'PT2H' })
    const handle = door.temporal.getHandle(body.workflowId)

    const summary = await soon(async () => {
      const { events } = await handle.fetchHistory()
      const timer = events?.find((event) => event.timerStartedEventAttributes != null)
      expect(timer).toBeDefined()
      return JSON.parse(Buffer.from(timer?.userMetadata?.summary?.data ?? '""').toString())
    })
    expect(summary).toMatch(/^the end of the grace period: /)
    await post(`/${body.workflowId}/cancel`)
    await ended(body.workflowId)
  })
})

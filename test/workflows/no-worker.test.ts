/** Signals, cancels, updates and retries without a worker: Temporal accepts them, and no caller waits for one. */
import { Connection } from '@temporalio/client'
import { describe, expect, test, vi } from 'vitest'
import { enforcePoolId, provisionAndActivateId } from '../../domain/temporal/ids.ts'
import type { ProvisionAndActivateInput } from '../../domain/temporal/provision-and-activate.ts'
import { aPool, useHarness } from '../api/harness.ts'
import { useTemporal } from './development-server.ts'
import { signalsIn } from './events.ts'
import { aSuspension } from './model/service.ts'

/** Temporal's calls that wait for a worker. */
const WAITS_FOR_A_WORKER = /\/(QueryWorkflow|UpdateWorkflowExecution|PollWorkflowExecutionUpdate)$/
/** The calls of all connections of this process, by path. */
const called: string[] = []
const connect = Connection.connect.bind(Connection)
vi.spyOn(Connection, 'connect').mockImplementation((options) =>
  connect({
    ...options,
    interceptors: [
      (call, next) => {
        called.push(call.method_definition.path)
        return next(call) as never
      },
    ],
  }),
)

const { workflowClient, temporal } = await useTemporal()

describe('/internal/workflows without a worker', () => {
  const harness = useHarness({ workflowClient })
  const path = (workflowId: string) => `/internal/workflows/${encodeURIComponent(workflowId)}`
  const history = (workflowId: string) => temporal.getHandle(workflowId).fetchHistory()
  const provision = async (simId: number) => {
    const tenantId = harness.tenant.id
    const workflowId = provisionAndActivateId(tenantId, simId)
    const input: ProvisionAndActivateInput = { tenantId, simId }
    await workflowClient.start({ type: 'provision-and-activate', workflowId, input })
    return workflowId
  }

  const get = async (way: string) => (await harness.tenant.inside('GET', way)).body
  /** Posts, and expects a response that asks Temporal, and waits for no worker. */
  async function post(way: string, body?: object) {
    called.length = 0
    const response = await harness.tenant.inside('POST', way, body)
    expect(called.filter((call) => WAITS_FOR_A_WORKER.test(call))).toEqual([])
    return response
  }

  test('accepts a signal at once', async () => {
    const start = aSuspension(1, '2026-11', { tenantId: harness.tenant.id })
    const { workflowId } = await workflowClient.signalWithStart(start)

    expect(await post(`${path(workflowId)}/signals/cleared`)).toMatchObject({ status: 202 })
    expect(signalsIn(await history(workflowId))).toEqual(['overLimit', 'cleared'])
  })

  test('accepts each signal of enforce-pool', async () => {
    const [tenantId, poolId, cycleKey] = [harness.tenant.id, await aPool(harness.tenant), '2026-11']
    const workflowId = enforcePoolId(tenantId, poolId, cycleKey)
    const rule = { rule: 'pool-overage', ruleFile: 'pool/pool-overage.json', target: 'self', grace: 'PT0S' } as const
    const subject = { tenantId, poolId, cycleKey, cycleEndsAt: '2026-12-01T00:00:00Z' }
    const input = { ...subject, ...rule, until: 'renewal' } as const
    await workflowClient.start({ type: 'enforce-pool', workflowId, input })

    for (const name of ['overLimit', 'cleared', 'standDown', 'guardReleased', 'guardDiscarded']) {
      const { status } = await post(`${path(workflowId)}/signals/${name}`)
      expect([name, status]).toEqual([name, 202])
    }
  })

  test('accepts a cancel at once', async () => {
    const workflowId = await provision(2)

    expect(await post(`${path(workflowId)}/cancel`)).toMatchObject({ status: 202 })
    const { events } = await history(workflowId)
    expect(events?.filter((event) => event.workflowExecutionCancelRequestedEventAttributes)).toHaveLength(1)
  })

  test('shows a run and zero workers', async () => {
    const workflowId = await provision(4)

    expect(await get(path(workflowId))).toMatchObject({ status: 'running', state: null, input: { simId: 4 } })
    const task = { attempt: 1, scheduledAt: expect.any(String), lastFailure: null }
    expect(await get(`${path(workflowId)}/pending`)).toMatchObject({ workers: 0, task, activities: [] })
  })

  test('answers updates and retries at once', async () => {
    const workflowId = await provision(3)
    await temporal.getHandle(workflowId).terminate('for the test')
    const failure = { code: 'internal_error', detail: expect.any(String) }
    expect(await get(path(workflowId))).toMatchObject({ status: 'terminated', failure })

    const update = await post(`${path(workflowId)}/updates/resume`, {})
    expect(update).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    const retry = () => post(`${path(workflowId)}/retry`)
    expect(await retry()).toMatchObject({ status: 202, body: { workflowId, status: 'running' } })
    expect(await retry()).toMatchObject({ status: 409, body: { code: 'workflow_not_retryable' } })
  })
})

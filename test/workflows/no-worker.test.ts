/** Signals, cancels, updates and retries without a worker: Temporal accepts them, and no caller waits for one. */
import { Connection } from '@temporalio/client'
import { describe, expect, test, vi } from 'vitest'
import { provisionAndActivateId } from '../../domain/temporal/ids.ts'
import type { ProvisionAndActivateInput } from '../../domain/temporal/provision-and-activate.ts'
import { useHarness } from '../api/harness.ts'
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

/** Expects a response that asks Temporal, and waits for no worker. */
async function atOnce<T>(ask: () => Promise<T>): Promise<T> {
  called.length = 0
  const response = await ask()
  expect(called.filter((path) => WAITS_FOR_A_WORKER.test(path))).toEqual([])
  return response
}

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

  test('accepts a signal at once', async () => {
    const start = aSuspension(1, '2026-11', { tenantId: harness.tenant.id })
    const { workflowId } = await workflowClient.signalWithStart(start)

    expect(await atOnce(() => harness.tenant.inside('POST', `${path(workflowId)}/signals/cleared`))).toMatchObject({
      status: 202,
    })
    expect(signalsIn(await history(workflowId))).toEqual(['overLimit', 'cleared'])
  })

  test('accepts a cancel at once', async () => {
    const workflowId = await provision(2)

    expect(await atOnce(() => harness.tenant.inside('POST', `${path(workflowId)}/cancel`))).toMatchObject({
      status: 202,
    })
    const { events } = await history(workflowId)
    expect(events?.filter((event) => event.workflowExecutionCancelRequestedEventAttributes)).toHaveLength(1)
  })

  test('answers updates and retries at once', async () => {
    const workflowId = await provision(3)
    await temporal.getHandle(workflowId).terminate('for the test')
    expect((await harness.tenant.inside('GET', path(workflowId))).body).toMatchObject({
      status: 'terminated',
      failure: { code: 'internal_error', detail: expect.any(String) },
    })

    const update = () => harness.tenant.inside('POST', `${path(workflowId)}/updates/resume`, {})
    expect(await atOnce(update)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(await atOnce(() => harness.tenant.inside('POST', `${path(workflowId)}/retry`))).toMatchObject({
      status: 202,
      body: { workflowId, status: 'running' },
    })
    expect(await atOnce(() => harness.tenant.inside('POST', `${path(workflowId)}/retry`))).toMatchObject({
      status: 409,
      body: { code: 'workflow_not_retryable' },
    })
  })
})

/** Signals, cancels, updates and retries without a worker: Temporal accepts them, and no caller waits for one. */
import { Connection } from '@temporalio/client'
import { describe, expect, test, vi } from 'vitest'
import { provisionAndActivateId, suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { ProvisionAndActivateInput } from '../../domain/temporal/provision-and-activate.ts'
import { useHarness } from '../api/harness.ts'
import { useTemporal } from './development-server.ts'

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
  const events = async (workflowId: string) => {
    const { events: all } = await temporal.getHandle(workflowId).fetchHistory()
    return all ?? []
  }
  const suspension = async (simId: number, cycleKey = '2026-11') => {
    const tenantId = harness.tenant.id
    const workflowId = suspendOnOverageId(tenantId, simId, cycleKey)
    const cycleEndsAt = new Date(Date.now() + 3_600_000).toISOString()
    const rule = { rule: 'r', ruleFile: 'r.json', grace: 'PT0S', until: 'renewal' } as const
    const input = { tenantId, simId, cycleKey, cycleEndsAt, ...rule }
    const start = { type: 'suspend-on-overage', workflowId, input } as const
    await workflowClient.signalWithStart({ do: 'signalWithStart', ...start, signal: 'overLimit' })
    return workflowId
  }
  const provision = async (simId: number) => {
    const tenantId = harness.tenant.id
    const workflowId = provisionAndActivateId(tenantId, simId)
    const input: ProvisionAndActivateInput = { tenantId, simId }
    await workflowClient.start({ type: 'provision-and-activate', workflowId, input })
    return workflowId
  }

  test('accepts a signal at once', async () => {
    const workflowId = await suspension(1)

    expect(await atOnce(() => harness.tenant.inside('POST', `${path(workflowId)}/signals/cleared`))).toMatchObject({
      status: 202,
    })
    const signals = (await events(workflowId)).map(
      (event) => event.workflowExecutionSignaledEventAttributes?.signalName,
    )
    expect(signals.filter((name) => name != null)).toEqual(['overLimit', 'cleared'])
  })

  test('accepts a cancel at once', async () => {
    const workflowId = await provision(2)

    expect(await atOnce(() => harness.tenant.inside('POST', `${path(workflowId)}/cancel`))).toMatchObject({
      status: 202,
    })
    const cancels = (await events(workflowId)).filter(
      (event) => event.workflowExecutionCancelRequestedEventAttributes != null,
    )
    expect(cancels).toHaveLength(1)
  })

  test('answers updates and retries at once', async () => {
    const workflowId = await provision(3)
    await temporal.getHandle(workflowId).terminate('for the test')

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

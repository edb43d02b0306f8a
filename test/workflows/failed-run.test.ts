/** A failed run of enforcement. No other run starts in that cycle, so each later attempt to start one is reported. */
import proto from '@temporalio/proto'
import { expect, test } from 'vitest'
import type { EnforcePoolInput } from '../../domain/temporal/enforce-pool.ts'
import { enforcePoolId } from '../../domain/temporal/ids.ts'
import { TASK_QUEUE } from '../../domain/temporal/start.ts'
import { carryOutWorkflowRequests } from '../../service/workflows/carry-out-workflow-requests.ts'
import type { FailedRun } from '../../service/workflows/failed-run.ts'
import { requestWorkflows } from '../../store/outbox.ts'
import { inTenant } from '../../store/tenancy.ts'
import { aPool, aSim, useHarness } from '../api/harness.ts'
import { useTemporal } from './development-server.ts'
import { aSuspension } from './model/service.ts'

const { namespace, workflowClient, connection, temporal } = await useTemporal()
const harness = useHarness({ workflowClient })

const CYCLE = { cycleKey: '2026-11', cycleEndsAt: '2026-12-01T00:00:00.000Z' }
const RULE = { rule: 'pool-overage', ruleFile: 'pool/pool-overage.json', grace: 'PT0S', until: 'renewal' } as const

async function aPoolRun() {
  const poolId = await aPool(harness.tenant)
  const tenantId = harness.tenant.id
  const input: EnforcePoolInput = { tenantId, poolId, ...CYCLE, ...RULE, target: 'largestExcess' }
  const workflowId = enforcePoolId(tenantId, poolId, CYCLE.cycleKey)
  return { poolId, do: 'signalWithStart', type: 'enforce-pool', workflowId, input } as const
}
type Request = Omit<Awaited<ReturnType<typeof aPoolRun>>, 'poolId'>
type SignalRequest = { readonly do: 'signal'; readonly workflowId: string }
/** Requests the workflow again, as the next evaluation does, and delivers the request. @returns the reported failed runs */
async function requestAgain(request: Request | SignalRequest, signal: 'overLimit' | 'cleared') {
  const met: FailedRun[] = []
  await inTenant(harness.store, harness.tenant.id, (tx) => requestWorkflows(tx, [{ ...request, signal }]))
  await carryOutWorkflowRequests(harness.store, workflowClient, {
    onRequestFailed: (_id, error) => expect.unreachable(String(error)),
    onFailedRun: (run) => met.push(run),
  })
  return met
}
/** Completes the next workflow task with a command, as a worker does. */
async function endBy(command: object): Promise<void> {
  const { workflowService } = connection
  // A poll waits for a task: it needs a deadline.
  const { taskToken } = await connection.withDeadline(Date.now() + 60_000, () =>
    workflowService.pollWorkflowTaskQueue({ namespace, taskQueue: { name: TASK_QUEUE } }),
  )
  await workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands: [command] })
}
const { CommandType } = proto.temporal.api.enums.v1
const FAIL = {
  commandType: CommandType.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION,
  failWorkflowExecutionCommandAttributes: { failure: { message: 'as the test wants it' } },
}
const CANCEL = {
  commandType: CommandType.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION,
  cancelWorkflowExecutionCommandAttributes: {},
}
/** The newest entries of the log. */
const entries = async (count: number) =>
  (await harness.tenant.ask('GET', `/api/watchdog/logs?pageSize=${count}`)).body.data

test('logs a failed run of enforce-pool once', async () => {
  const request = await aPoolRun()
  const { poolId, workflowId } = request
  expect(await requestAgain(request, 'overLimit')).toEqual([])
  await endBy(FAIL)

  const met = expect.objectContaining({ workflowId, type: 'enforce-pool', status: 'failed' })
  expect(await requestAgain(request, 'overLimit')).toEqual([met])
  // A run that was started before gets a signal only.
  const { poolId: _, type: __, input: ___, ...rest } = request
  expect(await requestAgain({ ...rest, do: 'signal' }, 'overLimit')).toEqual([met])
  expect(await entries(2)).toMatchObject([
    {
      level: 2,
      poolId,
      message: expect.stringMatching(/^The limit of pool .* is not enforced in cycle 2026-11: .*failed/),
    },
  ])
  expect(await requestAgain(request, 'cleared')).toEqual([])
})

test('reports terminated runs, but not cancelled ones', async () => {
  const stopped = await aPoolRun()
  await requestAgain(stopped, 'overLimit')
  await temporal.getHandle(stopped.workflowId).terminate('for the test')
  expect(await requestAgain(stopped, 'overLimit')).toMatchObject([{ status: 'terminated' }])

  const { id: simId } = await aSim(harness.tenant)
  const tenantId = harness.tenant.id
  const suspension = aSuspension(simId, CYCLE.cycleKey, { tenantId, ...RULE })
  const { workflowId } = suspension
  await workflowClient.signalWithStart(suspension)
  await temporal.getHandle(workflowId).terminate('for the test')
  await inTenant(harness.store, tenantId, (tx) => requestWorkflows(tx, [suspension]))
  await carryOutWorkflowRequests(harness.store, workflowClient, {
    onRequestFailed: (_, error) => expect.unreachable(String(error)),
    onFailedRun: (met) => expect(met).toMatchObject({ workflowId, status: 'terminated' }),
  })
  expect(await entries(2)).toMatchObject([
    { level: 2, simId },
    { level: 2, poolId: stopped.poolId },
  ])

  const cancelled = await aPoolRun()
  await requestAgain(cancelled, 'overLimit')
  await workflowClient.cancel(cancelled.workflowId)
  await endBy(CANCEL)
  expect(await requestAgain(cancelled, 'overLimit')).toEqual([])
})

/** Tests on the time-skipping server must not meet its bug, and must be told where it stands still all the same. */
import proto from '@temporalio/proto'
import { expect, onTestFinished, test } from 'vitest'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { until } from '../../setup/soon.ts'
import { type SkippingServer, startSkippingServer } from './skipping-server.ts'
import { STANDS_STILL } from './standstill.ts'

const { COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION } =
  proto.temporal.api.enums.v1.CommandType
const taskQueue = { name: 'by-hand' }
const SIX_HOURS_MS = 6 * 3_600_000
/** So often that a standstill is found out within seconds. */
const OFTEN_MS = 300

const standsStill = (open: string) => new RegExp(`^${STANDS_STILL}: .* open: ${open}$`)

/** Acts as the worker, so that a query can arrive during the workflow task in which a run continues as new. */
async function meetTheBug({ env }: SkippingServer): Promise<void> {
  const namespace = env.namespace ?? 'default'
  const server = env.connection.workflowService
  const nextTask = async () => (await server.pollWorkflowTaskQueue({ namespace, taskQueue })).taskToken
  const complete = (taskToken: Uint8Array, command: proto.temporal.api.command.v1.ICommand) =>
    server.respondWorkflowTaskCompleted({ namespace, taskToken, commands: [command] })
  await env.client.workflow.start('by-hand', { taskQueue: taskQueue.name, workflowId: 'queried' })
  const first = await nextTask()
  const state = env.client.withDeadline(Date.now() + 500, () => env.client.workflow.getHandle('queried').query('state'))
  await expect(state).rejects.toThrow()
  const ended = complete(first, {
    commandType: COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
    continueAsNewWorkflowExecutionCommandAttributes: { workflowType: { name: 'by-hand' }, taskQueue },
  })
  // The server's bug: it reports a failure, but has started the next run.
  await expect(ended).rejects.toThrow('workflow execution already completed')
  await complete(await nextTask(), {
    commandType: COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
    completeWorkflowExecutionCommandAttributes: {},
  })
}

describeInSkippedTime('startSkippingServer', (path) => {
  async function aServer(options: Parameters<typeof startSkippingServer>[1]): Promise<SkippingServer> {
    const server = await startSkippingServer(path, options)
    onTestFinished(server.stop)
    return server
  }

  test('leaps again after a query during continue-as-new', async () => {
    const server = await aServer({})
    await meetTheBug(server)

    await server.leap(SIX_HOURS_MS)
  })

  test('says that time stands still, with what is open', async () => {
    const server = await aServer({ standsStill: true, lookEveryMs: OFTEN_MS })
    await meetTheBug(server)

    await expect(server.leap(SIX_HOURS_MS)).rejects.toThrow(standsStill('queried workflow task started at event 3'))
  })

  test('ends all waits once no task is handed out', async () => {
    const { env } = await aServer({ lookEveryMs: OFTEN_MS })
    await env.client.workflow.start('by-hand', { taskQueue: taskQueue.name, workflowId: 'left' })

    await expect(until('what never comes', () => false)).rejects.toThrow(
      standsStill('left workflow task scheduled at event 2'),
    )
  })
})

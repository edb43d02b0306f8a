/** Tests on the time-skipping server must not meet its bug. */
import { setTimeout as sleep } from 'node:timers/promises'
import { temporal } from '@temporalio/proto'
import { describe, expect, test } from 'vitest'
import { requireSkippingServer } from '../../setup/requirements.ts'
import { startSkippingServer } from './skipping-server.ts'

const path = requireSkippingServer('time that stands still')
const { COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION } =
  temporal.api.enums.v1.CommandType
const taskQueue = { name: 'by-hand' }

describe.skipIf(path === undefined)('startSkippingServer', () => {
  test('leaps again after a query during continue-as-new', async () => {
    const { env, leap, stop } = await startSkippingServer(path ?? '')
    try {
      const namespace = env.namespace ?? 'default'
      const server = env.connection.workflowService
      // Acts as the worker, so that a query can arrive during a workflow task.
      const nextTask = async () => (await server.pollWorkflowTaskQueue({ namespace, taskQueue })).taskToken
      const complete = (taskToken: Uint8Array, command: temporal.api.command.v1.ICommand) =>
        server.respondWorkflowTaskCompleted({ namespace, taskToken, commands: [command] })
      await env.client.workflow.start('by-hand', { taskQueue: taskQueue.name, workflowId: 'queried' })
      const first = await nextTask()
      const state = env.client.withDeadline(Date.now() + 500, () =>
        env.client.workflow.getHandle('queried').query('state'),
      )
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

      const leapt = leap(6 * 3_600_000).then(() => 'leapt')
      expect(await Promise.race([leapt, sleep(60_000, 'stands still')])).toBe('leapt')
    } finally {
      await stop()
    }
  })
})

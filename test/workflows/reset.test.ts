/** Runs that an operator resets in Temporal days later: their steps run again, but have no second effect. */
import { describe, expect, test } from 'vitest'
import { provisionAndActivateId } from '../../domain/temporal/ids.ts'
import { soon } from '../setup/soon.ts'
import { useServerHarness } from './development-server.ts'
import { aSim, aSuspension, TENANT } from './model/service.ts'

describe('a run reset days later', () => {
  const harness = useServerHarness()

  /** Resets a run to before its first activity of this name, after the service has forgotten the idempotency keys. */
  async function resetBefore(workflowId: string, activity: string): Promise<void> {
    const { events } = await harness.temporal.getHandle(workflowId).fetchHistory()
    const scheduled = events?.find(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === activity,
    )
    harness.model.forgetKeys()
    await harness.connection.workflowService.resetWorkflowExecution({
      namespace: harness.namespace,
      workflowExecution: { workflowId },
      workflowTaskFinishEventId: scheduled?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId ?? null,
      requestId: crypto.randomUUID(),
      reason: 'for the test',
    })
  }
  const result = (workflowId: string) => harness.temporal.getHandle(workflowId).result()

  test('opens no ticket again and keeps a newer tag', async () => {
    harness.model.sims.set(1, aSim({ status: 0, poolId: null, tariffId: null }))
    const workflowId = provisionAndActivateId(TENANT, 1)
    const input = { tenantId: TENANT, simId: 1, poolId: 7, tariffId: 3, tag: 'meter' }
    await harness.workflowClient.start({ type: 'provision-and-activate', workflowId, input })
    const first = await result(workflowId)
    expect(harness.model.sims.get(1)).toMatchObject({ status: 1, tag: 'meter' })
    harness.model.sims.set(1, aSim({ poolId: 7, tariffId: 3, tag: 'of a person' }))

    await resetBefore(workflowId, 'openNextTicket')
    expect(await result(workflowId)).toEqual(first)
    expect(harness.model.ticketsOf(1)).toEqual(['provision:2', 'activate:2'])
    expect(harness.model.sims.get(1)?.tag).toBe('of a person')
  })

  /** A suspension with a Pending ticket. */
  async function pendingSuspension(simId: number) {
    harness.model.sims.set(simId, aSim())
    harness.model.pending.add('suspend')
    const start = aSuspension(simId, '2026-11')
    await harness.workflowClient.signalWithStart(start)
    await soon(() => expect(harness.model.ticketsOf(simId)).toEqual(['suspend:0']))
    return start.workflowId
  }
  const lastStep = async (workflowId: string) => {
    const { steps, phase } = (await harness.workflowClient.describe(workflowId, TENANT)).state as {
      steps: { step: string; outcome: string }[]
      phase: string
    }
    return { phase, ...steps.at(-1) }
  }

  test('knows that it cancelled its own ticket', async () => {
    const workflowId = await pendingSuspension(2)
    await harness.workflowClient.signal(workflowId, 'cleared')
    const idle = { phase: 'idle', step: 'suspend/1', outcome: 'its suspend ticket was taken back' }
    await soon(async () => expect(await lastStep(workflowId)).toMatchObject(idle))
    const { runId } = await harness.temporal.getHandle(workflowId).describe()

    await resetBefore(workflowId, 'cancelTicket')
    await soon(async () => {
      expect((await harness.temporal.getHandle(workflowId).describe()).runId).not.toBe(runId)
      expect(await lastStep(workflowId)).toMatchObject(idle)
    })
    expect(harness.model.ticketsOf(2)).toEqual(['suspend:4'])
    await harness.workflowClient.cancel(workflowId)
  })

  test('cancels its ticket for a SIM within its limit', async () => {
    const workflowId = await pendingSuspension(3)
    harness.model.overLimit = false

    await resetBefore(workflowId, 'openSuspension')
    const refused = { phase: 'idle', step: 'suspend/1', outcome: 'not suspended: not over' }
    await soon(async () => expect(await lastStep(workflowId)).toMatchObject(refused))
    expect(harness.model.ticketsOf(3)).toEqual(['suspend:4'])
    await harness.workflowClient.cancel(workflowId)
  })

  test('waits for its ticket though the guard holds others', async () => {
    const workflowId = await pendingSuspension(4)
    harness.model.permits = 'held'

    await resetBefore(workflowId, 'openSuspension')
    await soon(() => expect(harness.model.calls('/permits')).toBe(2))
    harness.model.pending.clear()
    await soon(async () => expect((await lastStep(workflowId)).phase).toBe('suspended'))
    expect(harness.model.ticketsOf(4)).toEqual(['suspend:2'])
    await harness.workflowClient.cancel(workflowId)
  })
})

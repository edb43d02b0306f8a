/** Month ends on the development server: a cancel while a run continues as new, and a retry just before the close. */
import { describe, expect, test } from 'vitest'
import { monthEndId } from '../../../domain/temporal/ids.ts'
import type { MonthEndInput } from '../../../domain/temporal/month-end-reprovision.ts'
import { soon } from '../../setup/soon.ts'
import { useServerHarness } from '../development-server.ts'
import { aSim, TENANT } from '../model/service.ts'

describe('month-end-reprovision on a Temporal server', () => {
  const harness = useServerHarness()

  /** Starts the month end of a cycle that has just ended. @returns its workflow */
  const monthEnd = async (
    cycleKey: string,
    options: Pick<MonthEndInput, 'closeAfter' | 'pageSize' | 'parallel' | 'perRun'>,
  ) => {
    const cycleEndsAt = new Date().toISOString()
    harness.model.cycles = [{ key: cycleKey, endsAt: cycleEndsAt, closedAt: null }]
    const workflowId = monthEndId(TENANT, cycleKey)
    const input = { tenantId: TENANT, cycleKey, cycleEndsAt, ...options }
    await harness.workflowClient.start({ type: 'month-end-reprovision', workflowId, input })
    return workflowId
  }
  const queueMoves = (simIds: readonly number[]) => {
    for (const id of simIds)
      harness.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
  }

  test('ends when cancelled as it continues as new', async () => {
    const sims = [1, 2, 3, 4, 5, 6]
    queueMoves(sims)
    const [requested, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    harness.model.before = async (line) => {
      if (!line.endsWith('/changes/apply')) return
      requested.resolve()
      await letGo.promise
    }
    // A page has four batches of one SIM each. The first fills the run.
    const options = { closeAfter: 'PT0S', pageSize: 1, parallel: 1, perRun: 1 }
    const workflowId = await monthEnd('cancelled', options)
    await requested.promise
    await harness.workflowClient.cancel(workflowId)
    letGo.resolve()

    expect(await harness.ended(workflowId)).toMatchObject({ status: 'cancelled', result: { move: { total: 6 } } })
    expect(harness.model.tickets.map(({ simId }) => simId)).toEqual([1])
    expect(harness.model.closed).toEqual([])
    expect(await harness.ended(await monthEnd('cancelled', options))).toMatchObject({
      status: 'completed',
      result: { moved: 6, changesFailed: 0 },
    })
    expect(harness.model.tickets.map(({ simId }) => simId)).toEqual(sims)
  })

  test('waits for a change retried shortly before the close', async () => {
    queueMoves([1])
    harness.model.failing.set('provision', 'carrier_rejected')
    const workflowId = await monthEnd('retried', { closeAfter: 'PT15S', pageSize: 1, parallel: 1, perRun: 100 })
    const look = () => harness.workflowClient.describe(workflowId, TENANT)
    await soon(async () => expect((await look()).state).toMatchObject({ step: 'close' }))
    harness.model.failing.clear()
    harness.model.pending.add('provision')
    const retried = await harness.workflowClient.update(workflowId, 'retryFailedChanges', {}, 'retry')
    expect(retried).toEqual({ opened: 1, refused: 0 })

    await soon(async () =>
      expect(await look()).toMatchObject({
        status: 'running',
        state: { step: 'settle', waitsFor: { what: '1 change' } },
      }),
    )
    expect(harness.model.closed).toEqual([])
    harness.model.pending.clear()
    expect(await harness.ended(workflowId)).toMatchObject({
      status: 'completed',
      result: { moved: 1, changesFailed: 0 },
    })
    expect(harness.model.closed).toEqual([{ key: 'retried' }])
  })
})

/** Month ends on the development server: a cancel while a run continues as new, and a retry just before the close. */
import { beforeEach, describe, expect, test } from 'vitest'
import { monthEndId } from '../../../domain/temporal/ids.ts'
import type { MonthEndInput } from '../../../domain/temporal/month-end-reprovision.ts'
import { useCommonHarness } from '../../setup/common-harness.ts'
import { soon } from '../../setup/soon.ts'
import { startServerHarness } from '../development-server.ts'
import { clear } from '../harness.ts'
import { aSim, TENANT } from '../model/service.ts'

describe('month-end-reprovision on a Temporal server', () => {
  let harness: Awaited<ReturnType<typeof startServerHarness>>
  useCommonHarness(startServerHarness, (started) => {
    harness = started
  })
  beforeEach(() => clear(harness.model))

  /** Starts the month end of a cycle that has just ended. @returns describes its workflow */
  const monthEnd = async (
    cycleKey: string,
    options: Pick<MonthEndInput, 'closeAfter' | 'pageSize' | 'parallel' | 'perRun'>,
  ) => {
    const cycleEndsAt = new Date().toISOString()
    harness.model.cycles = [{ key: cycleKey, endsAt: cycleEndsAt, closedAt: null }]
    const workflowId = monthEndId(TENANT, cycleKey)
    const input = { tenantId: TENANT, cycleKey, cycleEndsAt, ...options }
    await harness.workflowClient.start({ type: 'month-end-reprovision', workflowId, input })
    return () => harness.workflowClient.describe(workflowId, TENANT)
  }
  const queueMoves = (simIds: readonly number[]) => {
    for (const id of simIds)
      harness.model.sims.set(id, aSim({ change: { poolId: 9, tariffId: null, unassign: false } }))
  }
  const ended = (look: () => ReturnType<typeof harness.workflowClient.describe>) =>
    soon(async () => {
      const run = await look()
      expect(run.status).not.toBe('running')
      return run
    })

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
    const look = await monthEnd('cancelled', options)
    await requested.promise
    await harness.workflowClient.cancel(monthEndId(TENANT, 'cancelled'))
    letGo.resolve()

    expect(await ended(look)).toMatchObject({ status: 'cancelled', result: { move: { total: 6 } } })
    expect(harness.model.tickets.map(({ simId }) => simId)).toEqual([1])
    expect(harness.model.closed).toEqual([])
    expect(await ended(await monthEnd('cancelled', options))).toMatchObject({
      status: 'completed',
      result: { moved: 6, changesFailed: 0 },
    })
    expect(harness.model.tickets.map(({ simId }) => simId)).toEqual(sims)
  })

  test('waits for a change retried shortly before the close', async () => {
    queueMoves([1])
    harness.model.failing.set('provision', 'carrier_rejected')
    const look = await monthEnd('retried', { closeAfter: 'PT15S', pageSize: 1, parallel: 1, perRun: 100 })
    await soon(async () => expect((await look()).state).toMatchObject({ step: 'close' }))
    harness.model.failing.clear()
    harness.model.pending.add('provision')
    const retried = await harness.workflowClient.update(
      monthEndId(TENANT, 'retried'),
      'retryFailedChanges',
      {},
      'retry',
    )
    expect(retried).toEqual({ opened: 1, refused: 0 })

    await soon(async () =>
      expect(await look()).toMatchObject({
        status: 'running',
        state: { step: 'settle', waitsFor: { what: '1 change(s)' } },
      }),
    )
    expect(harness.model.closed).toEqual([])
    harness.model.pending.clear()
    expect(await ended(look)).toMatchObject({ status: 'completed', result: { moved: 1, changesFailed: 0 } })
    expect(harness.model.closed).toEqual([{ key: 'retried' }])
  })
})

import { beforeEach, expect, test } from 'vitest'
import { provisionAndActivateId } from '../../../domain/temporal/ids.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { useCustomer } from '../real-service/customer.ts'

describeInSkippedTime('provision-in-bulk', (path) => {
  const { harness, customer } = useCustomer(path)
  let poolId = 0
  beforeEach(async () => {
    poolId = await customer.plainPool()
  })

  /** Starts a batch of SIMs. */
  const start = async (sims: readonly { readonly id: number }[], more: object = {}) => {
    const body = { sims: sims.map(({ id }) => ({ simId: id })), defaults: { poolId }, ...more }
    const started = await customer.inside('POST', '/internal/workflows/provision-in-bulk', body)
    return started as { readonly id: string; readonly workflowId: string }
  }
  const batchOf = (id: string) => customer.inside('GET', `/internal/provision-batches/${id}`)
  const simsOf = async (id: string, query = '') =>
    (await customer.inside('GET', `/internal/provision-batches/${id}/sims${query}`)).sims
  const untilCounts = (id: string, wanted: object) =>
    soon(async () => expect((await batchOf(id)).counts).toMatchObject(wanted))
  // Must be the first test: once a run ends or continues as new during an activity, this server skips no more time.
  test('loses nothing while the service is away', async () => {
    const sims = await customer.unprovisioned(6)
    const { id, workflowId } = await start(sims, { parallel: 2 })
    await soon(async () => expect(await customer.tickets(sims[1]?.id ?? 0)).not.toEqual([]))
    harness.line.fateOf = () => 'away'
    await harness.skipTo((await harness.now()) + 3_600_000)
    harness.line.fateOf = () => 'through'
    // Not a multiple of a minute: the leap would end just as a run's timer fires. This server then seems to lose the
    // run if a signal has just come ("invalid history builder state for action").
    await harness.skipTo((await harness.now()) + 90_000)

    // Each run that met the outage tries again within a minute, and two go on at a time.
    expect((await customer.ended(workflowId, 200)).result).toMatchObject({ outcome: 'done', counts: { activated: 6 } })
    expect((await batchOf(id)).counts).toMatchObject({ activated: 6 })
    for (const sim of sims) expect(await harness.carrier.effects(sim.iccid)).toEqual(['provision', 'activate'])
  })

  test('takes each SIM to Active by its own run', async () => {
    const sims = await customer.unprovisioned(5)
    const { id, workflowId } = await start(sims, { parallel: 2 })

    const { status, result, state, input } = await customer.ended(workflowId)
    expect(status).toBe('completed')
    const counts = { waiting: 0, running: 0, activated: 5, alreadyActive: 0, compensated: 0, cancelled: 0, failed: 0 }
    expect(result).toEqual({ outcome: 'done', total: 5, counts, failures: [] })
    expect(state).toMatchObject({ total: 5, counts, left: 0, waitsFor: null, estimatedEndAt: null })
    expect(state.steps.at(-1)).toMatchObject({ step: 'end', outcome: '5 of 5 SIMs active' })
    expect(input).toMatchObject({ batchId: id, parallel: 2 })
    expect(await batchOf(id)).toMatchObject({
      total: 5,
      counts: { ...counts, refused: 0 },
      endedAt: expect.any(String),
    })
    for (const [index, sim] of sims.entries()) {
      const run = await customer.workflow(provisionAndActivateId(customer.tenantId, sim.id))
      expect(run).toMatchObject({ result: { outcome: 'activated' }, input: { batchId: id, poolId, simId: sim.id } })
      const { provisionTicket, activateTicket } = run.result
      expect((await simsOf(id))[index]).toMatchObject({ index, simId: sim.id, provisionTicket, activateTicket })
      expect(await customer.sim(sim.id)).toMatchObject({ status: 1, poolId })
      expect(await harness.carrier.effects(sim.iccid)).toEqual(['provision', 'activate'])
    }
  })

  test('finishes all others while a SIM is stuck', async () => {
    const sims = await customer.unprovisioned(8)
    const letGo = harness.carrier.hangOn(({ iccid }) => iccid === sims[1]?.iccid)
    let [under, most] = [0, 0]
    const { before } = harness.carrier.knobs
    harness.carrier.knobs.before = async (request) => {
      under += 1
      most = Math.max(most, under)
      await before(request)
      under -= 1
    }
    const body = { sims: sims.map((sim) => ({ iccid: sim.iccid })), defaults: { poolId }, parallel: 2 }
    const { id, workflowId } = await customer.inside('POST', '/internal/workflows/provision-in-bulk', body)

    await untilCounts(id, { activated: 7, running: 1, waiting: 0 })
    await soon(async () =>
      expect((await customer.workflow(workflowId)).state).toMatchObject({
        counts: { activated: 7, running: 1 },
        left: 1,
        waitsFor: { what: '1 SIM under way' },
      }),
    )
    letGo()

    expect(await customer.ended(workflowId)).toMatchObject({ result: { counts: { activated: 8 } } })
    expect(most).toBeLessThanOrEqual(2)
  })

  test('reports step, ticket and reason of each failure', async () => {
    const sims = await customer.unprovisioned(4)
    harness.carrier.knobs.before = async ({ operation, iccid }) => {
      if (operation === 'activate' && iccid === sims[2]?.iccid) await harness.carrier.lose(iccid ?? '')
    }
    const { id, workflowId } = await start(sims)

    const { status, result, state } = await customer.ended(workflowId)
    expect(status).toBe('completed')
    expect(result).toMatchObject({ outcome: 'doneWithFailures', counts: { activated: 3, compensated: 1 } })
    const [row] = await simsOf(id, '?outcome=compensated')
    expect(row).toMatchObject({ index: 2, step: 'activate', code: 'line_unknown', unassignTicket: expect.any(String) })
    const { activateTicket: ticketId, step, code, detail } = row
    expect(result.failures).toEqual([
      { index: 2, simId: sims[2]?.id, outcome: 'compensated', step, ticketId, code, detail },
    ])
    expect(state.steps).toContainEqual(
      expect.objectContaining({ step: `SIM ${sims[2]?.id}`, ticketId, outcome: expect.stringContaining(code) }),
    )
    expect(await customer.sim(sims[2]?.id ?? 0)).toMatchObject({ status: 0, poolId: null })
  })

  test('cancels and undoes SIMs under way when cancelled', async () => {
    const sims = await customer.unprovisioned(6)
    const letGo = harness.carrier.hangOn(() => true)
    const { id, workflowId } = await start(sims, { parallel: 2 })
    await untilCounts(id, { running: 2, waiting: 4 })
    await soon(async () =>
      expect(await customer.tickets(sims[0]?.id ?? 0)).toEqual(['provision/processing', 'activate/pending']),
    )

    await customer.inside('POST', `/internal/workflows/${workflowId}/cancel`)
    for (const { id: simId } of sims.slice(0, 2)) {
      const child = provisionAndActivateId(customer.tenantId, simId)
      await soon(async () => expect(await harness.isAskedToCancel(child)).toBe(true))
      const taken = ['provision/processing', 'activate/cancelled']
      await soon(async () => expect(await customer.tickets(simId)).toEqual(taken))
    }
    letGo()

    const { status, result } = await customer.ended(workflowId)
    expect(status).toBe('cancelled')
    expect(result).toMatchObject({ outcome: 'cancelled', total: 6, counts: { cancelled: 6, running: 0, waiting: 0 } })
    expect(await batchOf(id)).toMatchObject({ counts: { cancelled: 6 }, endedAt: expect.any(String) })
    for (const [index, sim] of sims.entries()) {
      expect(await customer.sim(sim.id)).toMatchObject({ status: 0, poolId: null })
      expect(await harness.carrier.effects(sim.iccid)).toEqual(index < 2 ? ['provision', 'unprovision'] : [])
    }
    expect((await simsOf(id))[0]).toMatchObject({
      outcome: 'cancelled',
      provisionTicket: expect.any(String),
      unassignTicket: expect.any(String),
    })
  })

  test('waits for a run that others have begun', async () => {
    const sims = await customer.unprovisioned(3)
    const [there = { id: 0 }, elsewhere = { id: 0 }] = sims
    const letGo = harness.carrier.hangOn(({ iccid }) => iccid === sims[0]?.iccid || iccid === sims[1]?.iccid)
    await customer.start(there.id, poolId)
    await customer.start(elsewhere.id, await customer.plainPool('other'))
    const { id, workflowId } = await start(sims)
    await untilCounts(id, { activated: 1, running: 2 })
    letGo()

    const { result } = await customer.ended(workflowId)
    expect(result.counts).toMatchObject({ activated: 1, alreadyActive: 1, failed: 1 })
    expect(result.failures).toMatchObject([{ simId: elsewhere.id, step: 'check', code: 'sim_already_assigned' }])
    expect(await customer.tickets(there.id)).toEqual(['provision/complete', 'activate/complete'])
  })

  test('begins no SIM twice when retried after termination', async () => {
    const sims = await customer.unprovisioned(4)
    const letGo = harness.carrier.hangOn(({ iccid }) => iccid === sims[1]?.iccid)
    const { id, workflowId } = await start(sims, { parallel: 2 })
    await untilCounts(id, { activated: 3, running: 1 })
    await harness.runOf(workflowId).terminate('somebody pulls the plug')
    await customer.inside('POST', `/internal/workflows/${workflowId}/retry`)
    await soon(async () =>
      expect((await customer.workflow(workflowId)).state).toMatchObject({ counts: { running: 1 } }),
    )
    letGo()

    // The SIM's first run finished. The run that the batch then started found the SIM Active.
    expect(await customer.ended(workflowId)).toMatchObject({
      result: { outcome: 'done', total: 4, counts: { activated: 3, alreadyActive: 1 } },
    })
    expect((await batchOf(id)).counts).toMatchObject({ activated: 3, alreadyActive: 1, running: 0 })
    for (const sim of sims) expect(await customer.tickets(sim.id)).toEqual(['provision/complete', 'activate/complete'])
  })
})

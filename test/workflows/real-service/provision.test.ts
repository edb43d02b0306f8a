/** provision-and-activate on the real service: refusals, cancels in each state, outages, expired idempotency keys. */
import { beforeEach, describe, expect, test } from 'vitest'
import { CarrierError } from '../../../adapters/carrier/network.ts'
import { provisionAndActivateId } from '../../../domain/temporal/ids.ts'
import { describeInSkippedTime } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import { activitiesIn, signalsIn } from '../events.ts'
import type { Fate } from '../model/server-clock.ts'
import { useCustomer } from './customer.ts'

const [MINUTE, HOUR] = [60_000, 3_600_000]
const START = '/internal/workflows/provision-and-activate'
const BOTH = ['provision/complete', 'activate/complete']

describeInSkippedTime('provision-and-activate on the real service', (path) => {
  const { harness, customer } = useCustomer(path)
  let poolId = 0
  beforeEach(async () => {
    poolId = await customer.plainPool()
  })

  const aSim = async () => {
    const [sim = { id: 0, iccid: '' }] = await customer.unprovisioned(1)
    return { ...sim, workflowId: provisionAndActivateId(customer.tenantId, sim.id) }
  }
  type OneSim = Awaited<ReturnType<typeof aSim>>
  const tickets = (sim: OneSim) => customer.tickets(sim.id)
  const untilTickets = (sim: OneSim, wanted: readonly string[]) =>
    soon(async () => expect(await tickets(sim)).toEqual(wanted))
  const ended = (sim: OneSim) => customer.ended(sim.workflowId)
  const cancel = (sim: OneSim) => customer.inside('POST', `/internal/workflows/${sim.workflowId}/cancel`)
  const effects = (sim: OneSim) => harness.carrier.effects(sim.iccid)
  /** Waits until the workflow shows that it waits for this. */
  const untilWaits = (sim: OneSim, what: RegExp) =>
    soon(async () => expect((await customer.workflow(sim.workflowId)).state?.waitsFor?.what).toMatch(what))
  describe('the check', () => {
    test('refuses a pool that is gone, and opens no ticket', async () => {
      const sim = await aSim()
      const gone = await customer.plainPool('gone')
      await customer.api('DELETE', `/api/pools/${gone}`)

      expect(await customer.tryInside('POST', START, { iccid: sim.iccid, poolId: gone })).toMatchObject({
        status: 404,
        body: { code: 'pool_not_found' },
      })
      expect((await customer.tryInside('GET', `/internal/workflows/${sim.workflowId}`)).status).toBe(404)
      expect(await tickets(sim)).toEqual([])
    })

    test('refuses an assigned or suspended SIM', async () => {
      const [simId = 0] = await customer.active(1, poolId)
      const other = await customer.plainPool('other')

      const start = (body: object) => customer.tryInside('POST', START, { simId, ...body })
      expect(await start({ poolId: other })).toMatchObject({ status: 409, body: { code: 'sim_already_assigned' } })
      expect(await start({})).toMatchObject({ status: 409, body: { code: 'sim_already_assigned' } })
      await customer.api('POST', '/api/tickets/suspend', { simId })
      await customer.untilSim(simId, { status: 2 })
      expect(await start({ poolId })).toMatchObject({ status: 409, body: { code: 'sim_state_conflict' } })
      expect(await customer.tickets(simId)).toEqual([...BOTH, 'suspend/complete'])
    })

    test('fails with a pool that was deleted after the start', async () => {
      const sim = await aSim()
      const gone = await customer.plainPool('gone')
      harness.line.fateOf = () => 'away'
      await customer.start(sim.id, gone)
      await customer.api('DELETE', `/api/pools/${gone}`)
      harness.line.fateOf = () => 'through'

      const { result, state } = await ended(sim)
      const code = 'pool_not_found'
      expect(result).toMatchObject({ outcome: 'failed', failure: { step: 'provision', code, ticketId: null } })
      expect(state.steps).toMatchObject([{ step: 'check', outcome: expect.stringContaining(code) }])
      expect(await tickets(sim)).toEqual([])
    })
  })

  test('shows its timeline and applies the tag', async () => {
    const sim = await aSim()
    const letGo = harness.carrier.hangOn(({ operation }) => operation === 'activate')
    await customer.inside('POST', START, { iccid: sim.iccid, poolId, tag: 'door 4' })
    await untilTickets(sim, ['provision/complete', 'activate/processing'])
    await untilWaits(sim, /^ticket /)
    const { state } = await customer.workflow(sim.workflowId)
    expect(state).toMatchObject({
      step: 'activating',
      steps: [
        { step: 'check', outcome: 'Unprovisioned', ticketId: null },
        { step: 'provision', outcome: 'complete', ticketId: state.provisionTicket },
      ],
      waitsFor: { what: `ticket ${state.activateTicket}`, until: null, why: 'the carrier has to activate the SIM' },
    })
    letGo()

    const last = (await ended(sim)).state
    expect(last.steps.slice(2)).toMatchObject([
      { step: 'activate', outcome: 'complete', ticketId: state.activateTicket },
      { step: 'read back', outcome: 'Active' },
    ])
    expect(last.waitsFor).toBeNull()
    expect(await customer.sim(sim.id)).toMatchObject({ status: 1, poolId, tag: 'door 4' })
  })

  test('waits for the open tickets of others', async () => {
    const sim = await aSim()
    const letGo = harness.carrier.hangOn(({ operation }) => operation === 'provision')
    await customer.api('POST', '/api/tickets/provision', { simId: sim.id, poolId })
    await customer.start(sim.id, poolId)
    await untilWaits(sim, /^open tickets of SIM/)
    letGo()

    expect(await ended(sim)).toMatchObject({ result: { outcome: 'activated', provisionTicket: null } })
    expect(await tickets(sim)).toEqual(BOTH)
  })

  describe('a cancel', () => {
    const isCancelled = async (sim: OneSim) => {
      const { status, result } = await ended(sim)
      expect({ status, result }).toMatchObject({ status: 'cancelled', result: { outcome: 'cancelled', failure: null } })
      expect(await customer.sim(sim.id)).toMatchObject({ status: 0, poolId: null })
    }

    test('cancels the ticket that the check opened', async () => {
      const sim = await aSim()
      harness.line.fateOf = () => 'away'
      const letGo = harness.pump.hold('tickets')
      await customer.start(sim.id, poolId)
      await cancel(sim)
      harness.line.fateOf = () => 'through'
      await isCancelled(sim)
      letGo()

      expect(await tickets(sim)).toEqual(['provision/cancelled', 'activate/cancelled'])
      expect(await effects(sim)).toEqual([])
    })

    test('ends the wait for others’ tickets at once', async () => {
      const sim = await aSim()
      const letGo = harness.carrier.hangOn(({ operation }) => operation === 'provision')
      await customer.api('POST', '/api/tickets/provision', { simId: sim.id, poolId })
      await customer.start(sim.id, poolId)
      await untilWaits(sim, /^open tickets of SIM/)
      await cancel(sim)

      expect(await ended(sim)).toMatchObject({ status: 'cancelled' })
      letGo()
      await untilTickets(sim, ['provision/complete'])
    })

    test('lets the undoing of a failure finish', async () => {
      const sim = await aSim()
      const slow = Promise.withResolvers<void>()
      harness.carrier.knobs.before = async ({ operation }) => {
        if (operation === 'unprovision') await slow.promise
        if (operation === 'activate') throw new CarrierError('no', { code: 'line_barred', retryable: false })
      }
      await customer.start(sim.id, poolId)
      await untilTickets(sim, ['provision/complete', 'activate/failed', 'provision/processing'])
      await cancel(sim)
      slow.resolve()

      expect(await ended(sim)).toMatchObject({
        status: 'completed',
        result: { outcome: 'compensated', failure: { step: 'activate', code: 'line_barred' } },
      })
      expect(await customer.sim(sim.id)).toMatchObject({ status: 0 })
    })

    test('undoes nothing that others provisioned', async () => {
      const sim = await aSim()
      await customer.api('POST', '/api/tickets/provision', { simId: sim.id, poolId })
      await customer.untilSim(sim.id, { status: 2 })
      const letGo = harness.carrier.hangOn(({ operation }) => operation === 'activate')
      await customer.start(sim.id, poolId)
      await untilTickets(sim, ['provision/complete', 'activate/processing'])
      await cancel(sim)
      letGo()

      expect(await ended(sim)).toMatchObject({ status: 'completed', result: { outcome: 'activated' } })
      expect(await customer.sim(sim.id)).toMatchObject({ status: 1, poolId })
    })

    test('changes nothing after the end', async () => {
      const sim = await aSim()
      await customer.start(sim.id, poolId)
      await ended(sim)

      await customer.tryInside('POST', `/internal/workflows/${sim.workflowId}/cancel`)
      expect(await ended(sim)).toMatchObject({ status: 'completed', result: { outcome: 'activated' } })
      expect(await customer.sim(sim.id)).toMatchObject({ status: 1, poolId })
    })
  })

  test('returns the running run on a second start', async () => {
    const sim = await aSim()
    const letGo = harness.carrier.hangOn(({ operation }) => operation === 'provision')
    const first = await customer.tryInside('POST', START, { simId: sim.id, poolId })
    await untilTickets(sim, ['provision/processing', 'activate/pending'])

    const second = await customer.tryInside('POST', START, { simId: sim.id, poolId })
    letGo()
    await ended(sim)

    expect(first).toMatchObject({ status: 202, body: { status: 'running' } })
    expect(second).toEqual({ status: 200, body: first.body })
    expect(await tickets(sim)).toEqual(BOTH)
  })

  test('starts anew after it was undone', async () => {
    const sim = await aSim()
    harness.carrier.knobs.before = async ({ operation }) => {
      if (operation === 'activate') throw new CarrierError('no', { code: 'line_barred', retryable: false })
    }
    await customer.start(sim.id, poolId)
    const first = await ended(sim)
    harness.carrier.knobs.before = async () => {}
    await customer.start(sim.id, poolId)

    const second = await ended(sim)
    expect(second).toMatchObject({ result: { outcome: 'activated' } })
    expect(second.result.provisionTicket).not.toBe(first.result.provisionTicket)
    expect(second.runId).not.toBe(first.runId)
  })

  test('is told of its tickets’ ends though the worker that ended them died before it told', async () => {
    const sim = await aSim()
    const letGo = harness.pump.hold('workflows')
    await customer.start(sim.id, poolId)
    await untilTickets(sim, BOTH)
    expect(await customer.workflow(sim.workflowId)).toMatchObject({ status: 'running' })
    letGo()

    expect(await ended(sim)).toMatchObject({ result: { outcome: 'activated', failure: null } })
    const history = await harness.runOf(sim.workflowId).fetchHistory()
    expect(activitiesIn(history)).toEqual(['openBothTickets', 'readSim'])
    expect(signalsIn(history)).toHaveLength(1)
  })

  describe('a lost response', () => {
    /** Loses the response to the first request for a ticket of a kind, then all requests until `fateOf` is reset. */
    const loseResponseTo = (kind: string) => {
      let lost = false
      harness.line.fateOf = (line): Fate => {
        if (lost) return 'away'
        lost = line.startsWith('POST') && line.includes(`/tickets/${kind}`)
        return lost ? 'lost' : 'through'
      }
    }

    test.each([
      ['provision', 'a minute', MINUTE],
      ['activate', 'a minute', MINUTE],
      ['provision', '25 hours, when its key is forgotten', 25 * HOUR],
      ['activate', '25 hours, when its key is forgotten', 25 * HOUR],
    ])('opens the %s ticket once when retried after %s', async (kind, _, after) => {
      const sim = await aSim()
      loseResponseTo(kind)
      await customer.start(sim.id, poolId)
      await untilTickets(sim, kind === 'provision' ? ['provision/complete'] : BOTH)
      await harness.skipTo((await harness.now()) + after)
      harness.line.fateOf = () => 'through'
      await harness.skipTo((await harness.now()) + 2 * MINUTE)

      const { result } = await ended(sim)
      expect(result).toMatchObject({ outcome: 'activated', failure: null })
      expect(result[`${kind}Ticket`]).toEqual(expect.any(String))
      expect(await tickets(sim)).toEqual(BOTH)
      expect(await effects(sim)).toEqual(['provision', 'activate'])
    })
  })
})

/** provision-and-activate on the real service: refusals, cancels in each state, outages, expired idempotency keys. */
import { describe, expect, test } from 'vitest'
import { CarrierError, type CarrierRequest } from '../../../adapters/carrier/network.ts'
import { provisionAndActivateId } from '../../../domain/temporal/ids.ts'
import { requireSkippingServer } from '../../setup/requirements.ts'
import { soon } from '../../setup/soon.ts'
import type { Fate } from '../model/server-clock.ts'
import { type Customer, usePlainPool } from './customer.ts'
import type { RealService } from './service.ts'

const path = requireSkippingServer('provision-and-activate on the real service in skipped time')
const [MINUTE, HOUR] = [60_000, 3_600_000]
const START = '/internal/workflows/provision-and-activate'
const BOTH = ['provision/complete', 'activate/complete']

describe.skipIf(path === undefined)('provision-and-activate on the real service', () => {
  let harness: RealService
  let customer: Customer
  let poolId = 0
  usePlainPool(path, (all) => {
    ;({ harness, customer, poolId } = all)
  })

  const aSim = async () => {
    const [sim = { id: 0, iccid: '' }] = await customer.unprovisioned(1)
    return { ...sim, workflowId: provisionAndActivateId(customer.tenantId, sim.id) }
  }
  type OneSim = Awaited<ReturnType<typeof aSim>>
  const tickets = (sim: OneSim) => customer.tickets(sim.id)
  const untilTickets = (sim: OneSim, wanted: readonly string[]) =>
    soon(async () => expect(await tickets(sim)).toEqual(wanted))
  const cancel = (sim: OneSim) => customer.inside('POST', `/internal/workflows/${sim.workflowId}/cancel`)
  const effects = (sim: OneSim) => harness.carrier.effects(sim.iccid)
  /** Waits until the workflow shows that it waits for this. */
  const untilWaits = (sim: OneSim, what: RegExp) =>
    soon(async () => expect((await customer.workflow(sim.workflowId)).state?.waitsFor?.what).toMatch(what))
  /** Makes the carrier hang on an operation. @returns ends that */
  const hangOn = (operation: CarrierRequest['operation']) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    harness.carrier.knobs.before = (request) => (request.operation === operation ? promise : Promise.resolve())
    return resolve
  }
  const failOn = (...operations: CarrierRequest['operation'][]) => {
    harness.carrier.knobs.before = async ({ operation }) => {
      if (!operations.includes(operation)) return
      throw new CarrierError(`the carrier will not ${operation}`, { code: 'line_barred', retryable: false })
    }
  }

  describe('the check', () => {
    const PLACES: Record<string, () => Promise<object>> = {
      tariff_inactive: async () => {
        const tariffId = await customer.standardTariff(1)
        await customer.inside('PATCH', `/internal/tariffs/${tariffId}`, { isActive: false })
        return { tariffId }
      },
      tariff_not_found: async () => ({ tariffId: 999_999 }),
      tariff_needs_pool: async () => ({ tariffId: await customer.dynamicTariff(1) }),
      tariff_has_no_effect: async () => ({
        poolId: await customer.pool('shared', await customer.dynamicTariff(1), 1),
        tariffId: await customer.standardTariff(1),
      }),
      pool_not_found: async () => {
        const gone = await customer.pool('gone', await customer.standardTariff(1))
        await customer.api('DELETE', `/api/pools/${gone}`)
        return { poolId: gone }
      },
    }

    test.each([
      ['tariff_inactive', 422],
      ['tariff_not_found', 404],
      ['tariff_needs_pool', 422],
      ['tariff_has_no_effect', 422],
      ['pool_not_found', 404],
    ])('refuses with %s and opens no ticket', async (code, status) => {
      const sim = await aSim()
      const place = await PLACES[code]?.()

      expect(await customer.tryInside('POST', START, { iccid: sim.iccid, ...place })).toMatchObject({
        status,
        body: { code },
      })
      expect((await customer.tryInside('GET', `/internal/workflows/${sim.workflowId}`)).status).toBe(404)
      expect(await tickets(sim)).toEqual([])
    })

    test('refuses an assigned or suspended SIM', async () => {
      const [simId = 0] = await customer.active(1, poolId)
      const other = await customer.pool('other', await customer.standardTariff(100))

      const start = (body: object) => customer.tryInside('POST', START, { simId, ...body })
      expect(await start({ poolId: other })).toMatchObject({ status: 409, body: { code: 'sim_already_assigned' } })
      expect(await start({})).toMatchObject({ status: 409, body: { code: 'sim_already_assigned' } })
      await customer.api('POST', '/api/tickets/suspend', { simId })
      await customer.untilSim(simId, { status: 2 })
      expect(await start({ poolId })).toMatchObject({ status: 409, body: { code: 'sim_state_conflict' } })
      expect(await customer.tickets(simId)).toEqual([...BOTH, 'suspend/complete'])
    })

    test.each([
      ['tariff_inactive', 'provision'],
      ['pool_not_found', 'provision'],
    ])('fails with %s that arose after the start', async (code, step) => {
      const sim = await aSim()
      const [tariffId, pool] = [
        await customer.standardTariff(1),
        await customer.pool('p', await customer.standardTariff(1)),
      ]
      harness.line.fateOf = () => 'away'
      await customer.inside('POST', START, { simId: sim.id, poolId: pool, tariffId })
      if (code === 'pool_not_found') await customer.api('DELETE', `/api/pools/${pool}`)
      else await customer.inside('PATCH', `/internal/tariffs/${tariffId}`, { isActive: false })
      harness.line.fateOf = () => 'through'

      const { result, state } = await customer.ended(sim.workflowId)
      expect(result).toMatchObject({ outcome: 'failed', failure: { step, code, ticketId: null } })
      expect(state.steps).toMatchObject([{ step: 'check', outcome: expect.stringContaining(code) }])
      expect(await tickets(sim)).toEqual([])
    })

    test('fails on a SIM that was provisioned elsewhere since', async () => {
      const sim = await aSim()
      harness.line.fateOf = () => 'away'
      await customer.start(sim.id, poolId)
      const other = await customer.pool('other', await customer.standardTariff(100))
      await customer.api('POST', '/api/tickets/provision', { simId: sim.id, poolId: other })
      await untilTickets(sim, ['provision/complete'])
      harness.line.fateOf = () => 'through'

      const { result } = await customer.ended(sim.workflowId)
      expect(result).toMatchObject({ outcome: 'failed', failure: { step: 'check', code: 'sim_already_assigned' } })
      expect(await tickets(sim)).toEqual(['provision/complete'])
    })
  })

  test('shows its timeline and applies the tag', async () => {
    const sim = await aSim()
    const letGo = hangOn('activate')
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

    const ended = await customer.ended(sim.workflowId)
    expect(ended.state.steps.slice(2)).toMatchObject([
      { step: 'activate', outcome: 'complete', ticketId: state.activateTicket },
      { step: 'read back', outcome: 'Active' },
    ])
    expect(ended.state.waitsFor).toBeNull()
    expect(await customer.sim(sim.id)).toMatchObject({ status: 1, poolId, tag: 'door 4' })
  })

  test('waits for the open tickets of others', async () => {
    const sim = await aSim()
    const letGo = hangOn('provision')
    await customer.api('POST', '/api/tickets/provision', { simId: sim.id, poolId })
    await customer.start(sim.id, poolId)
    await untilWaits(sim, /^open tickets of SIM/)
    letGo()

    expect(await customer.ended(sim.workflowId)).toMatchObject({
      result: { outcome: 'activated', provisionTicket: null },
    })
    expect(await tickets(sim)).toEqual(BOTH)
  })

  test('names step, ticket and reason of a failure', async () => {
    const [one, two] = [await aSim(), await aSim()]
    failOn('activate')
    await customer.start(one.id, poolId)
    const undone = (await customer.ended(one.workflowId)).result
    failOn('activate', 'unprovision')
    await customer.start(two.id, poolId)
    const left = (await customer.ended(two.workflowId)).result

    const reason = { code: 'line_barred', detail: 'the carrier refused it' }
    expect(undone).toMatchObject({
      outcome: 'compensated',
      failure: { step: 'activate', ticketId: undone.activateTicket, ...reason },
    })
    expect(await customer.sim(one.id)).toMatchObject({ status: 0, poolId: null })
    expect(left).toMatchObject({
      outcome: 'failed',
      failure: {
        step: 'unassign',
        ticketId: left.unassignTicket,
        code: 'line_barred',
        detail: `the carrier refused it; undone because: activate failed (line_barred: ${reason.detail})`,
      },
    })
    expect(await customer.sim(two.id)).toMatchObject({ status: 2, poolId })
  })

  describe('a cancel', () => {
    const isCancelled = async (sim: OneSim) => {
      const { status, result } = await customer.ended(sim.workflowId)
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
      const letGo = hangOn('provision')
      await customer.api('POST', '/api/tickets/provision', { simId: sim.id, poolId })
      await customer.start(sim.id, poolId)
      await untilWaits(sim, /^open tickets of SIM/)
      await cancel(sim)

      expect(await customer.ended(sim.workflowId)).toMatchObject({ status: 'cancelled' })
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

      expect(await customer.ended(sim.workflowId)).toMatchObject({
        status: 'completed',
        result: { outcome: 'compensated', failure: { step: 'activate', code: 'line_barred' } },
      })
      expect(await customer.sim(sim.id)).toMatchObject({ status: 0 })
    })

    test('undoes nothing that others provisioned', async () => {
      const sim = await aSim()
      await customer.api('POST', '/api/tickets/provision', { simId: sim.id, poolId })
      await customer.untilSim(sim.id, { status: 2 })
      const letGo = hangOn('activate')
      await customer.start(sim.id, poolId)
      await untilTickets(sim, ['provision/complete', 'activate/processing'])
      await cancel(sim)
      letGo()

      expect(await customer.ended(sim.workflowId)).toMatchObject({
        status: 'completed',
        result: { outcome: 'activated' },
      })
      expect(await customer.sim(sim.id)).toMatchObject({ status: 1, poolId })
    })

    test('changes nothing after the end', async () => {
      const sim = await aSim()
      await customer.start(sim.id, poolId)
      await customer.ended(sim.workflowId)

      await customer.tryInside('POST', `/internal/workflows/${sim.workflowId}/cancel`)
      expect(await customer.ended(sim.workflowId)).toMatchObject({
        status: 'completed',
        result: { outcome: 'activated' },
      })
      expect(await customer.sim(sim.id)).toMatchObject({ status: 1, poolId })
    })
  })

  test('returns the running run on a second start', async () => {
    const sim = await aSim()
    const letGo = hangOn('provision')
    const first = await customer.tryInside('POST', START, { simId: sim.id, poolId })
    await untilTickets(sim, ['provision/processing', 'activate/pending'])

    const second = await customer.tryInside('POST', START, { simId: sim.id, poolId })
    letGo()
    await customer.ended(sim.workflowId)

    expect(first).toMatchObject({ status: 202, body: { status: 'running' } })
    expect(second).toEqual({ status: 200, body: first.body })
    expect(await tickets(sim)).toEqual(BOTH)
  })

  test('starts anew after it was undone', async () => {
    const sim = await aSim()
    failOn('activate')
    await customer.start(sim.id, poolId)
    const first = await customer.ended(sim.workflowId)
    harness.carrier.knobs.before = async () => {}
    await customer.start(sim.id, poolId)

    const second = await customer.ended(sim.workflowId)
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

    expect(await customer.ended(sim.workflowId)).toMatchObject({ result: { outcome: 'activated', failure: null } })
    const { events } = await harness.runOf(sim.workflowId).fetchHistory()
    const activities = (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? [],
    )
    expect(activities).toEqual(['openBothTickets', 'readSim'])
    expect(events?.filter((event) => event.workflowExecutionSignaledEventAttributes)).toHaveLength(1)
  })

  describe('an hour without the service', () => {
    test.each([
      ['while the carrier provisions', ['provision/processing', 'activate/pending']],
      ['while the carrier activates', ['provision/complete', 'activate/processing']],
    ] as const)('opens each ticket once: %s', async (_, at) => {
      const sim = await aSim()
      const letGo = hangOn(at[0] === 'provision/processing' ? 'provision' : 'activate')
      await customer.start(sim.id, poolId)
      await untilTickets(sim, at)
      harness.line.fateOf = () => 'away'
      letGo()
      await harness.skipTo((await harness.now()) + HOUR)
      expect((await customer.workflow(sim.workflowId)).status).toBe('running')
      harness.line.fateOf = () => 'through'
      await harness.skipTo((await harness.now()) + 2 * MINUTE)

      expect(await customer.ended(sim.workflowId)).toMatchObject({ result: { outcome: 'activated', failure: null } })
      expect(await tickets(sim)).toEqual(BOTH)
      expect(await effects(sim)).toEqual(['provision', 'activate'])
    })
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

      const { result } = await customer.ended(sim.workflowId)
      expect(result).toMatchObject({ outcome: 'activated', failure: null })
      expect(result[`${kind}Ticket`]).toEqual(expect.any(String))
      expect(await tickets(sim)).toEqual(BOTH)
      expect(await effects(sim)).toEqual(['provision', 'activate'])
    })
  })

  test('retries no earlier than Retry-After', async () => {
    const sim = await aSim()
    const sentAt: number[] = []
    harness.line.fateOf = (line): Fate => {
      if (!line.startsWith('POST')) return 'through'
      sentAt.push(Date.now())
      return sentAt.length === 1 ? { retryAfter: 600 } : 'through'
    }
    await customer.start(sim.id, poolId)
    await soon(() => expect(sentAt).toHaveLength(1))
    const askedAt = await harness.now()
    await harness.skipTo(askedAt + 9 * MINUTE)
    expect(sentAt).toHaveLength(1)
    // Before its first look at the ticket, a minute after the retry: the test server loses a timer that fires in a task.
    await harness.skipTo(askedAt + 10.5 * MINUTE)

    expect(await customer.ended(sim.workflowId)).toMatchObject({ result: { outcome: 'activated' } })
  })
})

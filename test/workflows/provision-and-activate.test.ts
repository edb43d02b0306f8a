import { beforeEach, describe, expect, test } from 'vitest'
import { provisionAndActivateId } from '../../domain/temporal/ids.ts'
import type { ProvisionAndActivateResult } from '../../domain/temporal/provision-and-activate.ts'
import { describeInSkippedTime } from '../setup/requirements.ts'
import { soon } from '../setup/soon.ts'
import { activitiesIn, signalsIn, tasksIn, untilLast } from './events.ts'
import { useSkippingHarness } from './harness.ts'
import { aSim, aSimOfPerson, TENANT } from './model/service.ts'
import { fail } from './model/tickets.ts'

describeInSkippedTime('provision-and-activate', (path) => {
  const harness = useSkippingHarness(path)
  beforeEach(() => {
    harness.model.sims.set(1, aSim({ status: 0 }))
  })
  const id = provisionAndActivateId(TENANT, 1)
  const input = { tenantId: TENANT, simId: 1, poolId: 7, tariffId: 3, tag: 'meter' }
  type More = { readonly tag?: string | undefined }
  const start = ({ tag }: More = input) => {
    const { tag: _, ...rest } = input
    return harness.start('provision-and-activate', id, { ...rest, ...(tag === undefined ? {} : { tag }) })
  }
  const ended = () => harness.ended(id)
  const sim = () => harness.model.sims.get(1)
  const tickets = () => harness.model.ticketsOf(1)
  const run = async (more?: More): Promise<ProvisionAndActivateResult> => (await start(more)).result()

  test('takes a SIM to Active by two tickets', async () => {
    harness.model.sims.set(1, aSim({ status: 0, poolId: null, tariffId: null }))

    expect(await run()).toMatchObject({ outcome: 'activated', failure: null, unassignTicket: null })
    expect(sim()).toMatchObject({ status: 1, poolId: 7, tariffId: 3 })
    expect(tickets()).toEqual(['provision:2', 'activate:2'])
    const cause = { by: 'workflow', workflowId: id }
    expect(harness.model.tickets[0]?.body).toEqual({ simId: 1, poolId: 7, tariffId: 3, cause })
    expect(sim()?.tag).toBe('meter')
  })

  test('finds nothing to do on a second run', async () => {
    harness.model.sims.set(1, aSim())

    expect(await run()).toMatchObject({ outcome: 'alreadyActive' })
    expect(harness.model.tickets).toEqual([])
  })

  test('skips provisioning of a SIM not yet activated', async () => {
    harness.model.sims.set(1, aSim({ status: 2 }))

    expect(await run()).toMatchObject({ outcome: 'activated', provisionTicket: null })
    expect(tickets()).toEqual(['activate:2'])
  })

  test.each([
    ['suspended by a person', aSimOfPerson(), 'sim_state_conflict'],
    ['Active in another pool', aSim({ poolId: 8 }), 'sim_already_assigned'],
  ])('refuses a SIM that is %s', async (_, present, code) => {
    harness.model.sims.set(1, present)

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'check', code } })
    expect(harness.model.tickets).toEqual([])
  })

  test('undoes its provisioning when activation fails for good', async () => {
    harness.model.failing.set('activate', 'carrier_rejected')

    const result = await run()

    const failure = { step: 'activate', code: 'carrier_rejected', detail: 'the carrier said no' }
    expect(result).toMatchObject({ outcome: 'compensated', failure: { ...failure, ticketId: result.activateTicket } })
    expect(tickets()).toEqual(['provision:2', 'activate:3', 'unassign:2'])
    expect(sim()?.status).toBe(0)
  })

  test('says why its undoing fails, and what was to be undone', async () => {
    for (const kind of ['activate', 'unassign']) harness.model.failing.set(kind, 'carrier_rejected')

    const result = await run()

    const failure = { step: 'unassign', ticketId: result.unassignTicket, code: 'carrier_rejected' }
    const detail = 'the carrier said no; undone because: activate failed (carrier_rejected: the carrier said no)'
    expect(result).toMatchObject({ outcome: 'failed', failure: { ...failure, detail } })
    expect(sim()).toMatchObject({ status: 2, poolId: 7 })
  })

  test('undoes nothing when provisioning itself fails', async () => {
    harness.model.failing.set('provision', 'carrier_rejected')

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'provision' }, unassignTicket: null })
    expect(sim()?.tag).toBeUndefined()
  })

  test('leaves others’ provisioning when activation fails', async () => {
    harness.model.sims.set(1, aSim({ status: 2 }))
    harness.model.failing.set('activate', 'carrier_rejected')

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'activate' } })
    expect(sim()?.status).toBe(2)
  })

  test.each([
    ['provision', 'pending', ['provision:4'], 'provisioning'],
    ['provision', 'processing', ['provision:2', 'unassign:2'], 'provisioning'],
    ['activate', 'pending', ['provision:2', 'activate:4', 'unassign:2'], 'activating'],
    ['activate', 'processing', ['provision:2', 'activate:2', 'unassign:2'], 'activating'],
  ] as const)('unprovisions when cancelled with its %s ticket %s', async (kind, at, wanted, step) => {
    harness.model[at].add(kind)
    await start()
    await harness.untilState(id, { step })
    await soon(() => expect(harness.model.tickets.at(-1)).toMatchObject({ kind, status: at === 'pending' ? 0 : 1 }))

    await harness.workflowClient.cancel(id)
    await soon(() => expect(harness.model.calls('DELETE')).toBe(1))
    harness.model[at].clear()
    expect(await ended()).toMatchObject({
      status: 'cancelled',
      result: { outcome: 'cancelled' },
      state: { step: 'done' },
    })

    expect(tickets()).toEqual(wanted)
    expect(sim()?.status).toBe(0)
  })

  test('opens each ticket once while the service is away', async () => {
    harness.model.outages = 4

    expect(await run()).toMatchObject({ outcome: 'activated' })
    expect(tickets()).toEqual(['provision:2', 'activate:2'])
  })

  describe('the signal of a ticket’s end', () => {
    const inOrder = ['provision:2', 'activate:2']
    const history = () => harness.handleOf(id).fetchHistory()

    test('may come before the run waits for it', async () => {
      let held = false
      harness.model.before = async (line) => {
        if (line !== 'POST /api/tickets/activate' || held) return
        held = true
        await soon(async () => expect(signalsIn(await history())).toHaveLength(1))
        // The second ticket is opened, and the activity tries again a second later.
        harness.model.lostResponses = 1
      }
      await start({})
      await ended()

      expect(signalsIn(await history())).toHaveLength(2)
      expect(activitiesIn(await history())).toEqual(['openBothTickets', 'readSim'])
      expect(tickets()).toEqual(inOrder)
    })

    test('may be lost', async () => {
      harness.model.signals = 'lost'
      const begun = await harness.env.currentTimeMs()

      expect(await run({})).toMatchObject({ outcome: 'activated', failure: null })
      const looks = ['lookAtTicket', 'lookAtTicket']
      expect(activitiesIn(await history())).toEqual(['openBothTickets', ...looks, 'readSim'])
      expect(tickets()).toEqual(inOrder)
      expect((await harness.env.currentTimeMs()) - begun).toBeGreaterThanOrEqual(2 * 60_000)
    })

    test('may be lost with the reason of a failure', async () => {
      harness.model.signals = 'lost'
      harness.model.failing.set('activate', 'carrier_rejected')

      const failure = { step: 'activate', code: 'carrier_rejected', detail: 'the carrier said no' }
      expect(await run()).toMatchObject({ outcome: 'compensated', failure })
    })

    test('may come twice', async () => {
      harness.model.signals = 'twice'
      harness.model.failing.set('activate', 'carrier_rejected')

      expect(await run({})).toMatchObject({ outcome: 'compensated', failure: { step: 'activate' } })
      expect(tickets()).toEqual(['provision:2', 'activate:3', 'unassign:2'])
    })
  })

  describe('whose provision ticket fails', () => {
    beforeEach(() => {
      harness.model.failing.set('provision', 'carrier_rejected')
    })
    /** The result of such a run. @param activateTicket the second ticket's id; null if it was not opened */
    const failed = (activateTicket: string | null) => {
      const ticketId = harness.model.tickets[0]?.id
      const failure = { step: 'provision', ticketId, code: 'carrier_rejected', detail: 'the carrier said no' }
      return { outcome: 'failed', failure, provisionTicket: ticketId, activateTicket, unassignTicket: null }
    }

    test('ends as before if both tickets are open, and the second is refused with it', async () => {
      harness.model.pending.add('provision')
      const started = await start({})
      await soon(() => expect(tickets()).toEqual(['provision:0', 'activate:0']))
      harness.model.pending.clear()

      expect(await started.result()).toEqual(failed(harness.model.tickets[1]?.id ?? ''))
      await soon(() => expect(tickets()).toEqual(['provision:3', 'activate:3']))
      expect(sim()?.status).toBe(0)
    })

    test('ends as before if it fails before the second is opened', async () => {
      harness.model.before = async (line) => {
        if (line !== 'POST /api/tickets/activate') return
        await soon(() => expect(tickets()).toEqual(['provision:3']))
      }

      expect(await run({})).toEqual(failed(null))
      expect(tickets()).toEqual(['provision:3'])
    })
  })

  test.each([
    ['pending', ['provision:4', 'activate:4']],
    ['processing', ['provision:2', 'activate:4', 'unassign:2']],
  ] as const)('takes both tickets back when cancelled with the first %s', async (at, wanted) => {
    harness.model[at].add('provision')
    await start({})
    await soon(() => expect(tickets()).toEqual([at === 'pending' ? 'provision:0' : 'provision:1', 'activate:0']))

    await harness.workflowClient.cancel(id)
    await soon(() => expect(harness.model.calls('DELETE')).toBe(2))
    harness.model[at].clear()
    expect(await ended()).toMatchObject({ status: 'cancelled', result: { outcome: 'cancelled', failure: null } })
    expect(tickets()).toEqual(wanted)
  })

  test('opens the second ticket later if it is refused at first', async () => {
    let asked = 0
    harness.model.before = async (line) => {
      if (line === 'POST /api/tickets/activate' && (asked += 1) === 1) fail('sim_state_conflict', 'somebody was faster')
    }

    expect(await run({})).toMatchObject({ outcome: 'activated' })
    expect(tickets()).toEqual(['provision:2', 'activate:2'])
  })

  test('takes two activities and at most five workflow tasks', async () => {
    await start({})
    // In the time of the clock: skipped time would not wait for the signals.
    const history = await untilLast(harness.handleOf(id), 'workflowExecutionCompleted')
    expect(activitiesIn(history)).toEqual(['openBothTickets', 'readSim'])
    // Fewer if both ends come at once.
    expect(tasksIn(history)).toBeLessThanOrEqual(5)
    // Opening a ticket checks the SIM.
    const requests = ['POST /api/tickets/provision', 'POST /api/tickets/activate', 'GET /api/sims/1']
    expect(harness.model.requests.filter((line) => !line.includes('/internal/workflows/'))).toEqual(requests)
  })

  test('sets a tag between the two tickets', async () => {
    await run()

    // A tag costs a request, a read of the step's ticket, and an activity.
    expect(harness.model.requests.filter((line) => !line.includes('GET /api/tickets/'))).toEqual([
      'POST /api/tickets/provision',
      'PATCH /api/sims/1/tag',
      'POST /api/tickets/activate',
      'GET /api/sims/1',
    ])
  })
})

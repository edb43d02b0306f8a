import { beforeEach, describe, expect, test } from 'vitest'
import { provisionAndActivateId } from '../../domain/temporal/ids.ts'
import type { ProvisionAndActivateResult } from '../../domain/temporal/provision-and-activate.ts'
import { useCommonHarness } from '../setup/common-harness.ts'
import { requireJava } from '../setup/requirements.ts'
import { soon } from '../setup/soon.ts'
import { clear, type SkippingHarness, startSkippingHarness } from './harness.ts'
import { aSim, TENANT, WAITS } from './model/service.ts'

const path = requireJava('provision-and-activate in skipped time')

describe.skipIf(path === undefined)('provision-and-activate', () => {
  let harness: SkippingHarness
  const id = provisionAndActivateId(TENANT, 1)
  const input = { tenantId: TENANT, simId: 1, poolId: 7, tariffId: 3, tag: 'meter', waits: WAITS }
  const start = () => harness.start('provision-and-activate', id, input)
  const run = async (): Promise<ProvisionAndActivateResult> => (await start()).result()
  useCommonHarness(
    () => startSkippingHarness(path ?? ''),
    (started) => {
      harness = started
    },
  )
  beforeEach(() => {
    clear(harness.model)
  })

  test('takes a SIM to Active by two tickets', async () => {
    harness.model.sims.set(1, aSim({ status: 0, poolId: null, tariffId: null }))

    const result = await run()

    expect(result).toMatchObject({ outcome: 'activated', failure: null, unassignTicket: null })
    expect(harness.model.sims.get(1)).toMatchObject({ status: 1, poolId: 7, tariffId: 3 })
    expect(harness.model.ticketsOf(1)).toEqual(['provision:2', 'activate:2'])
    const cause = { by: 'workflow', workflowId: id }
    expect(harness.model.tickets[0]?.body).toEqual({ simId: 1, poolId: 7, tariffId: 3, cause })
    expect(harness.model.sims.get(1)?.tag).toBe('meter')
  })

  test('finds nothing to do on a second run', async () => {
    harness.model.sims.set(1, aSim())

    expect(await run()).toMatchObject({ outcome: 'alreadyActive' })
    expect(harness.model.tickets).toEqual([])
  })

  test('skips provisioning of a SIM not yet activated', async () => {
    harness.model.sims.set(1, aSim({ status: 2 }))

    expect(await run()).toMatchObject({ outcome: 'activated', provisionTicket: null })
    expect(harness.model.ticketsOf(1)).toEqual(['activate:2'])
  })

  test.each([
    [
      'suspended by a person',
      aSim({ status: 2, suspension: { cause: 'user', workflowId: null, until: 'manual' } }),
      'sim_state_conflict',
    ],
    ['Active in another pool', aSim({ poolId: 8 }), 'sim_already_assigned'],
  ])('refuses a SIM that is %s', async (_, sim, code) => {
    harness.model.sims.set(1, sim)

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'check', code } })
    expect(harness.model.tickets).toEqual([])
  })

  test('undoes its provisioning when activation fails for good', async () => {
    harness.model.sims.set(1, aSim({ status: 0 }))
    harness.model.failing.set('activate', 'carrier_rejected')

    const result = await run()

    const failure = {
      step: 'activate',
      ticketId: result.activateTicket,
      code: 'carrier_rejected',
      detail: 'the carrier said no',
    }
    expect(result).toMatchObject({ outcome: 'compensated', failure })
    expect(harness.model.ticketsOf(1)).toEqual(['provision:2', 'activate:3', 'unassign:2'])
    expect(harness.model.sims.get(1)?.status).toBe(0)
  })

  test('undoes nothing when provisioning itself fails', async () => {
    harness.model.sims.set(1, aSim({ status: 0 }))
    harness.model.failing.set('provision', 'carrier_rejected')

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'provision' }, unassignTicket: null })
    expect(harness.model.sims.get(1)?.tag).toBeUndefined()
  })

  test('leaves others’ provisioning when activation fails', async () => {
    harness.model.sims.set(1, aSim({ status: 2 }))
    harness.model.failing.set('activate', 'carrier_rejected')

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'activate' } })
    expect(harness.model.sims.get(1)?.status).toBe(2)
  })

  test.each([
    ['provision', 'pending', ['provision:4'], 'provisioning'],
    ['provision', 'processing', ['provision:2', 'unassign:2'], 'provisioning'],
    ['activate', 'pending', ['provision:2', 'activate:4', 'unassign:2'], 'activating'],
    ['activate', 'processing', ['provision:2', 'activate:2', 'unassign:2'], 'activating'],
  ] as const)('unprovisions when cancelled with its %s ticket %s', async (kind, at, tickets, step) => {
    harness.model.sims.set(1, aSim({ status: 0 }))
    harness.model[at].add(kind)
    await start()
    await harness.untilState(id, { step })
    await soon(() => expect(harness.model.tickets.at(-1)).toMatchObject({ kind, status: at === 'pending' ? 0 : 1 }))

    await harness.workflowClient.cancel(id)
    await soon(() => expect(harness.model.calls('DELETE')).toBe(1))
    harness.model[at].clear()
    await soon(async () => expect((await harness.workflowClient.describe(id, TENANT)).status).toBe('cancelled'))

    expect(harness.model.ticketsOf(1)).toEqual(tickets)
    expect(harness.model.sims.get(1)?.status).toBe(0)
    const { result, state } = await harness.workflowClient.describe(id, TENANT)
    expect(result).toMatchObject({ outcome: 'cancelled' })
    expect(state).toMatchObject({ step: 'done' })
  })

  test('opens each ticket once while the service is away', async () => {
    harness.model.sims.set(1, aSim({ status: 0 }))
    harness.model.outages = 4

    expect(await run()).toMatchObject({ outcome: 'activated' })
    expect(harness.model.ticketsOf(1)).toEqual(['provision:2', 'activate:2'])
  })

  test('takes four activities and five workflow tasks', async () => {
    harness.model.sims.set(1, aSim({ status: 0 }))

    await run()

    const { events = [] } = await harness.handleOf(id).fetchHistory()
    const activities = events?.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled ? [scheduled.activityType?.name] : [],
    )
    expect(activities).toEqual(['openNextTicket', 'awaitTicket', 'openNextTicket', 'awaitActivation'])
    expect(events?.filter((event) => event.workflowTaskCompletedEventAttributes)).toHaveLength(5)
    // The run opens two tickets, reads each at least once, and reads the SIM at the end. Opening a ticket checks the SIM.
    const requests = harness.model.requests.filter((line) => !line.includes('GET /api/tickets/'))
    // A tag costs a request (and a read of the step's ticket), but no step.
    const tag = ['PATCH /api/sims/1/tag']
    expect(requests).toEqual(['POST /api/tickets/provision', ...tag, 'POST /api/tickets/activate', 'GET /api/sims/1'])
  })
})

import { beforeEach, describe, expect, test } from 'vitest'
import { provisionAndActivateId } from '../../domain/temporal/ids.ts'
import type { ProvisionAndActivateResult } from '../../domain/temporal/provision-and-activate.ts'
import { useCommonHouse } from '../setup/common-harness.ts'
import { requireJava } from '../setup/requirements.ts'
import { soon } from '../setup/soon.ts'
import { clear, type SkippingHouse, startSkippingHouse } from './harness.ts'
import { aSim, TENANT, WAITS } from './model/service.ts'

const path = requireJava('provision-and-activate in skipped time')

describe.skipIf(path === undefined)('provision-and-activate', () => {
  let house: SkippingHouse
  const id = provisionAndActivateId(TENANT, 1)
  const input = { tenantId: TENANT, simId: 1, poolId: 7, tariffId: 3, tag: 'meter', waits: WAITS }
  const start = () => house.start('provision-and-activate', id, input)
  const run = async (): Promise<ProvisionAndActivateResult> => (await start()).result()
  useCommonHouse(
    () => startSkippingHouse(path ?? ''),
    (started) => {
      house = started
    },
  )
  beforeEach(() => {
    clear(house.model)
  })

  test('takes an Unprovisioned SIM to Active by two tickets, the tag with the second', async () => {
    house.model.sims.set(1, aSim({ status: 0, poolId: null, tariffId: null }))

    const result = await run()

    expect(result).toMatchObject({ outcome: 'activated', failure: null, unassignTicket: null })
    expect(house.model.sims.get(1)).toMatchObject({ status: 1, poolId: 7, tariffId: 3 })
    expect(house.model.ticketsOf(1)).toEqual(['provision:2', 'activate:2'])
    const cause = { by: 'workflow', workflowId: id }
    expect(house.model.tickets[0]?.body).toEqual({ simId: 1, poolId: 7, tariffId: 3, cause })
    expect(house.model.sims.get(1)?.tag).toBe('meter')
  })

  test('may run again for the same SIM, which finds nothing to do', async () => {
    house.model.sims.set(1, aSim())

    expect(await run()).toMatchObject({ outcome: 'alreadyActive' })
    expect(house.model.tickets).toEqual([])
  })

  test('skips the provisioning of a SIM that was not activated since', async () => {
    house.model.sims.set(1, aSim({ status: 2 }))

    expect(await run()).toMatchObject({ outcome: 'activated', provisionTicket: null })
    expect(house.model.ticketsOf(1)).toEqual(['activate:2'])
  })

  test.each([
    [
      'suspended by a person',
      aSim({ status: 2, suspension: { cause: 'user', workflowId: null, until: 'manual' } }),
      'sim_state_conflict',
    ],
    ['Active in another pool', aSim({ poolId: 8 }), 'sim_already_assigned'],
  ])('refuses a SIM that is %s', async (_, sim, code) => {
    house.model.sims.set(1, sim)

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'check', code } })
    expect(house.model.tickets).toEqual([])
  })

  test('undoes its provisioning when the activation fails for good, and names ticket and reason', async () => {
    house.model.sims.set(1, aSim({ status: 0 }))
    house.model.failing.set('activate', 'carrier_rejected')

    const result = await run()

    const failure = {
      step: 'activate',
      ticketId: result.activateTicket,
      code: 'carrier_rejected',
      detail: 'the carrier said no',
    }
    expect(result).toMatchObject({ outcome: 'compensated', failure })
    expect(house.model.ticketsOf(1)).toEqual(['provision:2', 'activate:3', 'unassign:2'])
    expect(house.model.sims.get(1)?.status).toBe(0)
  })

  test('undoes nothing when the provisioning itself fails', async () => {
    house.model.sims.set(1, aSim({ status: 0 }))
    house.model.failing.set('provision', 'carrier_rejected')

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'provision' }, unassignTicket: null })
    expect(house.model.sims.get(1)?.tag).toBeUndefined()
  })

  test('leaves a SIM that it did not provision as it was when the activation fails', async () => {
    house.model.sims.set(1, aSim({ status: 2 }))
    house.model.failing.set('activate', 'carrier_rejected')

    expect(await run()).toMatchObject({ outcome: 'failed', failure: { step: 'activate' } })
    expect(house.model.sims.get(1)?.status).toBe(2)
  })

  test.each([
    ['provision', 'pending', ['provision:4'], 'provisioning'],
    ['provision', 'processing', ['provision:2', 'unassign:2'], 'provisioning'],
    ['activate', 'pending', ['provision:2', 'activate:4', 'unassign:2'], 'activating'],
    ['activate', 'processing', ['provision:2', 'activate:2', 'unassign:2'], 'activating'],
  ] as const)('cancelled while its %s ticket is %s leaves the SIM Unprovisioned', async (kind, at, tickets, step) => {
    house.model.sims.set(1, aSim({ status: 0 }))
    house.model[at].add(kind)
    await start()
    await house.untilState(id, { step })
    await soon(() => expect(house.model.tickets.at(-1)).toMatchObject({ kind, status: at === 'pending' ? 0 : 1 }))

    await house.workflowClient.cancel(id)
    await soon(() => expect(house.model.calls('DELETE')).toBe(1))
    house.model[at].clear()
    await soon(async () => expect((await house.workflowClient.describe(id, TENANT)).status).toBe('cancelled'))

    expect(house.model.ticketsOf(1)).toEqual(tickets)
    expect(house.model.sims.get(1)?.status).toBe(0)
    const { result, state } = await house.workflowClient.describe(id, TENANT)
    expect(result).toMatchObject({ outcome: 'cancelled' })
    expect(state).toMatchObject({ step: 'done' })
  })

  test('loses nothing while the service is away, and opens each ticket once', async () => {
    house.model.sims.set(1, aSim({ status: 0 }))
    house.model.outages = 4

    expect(await run()).toMatchObject({ outcome: 'activated' })
    expect(house.model.ticketsOf(1)).toEqual(['provision:2', 'activate:2'])
  })

  test('takes four activities and five workflow tasks on its normal path', async () => {
    house.model.sims.set(1, aSim({ status: 0 }))

    await run()

    const { events = [] } = await house.handleOf(id).fetchHistory()
    const activities = events?.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled ? [scheduled.activityType?.name] : [],
    )
    expect(activities).toEqual(['openNextTicket', 'awaitTicket', 'openNextTicket', 'awaitActivation'])
    expect(events?.filter((event) => event.workflowTaskCompletedEventAttributes)).toHaveLength(5)
    // Two tickets asked for, each looked at once at least, and the SIM read back: the service checks as it opens.
    const asked = house.model.requests.filter((line) => !line.includes('GET /api/tickets/'))
    // The tag costs a request where there is one (and a look for the step's ticket), and no step.
    const tag = ['PATCH /api/sims/1/tag']
    expect(asked).toEqual(['POST /api/tickets/provision', ...tag, 'POST /api/tickets/activate', 'GET /api/sims/1'])
  })
})

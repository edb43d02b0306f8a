/** Changes queued for the end of a cycle: checked behind open tickets, dropped with them, taken back. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { CarrierError, type Network } from '../../../adapters/carrier/network.ts'
import { TariffType, TicketType } from '../../../domain/codes.ts'
import { applyChanges } from '../../../service/month-end/open-changes.ts'
import { queueReprovision, queueUnprovision, takeBackChange } from '../../../service/month-end/queue-change.ts'
import { lockSimRecord } from '../../../service/sims/rows/sim-changes.ts'
import { cancelBulkTickets, startBulkTickets } from '../../../service/tickets/bulk.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { openBulkTickets } from '../../../service/tickets/open-bulk-tickets.ts'
import { cancelTicket, type OpenTicketRequest, openTicket } from '../../../service/tickets/open-ticket.ts'
import { aStore, aTariff } from '../../setup/estate.ts'
import { withOnlySim } from '../../setup/only-sim.ts'
import { BOUNDARY, CYCLE, inOctober } from './october.ts'

const store = await aStore()
const OPTIONS = { leaseMs: 1000, retryMinMs: 1, retryMaxMs: 1, attempts: 1, patienceMs: 900_000 }

async function anEstate() {
  const harness = await inOctober(store)
  const { asTenant, tenantId } = harness
  const fresh = async () => (await harness.unprovisioned(1))[0] ?? 0
  const open = (simId: number, ticket: Omit<OpenTicketRequest, 'simId' | 'cause'>) =>
    asTenant((tx) => openTicket(tx, { simId, cause: { by: 'user' }, ...ticket }))
  return {
    ...harness,
    fresh,
    open,
    provision: (simId: number, poolId?: number) =>
      open(simId, { type: TicketType.Provision, ...(poolId === undefined ? {} : { poolId }) }),
    move: (id: number, to: { poolId?: number; tariffId?: number }) =>
      asTenant((tx) => queueReprovision(tx, { id, ...to })),
    leave: (id: number) => asTenant((tx) => queueUnprovision(tx, id)),
    takeBack: (id: number) => asTenant((tx) => takeBackChange(tx, id)),
    queued: async (id: number) => {
      const sim = await asTenant((tx) => lockSimRecord(tx, id))
      return [sim?.pendingPoolId, sim?.pendingTariffId, sim?.pendingUnassign]
    },
    execute: (simId: number, perform: Network['perform']) =>
      withOnlySim(store, tenantId, simId, () =>
        executeTickets(store, { credential: 'test', perform, ping: async () => {} }, OPTIONS, tenantId),
      ),
    titles: async () => {
      const titles = sql<{ title: string }>`select title from events where title like 'Change%' order by id`
      return (await harness.rows(titles)).map(({ title }) => title.replace(/: SIM .*/, ''))
    },
    due: (kind: 'move' | 'unassign') =>
      asTenant((tx) => applyChanges(tx, CYCLE, { kind, afterSimId: 0, throughSimId: Number.MAX_SAFE_INTEGER })),
  }
}
const NOTHING = [null, null, false]
const no: Network['perform'] = async () => {
  throw new CarrierError('no such line', { code: 'carrier_rejected', retryable: false })
}

describe('queueReprovision and queueUnprovision behind open tickets', () => {
  test('accept a SIM about to be provisioned', async () => {
    const harness = await anEstate()
    const poolId = await harness.aPool()
    const [moves, leaves] = [await harness.fresh(), await harness.fresh()]
    for (const simId of [moves, leaves]) await harness.provision(simId)

    await harness.move(moves, { poolId })
    await harness.leave(leaves)

    expect(await harness.queued(moves)).toEqual([poolId, null, false])
    expect(await harness.queued(leaves)).toEqual([null, null, true])
    await harness.execute(moves, async ({ ticketId }) => ({ ticketId, effect: 'done' }))
    expect(await harness.queued(moves)).toEqual([poolId, null, false])
  })

  test('refuse a SIM about to be unprovisioned', async () => {
    const harness = await anEstate()
    const [simId = 0] = await harness.activeSims(1)
    await harness.open(simId, { type: TicketType.Provision, unassign: true })

    const refused = { code: 'sim_state_conflict', message: expect.stringContaining('after 1 open ticket') }
    await expect(harness.leave(simId)).rejects.toMatchObject(refused)
    await expect(harness.move(simId, { poolId: 1 })).rejects.toMatchObject(refused)
  })

  test('check a tariff against the SIM’s future pool', async () => {
    const harness = await anEstate()
    const simId = await harness.fresh()
    await harness.provision(simId, await harness.aPool(TariffType['Dynamic Pool']))
    const { id: tariffId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 1))

    await expect(harness.move(simId, { tariffId })).rejects.toMatchObject({ code: 'tariff_has_no_effect' })
  })
})

describe('a change queued behind a ticket', () => {
  test.each<[string, (harness: Awaited<ReturnType<typeof anEstate>>, simId: number) => Promise<unknown>]>([
    [
      'the ticket failed',
      async (harness, simId) => {
        await harness.provision(simId)
        await harness.leave(simId)
        await harness.execute(simId, no)
      },
    ],
    [
      'the ticket was cancelled',
      async (harness, simId) => {
        const id = await harness.provision(simId)
        await harness.leave(simId)
        await harness.asTenant((tx) => cancelTicket(tx, id))
      },
    ],
    [
      'its bulk run was cancelled',
      async (harness, simId) => {
        const sims = { ids: [simId] }
        const run = await harness.asTenant((tx) => startBulkTickets(tx, { type: 'provision', sims }))
        await openBulkTickets(store, async () => {}, harness.tenantId)
        await harness.leave(simId)
        await harness.asTenant((tx) => cancelBulkTickets(tx, run.id))
      },
    ],
  ])('is dropped with an event: %s', async (_, comesToNothing) => {
    const harness = await anEstate()
    const simId = await harness.fresh()

    await comesToNothing(harness, simId)

    expect(await harness.queued(simId)).toEqual(NOTHING)
    expect(await harness.titles()).toEqual(['Change queued', 'Change dropped'])
  })

  test('stays if its SIM is or may be provisioned', async () => {
    const harness = await anEstate()
    const simId = await harness.fresh()
    const [used = 0] = await harness.activeSims(1)
    await harness.provision(simId)
    const pending = [
      await harness.open(simId, { type: TicketType.Activate }),
      await harness.open(used, { type: TicketType.Suspend }),
    ]
    for (const id of [simId, used]) await harness.leave(id)

    for (const id of pending) await harness.asTenant((tx) => cancelTicket(tx, id))

    for (const id of [simId, used]) expect(await harness.queued(id)).toEqual([null, null, true])
  })
})

describe('takeBackChange', () => {
  test('drops a change once, with an event', async () => {
    const harness = await anEstate()
    const poolId = await harness.aPool()
    const [moves = 0, leaves = 0, stays = 0] = await harness.activeSims(3)
    await harness.move(moves, { poolId })
    await harness.leave(leaves)

    for (const simId of [moves, moves, leaves, stays]) expect(await harness.takeBack(simId)).toEqual({ id: simId })

    for (const simId of [moves, leaves]) expect(await harness.queued(simId)).toEqual(NOTHING)
    expect(await harness.titles()).toEqual(['Change queued', 'Change queued', 'Change taken back', 'Change taken back'])
    store.now = BOUNDARY.getTime()
    for (const kind of ['move', 'unassign'] as const) expect((await harness.due(kind)).results).toEqual([])
    await expect(harness.takeBack(2 ** 40)).rejects.toMatchObject({ code: 'sim_not_found' })
  })

  test('refuses a change whose ticket is open', async () => {
    const harness = await anEstate()
    const poolId = await harness.aPool()
    const [simId = 0] = await harness.activeSims(1)
    await harness.move(simId, { poolId })
    store.now = BOUNDARY.getTime() + 1
    const { results } = await harness.due('move')

    await expect(harness.takeBack(simId)).rejects.toMatchObject({
      code: 'sim_state_conflict',
      message: expect.stringContaining(results[0]?.ticketId ?? 'no ticket'),
    })
    await harness.leave(simId)
    await harness.takeBack(simId)

    expect(await harness.queued(simId)).toEqual(NOTHING)
  })
})

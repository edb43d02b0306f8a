import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { CarrierError, type Network } from '../../../adapters/carrier/network.ts'
import { TicketType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { provisionAndActivateId } from '../../../domain/temporal/ids.ts'
import { TICKETS_ENDED } from '../../../domain/temporal/ticket-ends.ts'
import type { Cause } from '../../../domain/tickets/ticket.ts'
import { signalEnds } from '../../../service/tickets/end-tickets.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { cancelTicket, openTicket } from '../../../service/tickets/open-ticket.ts'
import { carryOutWorkflowRequests, type WorkflowDoor } from '../../../service/workflows/carry-out-workflow-requests.ts'
import { requestWorkflows } from '../../../store/outbox.ts'
import { inPlatform, inTenant, type TenantTx } from '../../../store/tenancy.ts'
import { aCarrier } from '../../setup/carrier.ts'
import { aStore, aTenant, someSims } from '../../setup/estate.ts'
import { withOnlySim } from '../../setup/only-sim.ts'

const OPTIONS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 4, patienceMs: 3_600_000 }
const store = await aStore()
const carrier = await aCarrier()
const tenantId = await aTenant(store)

const asTenant = <T>(work: (tx: TenantTx) => Promise<T>) => inTenant(store, tenantId, work)
const aSim = async () => (await asTenant((tx) => someSims(tx, 1)))[0]?.id ?? 0
const open = (simId: number, type: TicketType, cause: Cause) => asTenant((tx) => openTicket(tx, { simId, type, cause }))
const execute = (simId: number, network: Network = carrier.network) =>
  withOnlySim(store, tenantId, simId, () => executeTickets(store, network, OPTIONS, tenantId))
const byWorkflow = (simId: number): Cause => ({ by: 'workflow', workflowId: provisionAndActivateId(tenantId, simId) })
const rows = async () =>
  (
    await inPlatform(store, (tx) =>
      sql<{ workflowId: string; done: boolean }>`
        select workflow_id as "workflowId", done_at is not null as done from workflow_outbox order by id`.execute(tx.q),
    )
  ).rows

/** A Temporal that notes the signals it gets. `refuse` throws instead. */
function aDoor(refuse: () => void = () => {}) {
  const signals: unknown[][] = []
  const no = () => Promise.reject(new Error('not asked for'))
  const signal: WorkflowDoor['signal'] = async (...call) => {
    refuse()
    signals.push(call)
  }
  return { signals, door: { start: no, signalWithStart: no, look: no, signal } satisfies WorkflowDoor }
}
const ears = { onRequestFailed: () => {}, onFailedRun: () => {} }
const COMPLETE = { status: 'complete', code: '', detail: '' }

describe('the ends of a workflow’s tickets', () => {
  test('reach it in their order, as one signal', async () => {
    const simId = await aSim()
    const workflowId = provisionAndActivateId(tenantId, simId)
    const ids = [
      await open(simId, TicketType.Provision, byWorkflow(simId)),
      await open(simId, TicketType.Activate, byWorkflow(simId)),
    ]
    await execute(simId)
    const { signals, door } = aDoor()

    await carryOutWorkflowRequests(store, door, ears)

    expect(signals).toEqual([[workflowId, TICKETS_ENDED, [ids.map((ticketId) => ({ ticketId, ...COMPLETE }))]]])
    expect(await rows()).toEqual([])
  })

  test('are told at once where nothing follows one of them', async () => {
    const simId = await aSim()
    const cause = byWorkflow(simId)
    const end = { status: 'complete', code: '', detail: '' } as const
    const [last, followed] = [crypto.randomUUID(), crypto.randomUUID()]

    await asTenant((tx) =>
      signalEnds(tx, [
        { id: last, cause, end, next: null },
        { id: followed, cause, end, next: cause },
      ]),
    )
    const { signals, door } = aDoor()
    await carryOutWorkflowRequests(store, door, ears)

    expect(signals).toEqual([
      [
        provisionAndActivateId(tenantId, simId),
        TICKETS_ENDED,
        [[last, followed].map((ticketId) => ({ ticketId, ...COMPLETE }))],
      ],
    ])
  })

  test('are told one by one where the second takes longer', async () => {
    const simId = await aSim()
    await open(simId, TicketType.Provision, byWorkflow(simId))
    await open(simId, TicketType.Activate, byWorkflow(simId))
    const { signals, door } = aDoor()
    const told: number[] = []
    const perform: Network['perform'] = async (request) => {
      if (request.operation === 'activate') {
        await carryOutWorkflowRequests(store, door, ears)
        told.push(signals.length)
        store.now += 1000
        await carryOutWorkflowRequests(store, door, ears)
        told.push(signals.length)
      }
      return carrier.network.perform(request)
    }
    await execute(simId, { ...carrier.network, perform })
    await carryOutWorkflowRequests(store, door, ears)

    expect(told).toEqual([0, 1])
    expect(signals).toMatchObject([
      [provisionAndActivateId(tenantId, simId), TICKETS_ENDED, [[COMPLETE]]],
      [provisionAndActivateId(tenantId, simId), TICKETS_ENDED, [[COMPLETE]]],
    ])
  })

  test('say why a ticket failed, and that the next is refused', async () => {
    const simId = await aSim()
    const ids = [
      await open(simId, TicketType.Provision, byWorkflow(simId)),
      await open(simId, TicketType.Activate, byWorkflow(simId)),
    ]
    const refused = new CarrierError('refused', { code: 'line_barred', retryable: false })
    await execute(simId, { ...carrier.network, perform: () => Promise.reject(refused) })
    const { signals, door } = aDoor()

    await carryOutWorkflowRequests(store, door, ears)

    expect(signals).toMatchObject([
      [
        provisionAndActivateId(tenantId, simId),
        TICKETS_ENDED,
        [
          [
            { ticketId: ids[0], status: 'failed', code: 'line_barred' },
            { ticketId: ids[1], status: 'failed', code: 'sim_state_conflict' },
          ],
        ],
      ],
    ])
  })

  test('include a cancelled ticket', async () => {
    const simId = await aSim()
    const id = await open(simId, TicketType.Provision, byWorkflow(simId))
    await asTenant((tx) => cancelTicket(tx, id))
    const { signals, door } = aDoor()

    await carryOutWorkflowRequests(store, door, ears)

    const ended = { ticketId: id, status: 'cancelled', code: 'ticket_cancelled' }
    expect(signals).toMatchObject([[provisionAndActivateId(tenantId, simId), TICKETS_ENDED, [[ended]]]])
  })

  test('are sent again when Temporal is away', async () => {
    const simId = await aSim()
    await open(simId, TicketType.Provision, byWorkflow(simId))
    await execute(simId)
    let away = true
    const { signals, door } = aDoor(() => {
      if (away) throw new ServiceError('unavailable', 'away')
    })
    await carryOutWorkflowRequests(store, door, ears)
    expect(signals).toEqual([])
    await open(simId, TicketType.Activate, byWorkflow(simId))
    await execute(simId)
    away = false
    await carryOutWorkflowRequests(store, door, ears)
    expect(signals).toEqual([])

    store.now += 2000
    await carryOutWorkflowRequests(store, door, ears)

    expect(signals).toMatchObject([[provisionAndActivateId(tenantId, simId), TICKETS_ENDED, [[COMPLETE, COMPLETE]]]])
    expect(await rows()).toEqual([])
  })

  test('are dropped if the workflow has ended', async () => {
    const simId = await aSim()
    await open(simId, TicketType.Provision, byWorkflow(simId))
    await execute(simId)
    const { door } = aDoor(() => {
      throw new ServiceError('workflow_not_running', 'ended')
    })

    await carryOutWorkflowRequests(store, door, ears)

    expect(await rows()).toEqual([])
  })

  test('do not overtake another request', async () => {
    const workflowId = `suspend-on-overage:${tenantId}:7:2026-11`
    const cause = { by: 'watchdog', rule: null, cycle: '2026-11', until: 'manual', workflowId } as const
    const ended = (id: string) => ({
      id,
      cause,
      next: null,
      end: { status: 'complete', code: '', detail: '' } as const,
    })
    await asTenant(async (tx) => {
      await signalEnds(tx, [ended('a')])
      await requestWorkflows(tx, [{ do: 'signal', workflowId, signal: 'cleared' }])
      await signalEnds(tx, [ended('b'), ended('c')])
    })
    const { signals, door } = aDoor()

    await carryOutWorkflowRequests(store, door, ears)

    const ids = signals.map(([, name, args]) => [
      name,
      ...((args as { ticketId: string }[][] | undefined) ?? []).flat().map(({ ticketId }) => ticketId),
    ])
    expect(ids).toEqual([[TICKETS_ENDED, 'a'], ['cleared'], [TICKETS_ENDED, 'b', 'c']])
    expect(await rows()).toEqual([{ workflowId, done: true }])
  })

  test.each<[string, Cause]>([
    ['a person', { by: 'user' }],
    ['a workflow that does not wait', { by: 'workflow', workflowId: `enforce-pool:${tenantId}:1:2026-11` }],
    ['another tenant’s workflow', { by: 'workflow', workflowId: provisionAndActivateId('tother', 1) }],
  ])('are told to nobody where %s asked', async (_, cause) => {
    const before = await rows()
    const simId = await aSim()
    await open(simId, TicketType.Provision, cause)
    await execute(simId)

    expect(await rows()).toEqual(before)
  })
})

/** The tickets of a month end: opened in batches, and how they end. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { CarrierError, type Network } from '../../../adapters/carrier/network.ts'
import { LogLevel, TariffType, TicketType } from '../../../domain/codes.ts'
import { applyChanges, openReturns, retryChanges } from '../../../service/month-end/open-changes.ts'
import { queueReprovision, queueUnprovision } from '../../../service/month-end/queue-change.ts'
import { monthEndCounts, renewCycle } from '../../../service/month-end/steps.ts'
import { setTariffActive } from '../../../service/tariffs/set-tariff-active.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { cancelTicket } from '../../../service/tickets/open-ticket.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { aStore, aTariff } from '../../setup/estate.ts'
import { withOnlySim } from '../../setup/only-sim.ts'
import type { Harness } from '../harness.ts'
import { BOUNDARY, CLOSE, CYCLE, close, inOctober, NEXT, notifications, statement } from './october.ts'

const store = await aStore()
const ALL = { afterSimId: 0, throughSimId: Number.MAX_SAFE_INTEGER }
const OPTIONS = { leaseMs: 1000, retryMinMs: 1, retryMaxMs: 1, attempts: 1, patienceMs: 3_600_000 }

const apply = (harness: Harness, kind: 'unassign' | 'move', range = ALL, key = CYCLE) =>
  harness.asTenant((tx) => applyChanges(tx, key, { kind, ...range }))
const retry = (harness: Harness, kind: 'move' | 'return') =>
  harness.asTenant((tx) => retryChanges(tx, CYCLE, { kind, afterSimId: 0 }))
const counts = (harness: Harness, key = CYCLE) => harness.asTenant((tx) => monthEndCounts(tx, key))
const queueMove = (harness: Harness, id: number, poolId: number) =>
  harness.asTenant((tx) => queueReprovision(tx, { id, poolId }))
const criticals = async (harness: Harness) => (await harness.log()).filter(({ level }) => level === LogLevel.Critical)
/** Executes the open tickets of SIMs; the carrier refuses those of `refused`. */
async function carry(harness: Harness, simIds: readonly number[], refused: readonly number[] = []) {
  for (const simId of simIds) {
    const perform: Network['perform'] = async ({ ticketId }) => {
      if (refused.includes(simId))
        throw new CarrierError('no such line', { code: 'carrier_rejected', retryable: false })
      return { ticketId, effect: 'done' }
    }
    const network = { credential: 'test', perform, ping: async () => {} }
    await withOnlySim(store, harness.tenantId, simId, () => executeTickets(store, network, OPTIONS, harness.tenantId))
  }
}

async function october() {
  const harness = await inOctober(store)
  const [from, to] = [await harness.aPool(), await harness.aPool()]
  return { harness, from, to }
}

/** A SIM whose move is due. */
async function aDueMove() {
  const { harness, from, to } = await october()
  const [simId = 0] = await harness.activeSims(1, { poolId: from })
  await queueMove(harness, simId, to)
  store.now = BOUNDARY.getTime()
  return { harness, simId }
}

/** SIMs that the watchdog has suspended until the renewal. */
async function suspended(harness: Harness, poolId: number, count: number) {
  const sims = await harness.activeSims(count, { poolId })
  const cause = { by: 'watchdog', rule: 'r', cycle: CYCLE, until: 'renewal', workflowId: 'gone' } as const
  for (const simId of sims) await harness.complete({ simId, type: TicketType.Suspend, cause })
  return sims
}
const back = (harness: Harness, simIds: readonly number[]) => harness.asTenant((tx) => openReturns(tx, CYCLE, simIds))

describe('applyChanges', () => {
  test('opens one ticket per change under concurrent calls', async () => {
    const { harness, from, to } = await october()
    const sims = await harness.activeSims(5, { poolId: from })
    for (const id of sims) await queueMove(harness, id, to)
    store.now = BOUNDARY.getTime()

    const atOnce = Array.from({ length: 6 }, () => apply(harness, 'move'))
    const answers = [...(await Promise.all(atOnce)), await apply(harness, 'move')]

    expect(answers.flatMap(({ results }) => results.map(({ simId }) => simId)).toSorted((a, b) => a - b)).toEqual(sims)
    expect(await counts(harness)).toMatchObject({ changes: { total: 5, queued: 0, open: 5, complete: 0, failed: 0 } })
    await carry(harness, sims)
    expect(await counts(harness)).toMatchObject({ move: { total: 5, open: 0, complete: 5 }, unassign: { total: 0 } })
    expect((await apply(harness, 'move')).results).toEqual([])
  })

  test('takes a range and kind queued before the boundary', async () => {
    const { harness, from, to } = await october()
    const [a = 0, b = 0, c = 0, d = 0] = await harness.activeSims(4, { poolId: from })
    for (const id of [a, b]) await queueMove(harness, id, to)
    await harness.asTenant((tx) => queueUnprovision(tx, c))
    store.now = BOUNDARY.getTime()
    await queueMove(harness, d, to)

    expect((await apply(harness, 'move', { afterSimId: a, throughSimId: d })).results).toMatchObject([{ simId: b }])
    expect((await apply(harness, 'unassign')).results).toMatchObject([{ simId: c }])
    expect(await counts(harness)).toMatchObject({
      move: { total: 2, queued: 1, open: 1 },
      unassign: { total: 1, queued: 0, open: 1 },
      changes: { total: 3, queued: 1, open: 2 },
    })
  })

  test('logs a refused change once, opens the others', async () => {
    const { harness, from, to } = await october()
    const tariff = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 5))
    const [moved = 0, refused = 0] = await harness.activeSims(2, { poolId: from })
    await queueMove(harness, moved, to)
    await harness.asTenant((tx) => queueReprovision(tx, { id: refused, tariffId: tariff.id }))
    await harness.asTenant((tx) => setTariffActive(tx, { id: tariff.id, isActive: false }))
    store.now = BOUNDARY.getTime()

    const { results } = await apply(harness, 'move')
    const again = await retry(harness, 'move')

    expect(results).toMatchObject([
      { simId: moved, ticketId: expect.any(String), code: null },
      { simId: refused, ticketId: null, code: 'tariff_inactive', detail: expect.stringContaining('assignments') },
    ])
    expect(again.results).toMatchObject([{ simId: refused, ticketId: null, code: 'tariff_inactive' }])
    expect(await criticals(harness)).toMatchObject([{ simId: refused, cycle: CYCLE }])
    expect(await counts(harness)).toMatchObject({ move: { total: 2, open: 1, failed: 1 } })
  })

  test('keeps failed and cancelled changes for a retry', async () => {
    const { harness, from, to } = await october()
    const [failing = 0, cancelled = 0] = await harness.activeSims(2, { poolId: from })
    for (const id of [failing, cancelled]) await queueMove(harness, id, to)
    store.now = BOUNDARY.getTime()
    const { results } = await apply(harness, 'move')
    await harness.asTenant((tx) => cancelTicket(tx, results[1]?.ticketId ?? ''))
    await carry(harness, [failing], [failing])

    expect(await counts(harness)).toMatchObject({ move: { total: 2, failed: 2, open: 0 } })
    expect((await criticals(harness)).map(({ message }) => message)).toEqual([
      expect.stringContaining('was cancelled while it was pending (ticket_cancelled)'),
      expect.stringContaining('the carrier refused it (carrier_rejected)'),
    ])
    expect((await apply(harness, 'move')).results).toEqual([])
    await retry(harness, 'move')
    await carry(harness, [failing, cancelled])
    expect(await counts(harness)).toMatchObject({ move: { total: 2, complete: 2, failed: 0 } })
    expect(await criticals(harness)).toHaveLength(2)
    expect((await harness.ledger()).filter(({ cycle, poolId }) => cycle === '2026-11' && poolId === to)).toHaveLength(2)
  })

  test('opens one ticket per retry step, however late', async () => {
    const { harness, simId } = await aDueMove()
    await apply(harness, 'move')
    await carry(harness, [simId], [simId])
    const workflowId = `month-end-reprovision:${harness.tenantId}:${CYCLE}`
    const by = { keyId: 'k', actor: 'key:k', requestId: 'r', action: 'retryCycleChanges', workflowId }
    const step = (idempotencyKey: string) =>
      inTenant({ ...store, caller: { ...by, idempotencyKey } }, harness.tenantId, (tx) =>
        retryChanges(tx, CYCLE, { kind: 'move', afterSimId: 0 }),
      )

    const first = await step('step-7')
    await carry(harness, [simId], [simId])
    // The response stored for a key is deleted after a day: this repeats the operation under the same key.
    const late = await step('step-7')
    expect([first.results.length, late.results]).toEqual([1, []])
    expect(await counts(harness)).toMatchObject({ move: { open: 0, failed: 1 } })
    const another = await step('step-8')
    expect(another.results).toMatchObject([{ simId, ticketId: expect.any(String) }])
    expect(another.results[0]?.ticketId).not.toBe(first.results[0]?.ticketId)
  })

  test('completes a no-op move without the carrier', async () => {
    const { harness, from } = await october()
    const [simId = 0] = await harness.activeSims(1, { poolId: from })
    await queueMove(harness, simId, from)
    store.now = BOUNDARY.getTime()
    await apply(harness, 'move')
    await carry(harness, [simId], [simId])

    expect(await counts(harness)).toMatchObject({ move: { total: 1, complete: 1 } })
    expect(await harness.rows(sql`select 1 from sims where pending_since is not null`)).toEqual([])
    store.now = Date.parse('2026-12-01T00:00:00Z')
    expect(await counts(harness, NEXT)).toMatchObject({ changes: { total: 0 } })
  })

  test('skips SIMs with an open month-end ticket', async () => {
    const { harness, simId } = await aDueMove()
    await apply(harness, 'move')
    store.now = Date.parse('2026-12-01T00:00:00Z')

    expect((await apply(harness, 'move', ALL, NEXT)).results).toEqual([])
    expect(await counts(harness, NEXT)).toMatchObject({ changes: { total: 0 } })
    await carry(harness, [simId], [simId])
    expect((await apply(harness, 'move', ALL, NEXT)).results).toMatchObject([{ simId }])
  })

  test('leaves a closed cycle’s changes to the next', async () => {
    const { harness, simId } = await aDueMove()
    store.now = CLOSE
    await close(harness)
    const lines = await statement(harness)

    await expect(apply(harness, 'move')).rejects.toMatchObject({ code: 'cycle_closed' })
    store.now = Date.parse('2026-12-01T00:00:00Z')
    expect((await apply(harness, 'move', ALL, NEXT)).results).toMatchObject([{ simId }])
    expect(await statement(harness)).toEqual(lines)
  })
})

describe('openReturns', () => {
  test('brings SIMs back once, except those that leave', async () => {
    const { harness, from } = await october()
    const [returning = 0, leaving = 0] = await suspended(harness, from, 2)
    const [active = 0] = await harness.activeSims(1, { poolId: from })
    await harness.asTenant((tx) => queueUnprovision(tx, leaving))
    store.now = BOUNDARY.getTime()
    await harness.asTenant((tx) => renewCycle(tx, CYCLE))
    await apply(harness, 'unassign')

    const { results } = await back(harness, [returning, leaving, active])
    expect(results).toMatchObject([
      { simId: returning, ticketId: expect.any(String) },
      { simId: leaving, ticketId: null, code: 'sim_state_conflict' },
    ])
    expect((await back(harness, [returning, leaving])).results).toMatchObject([{ simId: leaving, ticketId: null }])
    expect(await counts(harness)).toMatchObject({ renewals: { total: 2, queued: 1, open: 1 } })
    await carry(harness, [returning, leaving])
    expect(await counts(harness)).toMatchObject({
      renewals: { total: 2, queued: 0, open: 0, complete: 1, released: 1, failed: 0 },
      unassign: { total: 1, complete: 1 },
    })
    expect(await criticals(harness)).toEqual([])
  })

  test('logs a failed return and allows a retry', async () => {
    const { harness, from } = await october()
    const [simId = 0] = await suspended(harness, from, 1)
    store.now = BOUNDARY.getTime()
    await back(harness, [simId])
    await carry(harness, [simId], [simId])

    expect(await counts(harness)).toMatchObject({ renewals: { total: 1, failed: 1 } })
    expect(await criticals(harness)).toMatchObject([
      { simId, message: expect.stringContaining('was not brought back') },
    ])
    await retry(harness, 'return')
    await carry(harness, [simId])
    expect(await counts(harness)).toMatchObject({ renewals: { total: 1, complete: 1, failed: 0 } })
  })
})

describe('closeCycle', () => {
  test('mails what became of changes and suspensions', async () => {
    const { harness, from, to } = await october()
    const [moved = 0, failing = 0, leaving = 0] = await harness.activeSims(3, { poolId: from })
    const [returning = 0, stays = 0] = await suspended(harness, from, 2)
    for (const id of [moved, failing]) await queueMove(harness, id, to)
    await harness.asTenant((tx) => queueUnprovision(tx, leaving))
    store.now = BOUNDARY.getTime()
    await apply(harness, 'unassign')
    await apply(harness, 'move')
    await back(harness, [returning, stays])
    await carry(harness, [moved, failing, leaving, returning, stays], [failing, stays])
    store.now = CLOSE

    await close(harness)

    const summaries = (await notifications(harness)).map(({ body }) => body).filter(({ kind }) => kind === 'summary')
    const figures = { movesApplied: 1, movesFailed: 1, unassigned: 1, reactivated: 1, stillSuspended: 1 }
    expect(summaries).toMatchObject([{ figures }])
    const titles = await harness.rows(sql<{ text: string }>`
      select description as text from events where title like 'Billing cycle%'`)
    expect(titles).toMatchObject([
      { text: expect.stringContaining('1 SIM moved, 1 unassigned, 1 brought back, 1 change failed.') },
    ])
  })
})

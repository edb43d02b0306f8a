/** Suspensions that the carrier refuses for good: which SIMs enforcement leaves alone, and until when. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { CarrierError } from '../../../adapters/carrier/network.ts'
import { TicketType } from '../../../domain/codes.ts'
import { pickFromPool } from '../../../rules/alerts/pick-sims.ts'
import { takeSuspendStart } from '../../../service/enforcement/start-suspension.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { releaseRun, rememberStarts } from '../../../store/outbox.ts'
import { aStore } from '../../setup/estate.ts'
import { aPoolOf, byWatchdog, RULE } from './enforced-pool.ts'

const store = await aStore()
const OPTIONS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 1, patienceMs: 3_600_000 }

/** A pool in Enforce mode, over because of two SIMs, and the carrier's answer to a suspension of the larger one. */
async function aPoolOver(answer: { readonly code: string; readonly retryable: boolean }) {
  const harness = await aPoolOf(store, 2)
  const { tenantId, asTenant, poolId } = harness
  const [larger = 0, smaller = 0] = harness.sims
  await harness.use(400, 300)
  const fireAnew = () => harness.fire({ kind: 'pool', id: poolId })
  await fireAnew()
  const workflowId = harness.runOf(larger)
  const cause = byWatchdog(workflowId)
  await asTenant((tx) => rememberStarts(tx, [workflowId]))
  store.now += 1000
  await asTenant((tx) => openTicket(tx, { simId: larger, type: TicketType.Suspend, cause }))
  const perform = () => Promise.reject(new CarrierError('no', answer))
  await executeTickets(store, { credential: 'test', perform, ping: async () => {} }, OPTIONS, tenantId)
  store.now += 1000
  return {
    ...harness,
    larger,
    smaller,
    workflowId,
    fireAnew,
    refused: async (rule: string | null = RULE) => (await harness.sim(larger, rule)).refused,
    picked: async () => pickFromPool('largestExcess', await harness.pool()).targets,
  }
}
const REFUSED = { code: 'line_barred', retryable: false }

describe('a suspension that the carrier refuses for good', () => {
  test('is left until the rule fires anew', async () => {
    const pool = await aPoolOver(REFUSED)
    expect([await pool.refused(), await pool.refused(null)]).toEqual([true, true])
    expect(await pool.picked()).toEqual([pool.smaller])

    await pool.fireAnew()
    expect(await pool.refused()).toBe(false)
    expect(await pool.picked()).toEqual([pool.larger, pool.smaller])
  })

  test('is tried again when a person asks', async () => {
    const pool = await aPoolOver(REFUSED)
    const ask = () => pool.asTenant((tx) => takeSuspendStart(tx, { simId: pool.larger, rule: RULE }))
    const signals = () => pool.rows(sql<{ signal: string }>`select request ->> 'signal' as signal from workflow_outbox`)

    expect(await ask()).toMatchObject({ do: 'answer' })
    expect(await pool.refused()).toBe(false)
    expect(await signals()).toEqual([{ signal: 'ticketsEnded' }, { signal: 'overLimit' }])
    await ask()
    expect(await signals()).toHaveLength(2)
  })

  test('is tried again by a run that is retried', async () => {
    const pool = await aPoolOver(REFUSED)
    await pool.asTenant((tx) => releaseRun(tx, pool.workflowId))

    expect(await pool.refused()).toBe(false)
  })
})

test.each(['carrier_unavailable', 'carrier_timeout'])('a ticket that fails by %s is no refusal', async (code) => {
  const pool = await aPoolOver({ code, retryable: true })

  expect(await pool.refused()).toBe(false)
  expect(await pool.picked()).toEqual([pool.larger, pool.smaller])
})

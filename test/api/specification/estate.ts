/** What tests of the service document need beyond its interface: completed tickets, a carrier, usage, log entries. */
import { sql } from 'kysely'
import { beforeAll } from 'vitest'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { startAttempts } from '../../../service/tickets/rows/batches.ts'
import { findTicket } from '../../../service/tickets/rows/tickets.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket } from '../../service/harness.ts'
import type { aBridge } from '../../setup/bridge.ts'
import { withOnlySim } from '../../setup/only-sim.ts'
import { aPool, aSim, type Harness, type Tenant } from '../harness.ts'

/** An id that does not exist. */
export const NOBODY = 4_711_000
export const NO_TICKET = '11111111-1111-4111-8111-111111111111'

export const ids = (body: { data: { id: number }[] }) => body.data.map(({ id }) => id)

/** Moves a SIM to another pool as the month end does; the SIM keeps its own tariff. */
export async function moved(harness: Harness, tenant: Tenant, simId: number, poolId: number): Promise<void> {
  const cause = { by: 'month-end', cycle: '2026-10' }
  const { body } = await tenant.inside('POST', '/internal/tickets/provision', { simId, poolId, cause })
  await complete(harness, tenant, simId, body.id)
}

/** Completes an open ticket without a carrier. */
export const complete = (harness: Harness, tenant: Tenant, simId: number, ticketId: string): Promise<void> =>
  inTenant(harness.store, tenant.id, (tx) => endTicket(tx, simId, ticketId))

const OPTIONS = { leaseMs: 10_000, retryMinMs: 1000, retryMaxMs: 60_000, attempts: 1, patienceMs: 3_600_000 }

/** Executes the open tickets of SIMs, as a worker does. @returns the requests to the carrier, in order */
export async function workOff(
  harness: Harness,
  tenant: Tenant,
  bridge: Awaited<ReturnType<typeof aBridge>>,
  simIds: readonly number[],
) {
  const before = bridge.requests.length
  const { store } = harness
  for (const simId of simIds) {
    await withOnlySim(store, tenant.id, simId, () => executeTickets(store, bridge.network, OPTIONS, tenant.id))
  }
  return bridge.requests.slice(before)
}

/** Sets a ticket to Processing, as a worker does before it calls the carrier. */
export const claim = (harness: Harness, tenant: Tenant, ticketId: string): Promise<void> =>
  inTenant(harness.store, tenant.id, async (tx) => {
    const ticket = await findTicket(tx, ticketId)
    if (ticket === undefined) throw new Error(`ticket ${ticketId} is gone`)
    await startAttempts(tx, [ticket], new Date(harness.now + 60_000))
  })

let serial = 0
export async function used(harness: Harness, tenant: Tenant, simId: number, also: object): Promise<void> {
  const record = { recordId: `used-${++serial}`, simId, at: new Date(harness.now).toISOString(), ...also }
  const answer = await tenant.inside('POST', '/internal/usage', { records: [record] })
  if (answer.body.accepted !== 1) throw new Error(JSON.stringify(answer.body))
}

export const inactive = async (tenant: Tenant, tariffId: number): Promise<void> => {
  const answer = await tenant.inside('PATCH', `/internal/tariffs/${tariffId}`, { isActive: false })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
}

export const logged = (
  harness: Harness,
  tenant: Tenant,
  entries: readonly (readonly [sim: number | null, pool: number | null, level: number, message: string, at: string])[],
) =>
  inTenant(harness.store, tenant.id, async (tx) => {
    for (const [sim, pool, level, message, at] of entries) {
      await sql`insert into watchdog_log (dedupe_key, sim_id, pool_id, level, message, at)
        values (${message}, ${sim}, ${pool}, ${level}, ${message}, ${at}::timestamptz)`.execute(tx.q)
    }
  })

/** Creates two SIMs, two pools and four log entries; another tenant has a log entry too. */
export function useLog(harness: Harness) {
  const log = { simId: 0, poolId: 0 }
  beforeAll(async () => {
    const { tenant } = harness
    const [sim, elsewhere] = [(await aSim(tenant)).id, (await aSim(tenant)).id]
    const [pool, otherPool] = [await aPool(tenant), await aPool(tenant)]
    await logged(harness, tenant, [
      [sim, null, 1, 'a: 80 % of SIM', '2026-11-19T23:59:59.999Z'],
      [null, pool, 0, 'b: 80 % of pool', '2026-11-20T00:00:00Z'],
      [sim, pool, 2, 'c: under_scored', '2026-11-20T12:00:00Z'],
      [elsewhere, otherPool, 1, 'd: Elsewhere', '2026-11-21T00:00:00Z'],
    ])
    await logged(harness, harness.other, [[null, null, 2, 'e: 80 % of theirs', '2026-11-20T00:00:00Z']])
    Object.assign(log, { simId: sim, poolId: pool })
  })
  return log
}

/** Queries of that log, and the entries that each finds, newest first: in the estate's log, the SIM's, the pool's. */
const LOG_QUERIES = [
  ['', 'dcba', 'ca', 'cb'],
  ['searchTerm=80', 'ba', 'a', 'b'],
  ['searchTerm=ELSE', 'd', '', ''],
  ['searchTerm=%25', 'ba', 'a', 'b'],
  ['searchTerm=_', 'c', 'c', 'c'],
  ['searchTerm=', 'dcba', 'ca', 'cb'],
  ['date=2026-11-20', 'cb', 'c', 'cb'],
  ['date=2026-11-20T00:00:00Z', 'dcb', 'c', 'cb'],
  ['date=2026-11-20T13:00:00%2B01:00', 'dc', 'c', 'c'],
  ['date=', 'dcba', 'ca', 'cb'],
  ['level=0', 'b', '', 'b'],
  ['level=1', 'da', 'a', ''],
  ['level=2', 'c', 'c', 'c'],
  ['pageSize=2', 'dc', 'ca', 'cb'],
  ['page=2&pageSize=1', 'c', 'a', 'b'],
  ['page=9', '', '', ''],
  ['searchTerm=80&level=1&date=2026-11-19', 'a', 'a', ''],
] as const

/** Queries of that log and the entries they find in one of these three. */
export const logQueries = (view: 'estate' | 'sim' | 'pool') =>
  LOG_QUERIES.map(([query, estate, sim, pool]) => [query, { estate, sim, pool }[view]] as const)

/** Refused queries of that log, each with the parameter that the response names. */
export const BAD_LOG_QUERIES: readonly (readonly [query: string, parameter: string])[] = [
  ['level=3', 'level'],
  ['level=-1', 'level'],
  ['level=Info', 'level'],
  ['date=yesterday', 'date'],
  ['date=2026-02-30', 'date'],
  ['date=2026-11-20T12:00:00', 'date'],
  ['page=0', 'page'],
  ['pageSize=101', 'pageSize'],
  ['level=1&level=2', 'level'],
]

/** The first letters of a page's entries. */
export const letters = (body: { data: { message: string }[] }) => body.data.map(({ message }) => message[0]).join('')

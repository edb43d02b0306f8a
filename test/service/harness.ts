/** The harness for tests of `service/`: a tenant for one test, whose tickets complete at once, without a carrier. */
import { sql } from 'kysely'
import { PoolType, TariffType, TicketStatus, TicketType } from '../../domain/codes.ts'
import type { PermitRequest } from '../../domain/enforcement/guard.ts'
import type { OperatorNotice } from '../../domain/notifications/operator-notice.ts'
import type { Cause } from '../../domain/tickets/ticket.ts'
import { askPermits } from '../../service/enforcement/ask-permits.ts'
import { readsUsage, rulesInForce } from '../../service/rules/rules-in-force.ts'
import { lockSim } from '../../service/sims/rows/sim-state.ts'
import { applyTickets } from '../../service/tickets/apply-tickets.ts'
import { endTickets } from '../../service/tickets/end-tickets.ts'
import { type OpenTicketRequest, openTicket } from '../../service/tickets/open-ticket.ts'
import { writeTicketEnds } from '../../service/tickets/rows/batches.ts'
import { findTicket, type TicketFailure } from '../../service/tickets/rows/tickets.ts'
import { currentCycle } from '../../service/usage/rows/cycles.ts'
import { evaluateSubjects } from '../../service/watchdog/evaluate-subjects.ts'
import type { EvaluationOptions } from '../../service/watchdog/evaluation-options.ts'
import { sweepSubjects } from '../../service/watchdog/sweep-subjects.ts'
import type { Store, TenantTx } from '../../store/tenancy.ts'
import { aPool, aTariff, aTenantOf, someSims, type TestStore } from '../setup/estate.ts'
import { recordUsage } from './record-usage.ts'

const USER: Cause = { by: 'user' }

/** Options of an evaluation by the rules in force. */
export const evaluationOptions = (): EvaluationOptions => ({
  rules: rulesInForce(),
  groupFirstMs: 60_000,
  groupNextMs: 3_600_000,
  onFailed: ({ error }) => {
    throw error
  },
})

/** Asks whether a rule in force may suspend SIMs now. */
export const askedPermits = (tx: TenantTx, ask: PermitRequest) => askPermits(tx, ask, readsUsage(rulesInForce()))

/** Looks at all shards that are due, then at all that has changed or is due. */
export async function watch(store: Store, options: EvaluationOptions, tenantId: string): Promise<void> {
  while (await sweepSubjects(store, options, tenantId));
  await evaluateSubjects(store, options, tenantId)
}

/** Opens a ticket and completes it as if the carrier had accepted it. */
export async function complete(tx: TenantTx, ask: Omit<OpenTicketRequest, 'cause'> & { cause?: Cause }): Promise<void> {
  await endTicket(tx, ask.simId, await openTicket(tx, { cause: USER, ...ask }))
}

/** Completes an open ticket of a SIM as if the carrier had accepted it. */
export async function endTicket(tx: TenantTx, simId: number, id: string): Promise<void> {
  const [sim, ticket] = [await lockSim(tx, simId), await findTicket(tx, id)]
  if (sim === undefined || ticket === undefined) throw new Error(`ticket ${id} of SIM ${simId} is gone`)
  await applyTickets(tx, [{ sim, ticket }])
  await writeTicketEnds(tx, [{ ticket, status: TicketStatus.Complete, failure: null }])
}

/** Fails an open ticket, as the carrier's answer would. */
export async function failTicket(tx: TenantTx, id: string, failure: TicketFailure): Promise<void> {
  const ticket = await findTicket(tx, id)
  if (ticket === undefined) throw new Error(`ticket ${id} is gone`)
  await endTickets(tx, [{ ticket, failure }])
}

/** All notices to the operator, the oldest first. */
export async function operatorNotices(store: Store) {
  const { rows } = await sql<{ tenant: string | null; body: OperatorNotice; count: number; mailId: string | null }>`
    select tenant_id as tenant, body, count, mail_id as "mailId" from operator_notices order by id`.execute(store.db)
  return rows
}

export interface LedgerRow {
  readonly cycle: string
  readonly simId: number
  readonly poolId: number
  readonly contributing: boolean
  readonly bytes: number
  readonly voiceSeconds: number
  readonly smsCount: number
}

export async function aHarness(store: TestStore, billingCycle = 'P1M') {
  const { tenantId, asTenant, rows } = await aTenantOf(store, billingCycle)
  // Opens the current cycle, as the sweep does at a boundary: otherwise several tickets might open it at once.
  await asTenant(currentCycle)
  let number = 0
  return {
    tenantId,
    asTenant,
    rows,
    /** A pool with a tariff of its own. @returns its id */
    aPool: (type: TariffType = TariffType.Standard, bytes = 1000, also: Parameters<typeof aPool>[2] = {}) =>
      asTenant(async (tx) => {
        const of = type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard
        return (await aPool(tx, (await aTariff(tx, type, bytes)).id, { type: of, ...also })).id
      }),
    unprovisioned: async (count: number) => (await asTenant((tx) => someSims(tx, count))).map(({ id }) => id),
    /** Provisions and activates SIMs. @returns their ids */
    activeSims: (count: number, assignment: { poolId?: number; tariffId?: number } = {}) =>
      asTenant(async (tx) => {
        const sims = await someSims(tx, count)
        for (const { id: simId } of sims) {
          await complete(tx, { simId, type: TicketType.Provision, ...assignment })
          await complete(tx, { simId, type: TicketType.Activate })
        }
        return sims.map(({ id }) => id)
      }),
    complete: (ask: Parameters<typeof complete>[1]) => asTenant((tx) => complete(tx, ask)),
    record: (values: readonly unknown[], firstIndex?: number) => recordUsage(store, tenantId, values, { firstIndex }),
    /** A usage record of a SIM: nothing was used, now, unless `also` says otherwise. */
    usage: (simId: number, also: object = {}) => ({
      recordId: `r${number++}`,
      simId,
      at: new Date(store.now).toISOString(),
      bytesUp: 0,
      ...also,
    }),
    ledger: () =>
      rows(sql<LedgerRow>`
        select cycle_key as cycle, sim_id as "simId", pool_id as "poolId", contributing, bytes,
               voice_seconds as "voiceSeconds", sms_count as "smsCount"
          from usage_ledger order by cycle_key, sim_id, pool_id`),
    log: () =>
      rows(sql<{
        key: string
        level: number
        simId: number | null
        poolId: number | null
        cycle: string | null
        message: string
      }>`
        select dedupe_key as key, level, sim_id as "simId", pool_id as "poolId", cycle_key as cycle, message
          from watchdog_log order by id`),
  }
}
export type Harness = Awaited<ReturnType<typeof aHarness>>

/** A tenant with an Active SIM outside pools. */
export async function oneActiveSim(store: TestStore) {
  const harness = await aHarness(store)
  const [simId = 0] = await harness.activeSims(1)
  return { ...harness, simId }
}

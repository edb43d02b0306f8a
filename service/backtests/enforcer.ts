/**
 * Does the work of the enforcing workflows at once: a replay has no Temporal and no carrier, so each ticket is done as
 * soon as it is opened. Graces are waited for.
 */
import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { refusalOf } from '../../domain/enforcement/refusal.ts'
import type { EnforcePoolInput } from '../../domain/temporal/enforce-pool.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { OutboxRequest } from '../../domain/temporal/outbox.ts'
import type { SuspendOnOverageInput } from '../../domain/temporal/suspend-on-overage.ts'
import type { Cause } from '../../domain/tickets/ticket.ts'
import { durationMs } from '../../domain/time/duration.ts'
import { pickFromPool } from '../../rules/alerts/pick-sims.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { armSims } from '../enforcement/arm-sims.ts'
import { askPermits, type ReadsUsage } from '../enforcement/ask-permits.ts'
import { logAction } from '../enforcement/log-action.ts'
import { poolEnforcement, simEnforcement } from '../enforcement/read-enforcement.ts'
import { lockSim } from '../sims/rows/sim-state.ts'
import { applyTickets } from '../tickets/apply-tickets.ts'
import { type OpenTicketRequest, openTicket } from '../tickets/open-ticket.ts'
import { writeTicketEnds } from '../tickets/rows/batches.ts'
import { findTicket } from '../tickets/rows/tickets.ts'
import { currentCycle } from '../usage/rows/cycles.ts'
import { renewedSims, requestsAfter } from './rows/due.ts'

/** A run of suspend-on-overage. */
interface SimRun {
  readonly input: SuspendOnOverageInput
  /** When its grace is over, epoch milliseconds; null: the suspension is not wanted. */
  dueAt: number | null
  /** Its grace has passed, and it waits for usage. */
  isDelayed: boolean
  suspended: number
  broughtBack: number
}

export interface Enforcer {
  /** Carries out new requests and due work. @returns whether a SIM has changed */
  readonly act: () => Promise<boolean>
  /** When a grace is over next, epoch milliseconds; null: none runs. */
  readonly nextAt: () => number | null
}

export function openEnforcer(store: Store, tenantId: string, ofUsage: ReadsUsage): Enforcer {
  const asTenant = <T>(work: (tx: TenantTx) => Promise<T>): Promise<T> => inTenant(store, tenantId, work)
  const sims = new Map<string, SimRun>()
  const pools = new Map<string, { readonly input: EnforcePoolInput; readonly armed: Set<number> }>()
  let last = 0
  let hasChanged = false

  const ticket = (tx: TenantTx, type: TicketType, { input }: SimRun, workflowId: string): Promise<void> => {
    const { rule, cycleKey: cycle, until } = input
    const cause: Cause = { by: 'watchdog', rule, cycle, until, workflowId }
    return complete(tx, { simId: input.simId, type, cause })
  }

  async function suspend(workflowId: string, run: SimRun): Promise<void> {
    const { simId, rule, cycleKey: cycle, until } = run.input
    run.dueAt = null
    await asTenant(async (tx) => {
      if (refusalOf(await simEnforcement(tx, simId, cycle, rule)) !== null) return
      const ask = { rule: rule ?? '', cycle, simIds: [simId], workflowId }
      const { granted, delayed } = await askPermits(tx, ask, ofUsage)
      run.isDelayed = delayed.includes(simId)
      if (!granted.includes(simId)) return
      await ticket(tx, TicketType.Suspend, run, workflowId)
      const detail = `suspended by rule ${rule ?? 'of a person'} until ${until}`
      await logAction(tx, { simId, cycle, rule, action: 'suspended', counter: run.suspended, detail, workflowId })
      run.suspended += 1
      hasChanged = true
    })
  }

  async function bringBack(workflowId: string, run: SimRun, because: string): Promise<void> {
    const { simId, rule, cycleKey: cycle } = run.input
    run.dueAt = null
    await asTenant(async (tx) => {
      const { suspension } = await simEnforcement(tx, simId, cycle, rule)
      if (suspension?.workflowId !== workflowId) return
      await ticket(tx, TicketType.Activate, run, workflowId)
      await logAction(tx, {
        simId,
        cycle,
        rule,
        action: 'broughtBack',
        counter: run.broughtBack,
        detail: because,
        workflowId,
      })
      run.broughtBack += 1
      hasChanged = true
    })
  }

  async function pick(workflowId: string, { input, armed }: { input: EnforcePoolInput; armed: Set<number> }) {
    const { poolId, cycleKey: cycle, rule, ruleFile, target, grace, until } = input
    await asTenant(async (tx) => {
      const pool = await poolEnforcement(tx, poolId, cycle, rule)
      const { targets } = pool.over && pool.enforcementEnabled ? pickFromPool(target, pool) : { targets: [] }
      if (targets.length === 0) return
      const { granted } = await askPermits(tx, { rule, cycle, poolId, simIds: [...targets], workflowId }, ofUsage)
      if (granted.length === 0) return
      for (const simId of granted) armed.add(simId)
      const ask = { simIds: [...granted], cycle, rule, ruleFile, grace, until, signal: 'overLimit' as const }
      await armSims(tx, ask)
    })
  }

  async function toSim(workflowId: string, run: SimRun, signal: string): Promise<void> {
    if (signal === 'overLimit') run.dueAt ??= store.clock() + (run.isDelayed ? 0 : durationMs(run.input.grace))
    else run.isDelayed = false
    if (signal === 'standDown' || signal === 'personActed') run.dueAt = null
    if (signal === 'cleared' && run.input.until !== 'manual') await bringBack(workflowId, run, 'under its limit again')
  }

  async function obey(request: OutboxRequest): Promise<void> {
    if (request.do === 'start') return
    const { workflowId, signal } = request
    if (request.do === 'signalWithStart') {
      if (request.type === 'enforce-pool') pools.set(workflowId, { input: request.input, armed: new Set() })
      else sims.set(workflowId, { input: request.input, dueAt: null, isDelayed: false, suspended: 0, broughtBack: 0 })
    }
    const [sim, pool] = [sims.get(workflowId), pools.get(workflowId)]
    if (sim !== undefined) await toSim(workflowId, sim, signal)
    if (pool === undefined) return
    if (signal === 'overLimit') await pick(workflowId, pool)
    if (signal === 'cleared' || signal === 'standDown') {
      for (const simId of pool.armed) {
        const own = suspendOnOverageId(tenantId, simId, pool.input.cycleKey)
        const run = sims.get(own)
        if (run !== undefined) await toSim(own, run, signal)
      }
    }
  }

  /** Brings back SIMs whose billing cycle is renewed. */
  async function renew(): Promise<void> {
    const { key } = await asTenant(currentCycle)
    for (const { workflowId } of await asTenant((tx) => renewedSims(tx, key))) {
      const run = sims.get(workflowId)
      if (run !== undefined) await bringBack(workflowId, run, 'renewed')
    }
  }

  return {
    act: async () => {
      hasChanged = false
      await renew()
      for (;;) {
        const asked = await asTenant((tx) => requestsAfter(tx, last))
        last = asked.at(-1)?.id ?? last
        for (const { request } of asked) await obey(request)
        const due = [...sims].filter(([, { dueAt }]) => dueAt !== null && dueAt <= store.clock())
        for (const [workflowId, run] of due) await suspend(workflowId, run)
        if (asked.length === 0 && due.length === 0) return hasChanged
      }
    },
    nextAt: () => {
      const due = [...sims.values()].flatMap(({ dueAt }) => dueAt ?? [])
      return due.length === 0 ? null : Math.min(...due)
    },
  }
}

/** Opens a ticket and completes it at once. */
async function complete(tx: TenantTx, ask: OpenTicketRequest): Promise<void> {
  const id = await openTicket(tx, ask)
  const [sim, ticket] = [await lockSim(tx, ask.simId), await findTicket(tx, id)]
  if (sim === undefined || ticket === undefined) throw new Error(`ticket ${id} of SIM ${ask.simId} is gone`)
  await applyTickets(tx, [{ sim, ticket }])
  await writeTicketEnds(tx, [{ ticket, status: TicketStatus.Complete, failure: null }])
}

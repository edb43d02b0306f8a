/**
 * Does the work of the enforcing workflows at once: a replay has no Temporal and no carrier, so each ticket is done as
 * soon as it is opened. Graces are waited for.
 */
import { TicketStatus, TicketType } from '../../domain/codes.ts'
import { answerOfGuard, refusalOf } from '../../domain/enforcement/refusal.ts'
import { beginSuspension, step } from '../../domain/enforcement/suspension.ts'
import {
  ACTIVE,
  GO_ON,
  type SuspensionCommand,
  type SuspensionEvent,
  type SuspensionState,
} from '../../domain/enforcement/suspension-state.ts'
import type { EnforcePoolInput } from '../../domain/temporal/enforce-pool.ts'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { OutboxRequest } from '../../domain/temporal/outbox.ts'
import type { SuspendSignal } from '../../domain/temporal/signals.ts'
import type { SuspendOnOverageInput } from '../../domain/temporal/suspend-on-overage.ts'
import { TICKETS_ENDED } from '../../domain/temporal/ticket-ends.ts'
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

/** A run of suspend-on-overage, until it has ended. */
interface SimRun {
  readonly workflowId: string
  readonly input: SuspendOnOverageInput
  state: SuspensionState
  /** When it goes on, epoch milliseconds; null: once it is signalled. */
  wakesAt: number | null
}

/** Another run or a person is responsible for the SIM. */
const NOT_ITS_OWN = { type: 'failed', code: 'sim_state_conflict', detail: 'not suspended by this run' } as const

export interface Enforcer {
  /** Carries out new requests and due work. @returns whether a SIM has changed */
  readonly act: () => Promise<boolean>
  /** When a grace or another wait ends next, epoch milliseconds; null: none runs. */
  readonly nextAt: () => number | null
}

export function openEnforcer(store: Store, tenantId: string, ofUsage: ReadsUsage): Enforcer {
  const asTenant = <T>(work: (tx: TenantTx) => Promise<T>): Promise<T> => inTenant(store, tenantId, work)
  const sims = new Map<string, SimRun>()
  const pools = new Map<string, { readonly input: EnforcePoolInput; readonly armed: Set<number> }>()
  let last = 0
  let hasChanged = false

  const ticket = (tx: TenantTx, type: TicketType, { input, workflowId }: SimRun): Promise<void> => {
    const { simId, rule, cycleKey: cycle, until } = input
    hasChanged = true
    return complete(tx, { simId, type, cause: { by: 'watchdog', rule, cycle, until, workflowId } })
  }

  /** Carries out all that follows until the run waits or has ended. */
  async function goOn(run: SimRun): Promise<void> {
    for (let next: SuspensionEvent | null = GO_ON; next !== null; ) {
      const { state, commands } = step(run.state, next, store.clock())
      run.state = state
      next = GO_ON
      for (const command of commands) {
        run.wakesAt = command.do === 'wait' ? command.at : null
        if (command.do === 'end') sims.delete(run.workflowId)
        next = command.do === 'wait' || command.do === 'end' ? null : await asTenant((tx) => carryOut(tx, run, command))
      }
    }
  }

  async function carryOut(tx: TenantTx, run: SimRun, command: SuspensionCommand): Promise<SuspensionEvent> {
    const { workflowId, input } = run
    const { simId, rule, cycleKey: cycle } = input
    if (command.do === 'log') {
      const { action, counter, detail } = command
      await logAction(tx, { simId, cycle, rule, action, counter, detail, workflowId })
    }
    if (command.do !== 'suspend' && command.do !== 'activate') return GO_ON
    const sim = await simEnforcement(tx, simId, cycle, rule)
    if (command.do === 'activate') {
      if (sim.suspension?.workflowId !== workflowId) return NOT_ITS_OWN
      await ticket(tx, TicketType.Activate, run)
      return ACTIVE
    }
    const why = refusalOf(sim)
    if (why !== null) return { type: 'answered', answer: { do: 'refuse', why } }
    const ask = { rule: rule ?? '', cycle, simIds: [simId], workflowId }
    const answer = answerOfGuard(await askPermits(tx, ask, ofUsage))
    if (answer === null) await ticket(tx, TicketType.Suspend, run)
    return { type: 'answered', answer: answer ?? { do: 'stay' } }
  }

  /** Gives a run a signal. It suspends its SIM only after all requests of the instant. */
  async function signalSim(workflowId: string, signal: SuspendSignal): Promise<void> {
    const run = sims.get(workflowId)
    if (run === undefined) return
    run.state = step(run.state, { type: 'signal', signal }, store.clock()).state
    if (signal === 'overLimit') run.wakesAt = store.clock()
    else await goOn(run)
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

  async function obey(request: OutboxRequest): Promise<void> {
    if (request.do === 'start' || request.signal === TICKETS_ENDED) return
    const { workflowId, signal } = request
    if (request.do === 'signalWithStart') {
      const { type, input } = request
      if (type === 'enforce-pool') pools.set(workflowId, { input, armed: new Set() })
      else sims.set(workflowId, { workflowId, input, state: beginSuspension(input, store.clock()), wakesAt: null })
    }
    await signalSim(workflowId, signal)
    const pool = pools.get(workflowId)
    if (pool === undefined) return
    if (signal === 'overLimit') await pick(workflowId, pool)
    if (signal === 'cleared' || signal === 'standDown')
      for (const simId of pool.armed) await signalSim(suspendOnOverageId(tenantId, simId, pool.input.cycleKey), signal)
  }

  async function renew(): Promise<void> {
    const { key } = await asTenant(currentCycle)
    for (const { workflowId } of await asTenant((tx) => renewedSims(tx, key))) await signalSim(workflowId, 'renewed')
  }

  return {
    act: async () => {
      hasChanged = false
      await renew()
      for (;;) {
        const asked = await asTenant((tx) => requestsAfter(tx, last))
        last = asked.at(-1)?.id ?? last
        for (const { request } of asked) await obey(request)
        const due = [...sims.values()].filter(({ wakesAt }) => wakesAt !== null && wakesAt <= store.clock())
        for (const run of due) await goOn(run)
        if (asked.length === 0 && due.length === 0) return hasChanged
      }
    },
    nextAt: () => {
      const due = [...sims.values()].flatMap(({ wakesAt }) => wakesAt ?? [])
      return due.length === 0 ? null : Math.min(...due)
    },
  }
}

async function complete(tx: TenantTx, ask: OpenTicketRequest): Promise<void> {
  const id = await openTicket(tx, ask)
  const [sim, ticket] = [await lockSim(tx, ask.simId), await findTicket(tx, id)]
  if (sim === undefined || ticket === undefined) throw new Error(`ticket ${id} of SIM ${ask.simId} is gone`)
  await applyTickets(tx, [{ sim, ticket }])
  await writeTicketEnds(tx, [{ ticket, status: TicketStatus.Complete, failure: null }])
}

/** Activities of the watchdog's enforcement: look again, suspend, tell, pick a pool's SIMs and arm them. */
import { ApplicationFailure, activityInfo, heartbeat } from '@temporalio/activity'
import { SimStatus, WatchdogMode } from '../domain/codes.ts'
import type { ActionAsk, SimEnforcement } from '../domain/enforcement.ts'
import { toMB } from '../domain/units.ts'
import type { ArmAsk } from '../domain/workflow-asks.ts'
import type { SuspendTarget } from '../rules/rule-file.ts'
import type { pickTargets } from '../rules/suspend-targets.ts'
import { bodyOf, type ServiceClient } from './client.ts'
import { cancelTicket, isStateConflict, openTicket, type TicketAsk } from './tickets.ts'

export interface SuspensionAsk {
  readonly ticket: TicketAsk
  readonly cycleKey: string
  /** The rule that asks; null when a person started the workflow. */
  readonly rule: string | null
  readonly workflowId: string
}

/** Why a SIM is not suspended after all. */
export type Refusal = 'not over' | 'not enforced' | 'exempt' | 'held' | 'suspended by a person' | 'not active'

/** A ticket is under way, the SIM is suspended by an earlier attempt already, or it is not suspended. */
export type SuspensionAnswer =
  | { readonly do: 'wait'; readonly ticketId: string }
  | { readonly do: 'stay' }
  | { readonly do: 'refuse'; readonly why: Refusal }

/** Reasons not to suspend, the strongest first. Pure. */
export function refusalOf(sim: SimEnforcement): Refusal | null {
  if (sim.suspension?.cause === 'user') return 'suspended by a person'
  if (sim.status !== SimStatus.Active) return 'not active'
  if (sim.exempt) return 'exempt'
  if (!sim.enforcementEnabled) return 'held'
  if (sim.mode !== WatchdogMode.Enforce) return 'not enforced'
  return sim.overLimit ? null : 'not over'
}

/** The policy of rules/suspend-targets.ts, given by whoever starts the worker. */
export type PickTargets = typeof pickTargets

export interface PoolPick {
  readonly over: boolean
  /** SIMs to stop, in the order of the policy. */
  readonly simIds: readonly number[]
  /** True where all that may be stopped is not enough to end the pool's overage. */
  readonly tooLittle: boolean
  readonly overageMB: number
  /** SIMs that it must leave alone: exempt, in a weaker mode, or held by a person. */
  readonly passedOver: number
}

export interface PoolAsk {
  readonly tenantId: string
  readonly poolId: number
  readonly cycleKey: string
  readonly rule: string
  readonly target: SuspendTarget
}

/** Heartbeat of an attempt that has begun to open its ticket: whether it got through is not known. */
const ASKED = 'asked'

const isOver = (error: unknown): boolean =>
  error instanceof ApplicationFailure && (error.type === 'workflow_not_running' || error.type === 'workflow_not_found')

/**
 * Sends a signal to a workflow.
 *
 * @returns false where it does not run
 */
export async function signalWorkflow(client: ServiceClient, workflowId: string, name: string): Promise<boolean> {
  try {
    const params = { path: { workflowId, name } }
    await bodyOf(client.internal.POST('/internal/workflows/{workflowId}/signals/{name}', { params }))
    return true
  } catch (error) {
    if (isOver(error)) return false
    throw error
  }
}

export const enforcementActivities = (clientOf: (tenantId: string) => ServiceClient, pick: PickTargets) => ({
  /**
   * Reads the SIM again, and opens the suspend ticket if it is still over, enforced and not exempt.
   *
   * Safe to run twice: where an earlier attempt has got through, its effect is the answer, or its ticket, which
   * is taken back first where the SIM is not to be suspended any more.
   */
  async openSuspension({ ticket, cycleKey, rule, workflowId }: SuspensionAsk): Promise<SuspensionAnswer> {
    const client = clientOf(ticket.tenantId)
    const params = { path: { id: ticket.simId }, query: { cycle: cycleKey, ...(rule === null ? {} : { rule }) } }
    const sim = await bodyOf(client.internal.GET('/internal/sims/{id}/enforcement', { params }))
    if (sim.suspension?.cause === 'watchdog' && sim.suspension.workflowId === workflowId) return { do: 'stay' }
    const why = refusalOf(sim)
    if (why !== null && activityInfo().heartbeatDetails !== ASKED) return { do: 'refuse', why }
    heartbeat(ASKED)
    try {
      const { ticketId } = await openTicket(client, ticket)
      if (ticketId === null) return { do: 'refuse', why: 'not active' }
      return why !== null && (await cancelTicket(client, ticketId)) ? { do: 'refuse', why } : { do: 'wait', ticketId }
    } catch (error) {
      // Another ticket waits before this one and takes the SIM out of Active.
      if (isStateConflict(error)) return { do: 'refuse', why: 'not active' }
      throw error
    }
  },

  /** Writes what the watchdog did to the log, and tells whoever has to know. Once for each counter. */
  async logAction({ tenantId, entry }: { readonly tenantId: string; readonly entry: ActionAsk }): Promise<void> {
    await bodyOf(clientOf(tenantId).internal.POST('/internal/watchdog/actions', { body: entry, params: {} }))
  },

  /** Picks whom to stop in a pool, as it is now; nobody where it is not over or not enforced any more. */
  async pickPoolTargets(ask: PoolAsk): Promise<PoolPick> {
    const params = { path: { id: ask.poolId }, query: { cycle: ask.cycleKey, rule: ask.rule } }
    const { internal } = clientOf(ask.tenantId)
    const pool = await bodyOf(internal.GET('/internal/pools/{id}/enforcement', { params }))
    const { over, overageBytes, rows } = pool
    if (!over || !pool.enforcementEnabled || pool.mode !== WatchdogMode.Enforce) {
      return { over, simIds: [], tooLittle: false, overageMB: toMB(overageBytes), passedOver: 0 }
    }
    const { targets, shortfall } = pick(ask.target, overageBytes, rows)
    const passedOver = rows.filter((row) => !row.stopped && (row.exempt || row.weaker || row.held)).length
    return { over, simIds: targets, tooLittle: shortfall, overageMB: toMB(overageBytes), passedOver }
  },

  /** Signals, with start, the workflows of SIMs that a pool's rule stops. Safe to run twice: a signal more is none. */
  async armSims({ tenantId, simIds, ...arm }: { readonly tenantId: string; readonly simIds: readonly number[] } & Arm) {
    const { internal } = clientOf(tenantId)
    for (const simId of simIds) {
      heartbeat()
      await bodyOf(internal.POST('/internal/workflows/enforce-pool/arm', { params: {}, body: { simId, ...arm } }))
    }
  },

  /** Passes a signal on to workflows; those that have ended are left out. */
  async signalWorkflows(ask: {
    readonly tenantId: string
    readonly workflowIds: readonly string[]
    readonly name: string
  }) {
    const client = clientOf(ask.tenantId)
    for (const workflowId of ask.workflowIds) {
      heartbeat()
      await signalWorkflow(client, workflowId, ask.name)
    }
  },
})

type Arm = Omit<ArmAsk, 'simId'>

/** Activities of the watchdog's enforcement: check again, suspend, log, pick a pool's SIMs and arm them. */
import { heartbeat } from '@temporalio/activity'
import type { paths as InternalPaths } from '../adapters/rest/internal.d.ts'
import { WatchdogMode } from '../domain/codes.ts'
import type { ActionRequest } from '../domain/enforcement/enforcement.ts'
import type { PermitRequest } from '../domain/enforcement/guard.ts'
import { answerOfGuard, refusalOf, type SuspensionAnswer } from '../domain/enforcement/refusal.ts'
import type { EnforcePoolInput } from '../domain/temporal/enforce-pool.ts'
import { toMB } from '../domain/units.ts'
import type { ArmedSims, ArmRequest } from '../domain/workflows/workflow.ts'
import type { pickFromPool } from '../rules/alerts/pick-sims.ts'
import { bodyOf, type ServiceClient, unlessRefused } from './client.ts'
import { cancelTicket, openTicket, STATE_CODES, type TicketInput, ticketOfStep } from './tickets.ts'

export interface SuspensionInput {
  readonly ticket: TicketInput
  readonly cycleKey: string
  /** The rule that asks to suspend; null if a person started the workflow. */
  readonly rule: string | null
  readonly workflowId: string
}

/** The policy of rules/alerts/pick-sims.ts. The process that starts the worker passes it in. */
export type PickFromPool = typeof pickFromPool

interface PoolPick {
  readonly over: boolean
  /** SIMs to stop now, in the order of the policy. */
  readonly simIds: readonly number[]
  /** How many SIMs to stop the guard makes wait for a person. */
  readonly held: number
  /** The hold that they wait for. */
  readonly holdId: number | null
  /** True if stopping all that may be stopped does not end the pool's overage. */
  readonly tooLittle: boolean
  readonly overageMB: number
  /** How many SIMs must be left alone: exempt, in a weaker mode, or passed over by a person. */
  readonly passedOver: number
  /** How many SIMs the pool has armed in the cycle before. */
  readonly armed: number
}

export interface PoolRound extends Omit<PoolPick, 'simIds'> {
  /** How many SIMs to stop got the signal. */
  readonly told: number
  /** How many of these the pool had not armed before in the cycle. */
  readonly added: number
  /** How many SIMs the pool has armed in the cycle, with those. */
  readonly armed: number
}

/** `workflowId`: the calling workflow. It gets a signal when a person decides about the hold. */
type PoolStop = Omit<EnforcePoolInput, 'cycleEndsAt'> & { readonly workflowId: string }

/** Codes of requests to a workflow that has ended, or never was. */
export const NOT_RUNNING: ReadonlySet<string> = new Set(['workflow_not_running', 'workflow_not_found'])

type SignalName = InternalPaths['/internal/workflows/{workflowId}/signals/{name}']['post']['parameters']['path']['name']

/** Sends a signal to a workflow. @returns false if it does not run */
export async function signalWorkflow(client: ServiceClient, workflowId: string, name: SignalName): Promise<boolean> {
  const params = { path: { workflowId, name } }
  const sent = bodyOf(client.internal.POST('/internal/workflows/{workflowId}/signals/{name}', { params }))
  return (await unlessRefused(NOT_RUNNING, sent)) !== undefined
}

export const enforcementActivities = (clientOf: (tenantId: string) => ServiceClient, pick: PickFromPool) => ({
  /**
   * Reads the SIM again, and opens the suspend ticket if it is still over, enforced and not exempt.
   *
   * Safe to run twice, however late. If the step has succeeded before, the result is its effect or its ticket. If the
   * SIM is not to be suspended any more, that ticket is cancelled first, as long as it is Pending.
   */
  async openSuspension({ ticket, cycleKey, rule, workflowId }: SuspensionInput): Promise<SuspensionAnswer> {
    const client = clientOf(ticket.tenantId)
    const params = { path: { id: ticket.simId }, query: { cycle: cycleKey, ...(rule === null ? {} : { rule }) } }
    const sim = await bodyOf(client.internal.GET('/internal/sims/{id}/enforcement', { params }))
    if (sim.suspension?.cause === 'watchdog' && sim.suspension.workflowId === workflowId) return { do: 'stay' }
    const why = refusalOf(sim)
    const ask = { cycle: cycleKey, simIds: [ticket.simId], workflowId }
    const refusal =
      why === null ? rule && (await askPermit(client, { rule, ...ask })) : ({ do: 'refuse', why } as const)
    if (refusal) {
      const ticketId = await ticketOfStep(client, ticket)
      if (ticketId === undefined) return refusal
      // The step has a permit for its begun suspension.
      const takenBack = why !== null && (await cancelTicket(client, ticketId))
      return takenBack ? { do: 'refuse', why, ticketId } : { do: 'wait', ticketId }
    }
    // Refused if an open ticket before this one takes the SIM out of Active.
    const ticketId = (await unlessRefused(STATE_CODES, openTicket(client, ticket)))?.ticketId
    return ticketId == null ? { do: 'refuse', why: 'not active' } : { do: 'wait', ticketId }
  },

  /** Makes the service log an action of the watchdog and notify people, once per counter. */
  async logAction({ tenantId, entry }: { readonly tenantId: string; readonly entry: ActionRequest }): Promise<void> {
    await bodyOf(clientOf(tenantId).internal.POST('/internal/watchdog/actions', { body: entry, params: {} }))
  },

  /**
   * Runs a round of a pool: picks the SIMs to stop, asks the guard, and arms those that it grants. The service keeps
   * the armed SIMs: no list of SIMs is in the history of a workflow. Safe to run twice.
   */
  async stopPool(ask: PoolStop): Promise<PoolRound> {
    const { tenantId, poolId, cycleKey: cycle, rule, ruleFile, grace, until } = ask
    const client = clientOf(tenantId)
    const { simIds, ...picked } = await pickTargets(client, ask, pick)
    const added = await arm(client, simIds, { poolId, cycle, rule, ruleFile, grace, until, signal: 'overLimit' })
    return { ...picked, told: simIds.length, added, armed: picked.armed + added }
  },

  /** Passes a signal on to all SIMs that a pool has armed in the cycle, and counts them. Safe to run twice. */
  async tellArmed({ tenantId, poolId, ...told }: ToldArmed): Promise<number> {
    const client = clientOf(tenantId)
    let count = 0
    for (let afterSimId: number | null = 0; afterSimId !== null; ) {
      heartbeat()
      const params = { path: { id: poolId }, query: { cycle: told.cycle, afterSimId, limit: ARMED_AT_ONCE } }
      const page: ArmedSims = await bodyOf(client.internal.GET('/internal/pools/{id}/armed-sims', { params }))
      await arm(client, page.simIds, told)
      count += page.simIds.length
      afterSimId = page.nextAfterSimId
    }
    return count
  },
})

/** Picks the SIMs to stop in a pool now: no SIM if the pool is no longer over, or no longer enforced. */
async function pickTargets(client: ServiceClient, ask: PoolStop, pick: PickFromPool): Promise<PoolPick> {
  const params = { path: { id: ask.poolId }, query: { cycle: ask.cycleKey, rule: ask.rule } }
  const { api, internal } = client
  const [{ watchdogMode }, enforcement] = await Promise.all([
    bodyOf(api.GET('/api/pools/{id}', { params: { path: { id: ask.poolId } } })),
    bodyOf(internal.GET('/internal/pools/{id}/enforcement', { params })),
  ])
  const { over, overageBytes, passedOver, enforcementEnabled, armed } = enforcement
  const overageMB = toMB(overageBytes)
  const nobody = { simIds: [], held: 0, holdId: null, tooLittle: false, overageMB, passedOver: 0, armed }
  if (!over || !enforcementEnabled || watchdogMode !== WatchdogMode.Enforce) return { over, ...nobody }
  const { targets, shortfall } = pick(ask.target, enforcement)
  const permits = await askPermits(client, ask, targets)
  // The cycle has ended between the two requests.
  if (permits === null) return { over: false, ...nobody }
  return { over, ...permits, tooLittle: shortfall, overageMB, passedOver, armed }
}

/** Signals the workflows of SIMs, or starts them. Safe to run twice. @returns how many the pool had not armed before */
async function arm(
  { internal }: ServiceClient,
  simIds: readonly number[],
  ask: Readonly<Omit<ArmRequest, 'simIds'>>,
): Promise<number> {
  let added = 0
  for (const page of pagesOf(simIds, ARMED_AT_ONCE)) {
    heartbeat()
    const body = { simIds: page, ...ask }
    const post = bodyOf(internal.POST('/internal/workflows/enforce-pool/arm', { params: {}, body }))
    const done = await unlessRefused(STATE_CODES, post)
    // The cycle has ended since: no SIM is stopped in it any more.
    if (done === undefined) break
    added += done.armed
  }
  return added
}

type ToldArmed = Readonly<Omit<ArmRequest, 'simIds' | 'poolId'>> & {
  readonly tenantId: string
  readonly poolId: number
}

/** The most SIMs that the service takes in one request. */
const ARMED_AT_ONCE = 500
const ASKED_AT_ONCE = 1000

const pagesOf = (simIds: readonly number[], size: number): number[][] =>
  Array.from({ length: Math.ceil(simIds.length / size) }, (_, page) => simIds.slice(page * size, (page + 1) * size))

/** Asks the guard for permits. @returns undefined if the cycle has ended */
const askGuard = ({ internal }: ServiceClient, body: PermitRequest) =>
  unlessRefused(STATE_CODES, bodyOf(internal.POST('/internal/enforcement/permits', { params: {}, body })))

/** Requests permits for SIMs of a pool, in their order. @returns null if the cycle has ended */
async function askPermits(
  client: ServiceClient,
  { poolId, cycleKey: cycle, rule, workflowId }: PoolStop,
  simIds: readonly number[],
): Promise<Pick<PoolPick, 'simIds' | 'held' | 'holdId'> | null> {
  const granted: number[] = []
  let [held, holdId]: [number, number | null] = [0, null]
  for (const page of pagesOf(simIds, ASKED_AT_ONCE)) {
    heartbeat()
    const answer = await askGuard(client, { rule, cycle, poolId, simIds: page, workflowId })
    if (answer === undefined) return null
    granted.push(...answer.granted)
    held += answer.held.length
    holdId ??= answer.holdId
  }
  return { simIds: granted, held, holdId }
}

/** Requests a permit for one SIM. @returns why it is not suspended now; null if it may be */
async function askPermit(client: ServiceClient, ask: PermitRequest): Promise<SuspensionAnswer | null> {
  const permits = await askGuard(client, ask)
  return permits === undefined ? { do: 'refuse', why: 'not over' } : answerOfGuard(permits)
}

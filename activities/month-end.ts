/** Activities of the month end: what is queued, carry it out, bring back, close. */
import { ApplicationFailure, activityInfo, heartbeat } from '@temporalio/activity'
import type { MonthEndInput, Waits } from '../domain/lifecycle.ts'
import type { CloseAsk, PoolChange } from '../domain/month-end.ts'
import { bodyOf, type ServiceClient } from './client.ts'
import { signalWorkflow } from './enforcement.ts'
import { isStateConflict, lookAtTicket, openTicket, type TicketAsk, type TicketEnd } from './tickets.ts'
import { poll } from './waits.ts'

export interface CycleRef {
  readonly tenantId: string
  readonly cycleKey: string
}
export interface PageAsk extends CycleRef {
  readonly afterSimId: number
  readonly limit: number
}
export interface ChangePage {
  readonly changes: readonly PoolChange[]
  readonly nextAfterSimId: number | null
}
export interface RenewPage {
  /** How many workflows were told. */
  readonly signalled: number
  /** Suspended SIMs whose workflow does not run any more. */
  readonly orphans: readonly number[]
  readonly nextAfterSimId: number | null
}

const pageParams = ({ cycleKey, afterSimId, limit }: PageAsk) => ({
  path: { key: cycleKey },
  query: { afterSimId, limit },
})

/** Ticket of an earlier attempt of this activity: found without the Idempotency-Key, which ends after a day. */
const ticketSoFar = (): string | null => {
  const details: unknown = activityInfo().heartbeatDetails
  return typeof details === 'string' ? details : null
}

/** Opens a ticket and waits for its end, in one activity. */
async function runTicket(client: ServiceClient, ask: TicketAsk, waits: Waits): Promise<TicketEnd & TicketOf> {
  const ticketId = ticketSoFar() ?? (await openTicket(client, ask)).ticketId
  if (ticketId === null) return { status: 'complete', code: '', detail: '', ticketId }
  heartbeat(ticketId)
  return { ...(await poll(waits, () => lookAtTicket(client, ticketId), ticketId)), ticketId }
}
interface TicketOf {
  readonly ticketId: string | null
}

/**
 * A cycle that has ended by the workflow's clock is still open by the service's: their clocks differ a little,
 * and a second later they may not.
 */
async function afterBoundary<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.type !== 'cycle_open') throw error
    throw ApplicationFailure.create({
      type: error.type,
      message: error.message,
      nonRetryable: false,
      nextRetryDelay: '1 second',
    })
  }
}

export interface ChangeAsk extends CycleRef {
  readonly ticket: TicketAsk
  readonly waits: Waits
}

export const monthEndActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  /** One page of the changes queued before the cycle's end and still queued, by SIM id. */
  async listChanges(ask: PageAsk & { readonly kind: 'unassign' | 'move' }): Promise<ChangePage> {
    const { path, query } = pageParams(ask)
    const params = { path, query: { ...query, kind: ask.kind } }
    return await bodyOf(clientOf(ask.tenantId).internal.GET('/internal/cycles/{key}/changes', { params }))
  },

  /**
   * Carries one queued change out by a ticket and waits for its end; a failure is reported to the service,
   * which logs it and keeps the change queued.
   *
   * @returns whether it is done
   */
  async applyChange({ tenantId, cycleKey, ticket, waits }: ChangeAsk): Promise<boolean> {
    const client = clientOf(tenantId)
    const end = await runTicket(client, ticket, waits).catch((error: unknown) => {
      if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true) throw error
      return { status: 'failed' as const, code: error.type ?? 'internal_error', detail: error.message, ticketId: null }
    })
    if (end.status === 'complete') return true
    const { ticketId, code, detail } = end
    const body = { simId: ticket.simId, ticketId, code, detail }
    const params = { path: { key: cycleKey } }
    await bodyOf(client.internal.POST('/internal/cycles/{key}/change-failed', { params, body }))
    return false
  },

  /** Opens the next cycle, in which usage counts from zero. Safe to run twice. */
  async renewCycle({ tenantId, cycleKey }: CycleRef): Promise<void> {
    const params = { path: { key: cycleKey } }
    await afterBoundary(bodyOf(clientOf(tenantId).internal.POST('/internal/cycles/{key}/renew', { params })))
  },

  /** Tells one page of the open suspensions that the cycle is renewed. Safe to run twice. */
  async renewSuspensions(ask: PageAsk): Promise<RenewPage> {
    const client = clientOf(ask.tenantId)
    const params = pageParams(ask)
    const page = await bodyOf(client.internal.GET('/internal/cycles/{key}/suspensions', { params }))
    const orphans: number[] = []
    for (const { simId, workflowId } of page.suspensions) {
      heartbeat()
      if (workflowId === null || !(await signalWorkflow(client, workflowId, 'renewed'))) orphans.push(simId)
    }
    return { signalled: page.suspensions.length - orphans.length, orphans, nextAfterSimId: page.nextAfterSimId }
  },

  /**
   * Activates a suspended SIM whose workflow does not run any more.
   *
   * @returns whether it is back; false where its state has been changed by someone else since
   */
  async bringBack({ tenantId, ticket, waits }: ChangeAsk): Promise<boolean> {
    const client = clientOf(tenantId)
    try {
      return (await runTicket(client, ticket, waits)).status === 'complete'
    } catch (error) {
      if (isStateConflict(error)) return false
      throw error
    }
  },

  /**
   * Closes the cycle. Safe to run twice: the second answer is the first.
   *
   * @returns whether a statement was made
   */
  async closeCycle({ tenantId, cycleKey, figures }: CycleRef & { readonly figures: CloseAsk }): Promise<boolean> {
    const { internal } = clientOf(tenantId)
    const params = { path: { key: cycleKey } }
    const close = internal.POST('/internal/cycles/{key}/close', { params, body: figures })
    return (await afterBoundary(bodyOf(close))).statement
  },

  /** What the month end would do, changing nothing. */
  async readPlan({ tenantId, cycleKey }: CycleRef): Promise<unknown> {
    const params = { path: { key: cycleKey } }
    return await bodyOf(clientOf(tenantId).internal.GET('/internal/cycles/{key}/plan', { params }))
  },

  /** Cycles that have ended by an instant and are not closed, the oldest first. */
  async listUnclosed({ tenantId, by }: { readonly tenantId: string; readonly by: string }): Promise<readonly string[]> {
    const cycles = await bodyOf(clientOf(tenantId).internal.GET('/internal/cycles', { params: {} }))
    return cycles
      .filter(({ closedAt, endsAt }) => closedAt === null && Date.parse(endsAt) <= Date.parse(by))
      .map(({ key }) => key)
      .sort()
  },

  /** Has the service start the month end of a cycle, under its fixed id; one that runs already is the answer too. */
  async startMonthEnd({ tenantId, cycleKey }: CycleRef): Promise<string> {
    const { internal } = clientOf(tenantId)
    const body = { cycle: cycleKey }
    const path = '/internal/workflows/month-end-reprovision'
    return (await afterBoundary(bodyOf(internal.POST(path, { params: {}, body })))).workflowId
  },

  /** Waits until a workflow has ended, and answers how. */
  async awaitWorkflow(
    ask: Pick<MonthEndInput, 'tenantId' | 'waits'> & { readonly workflowId: string },
  ): Promise<string> {
    const { internal } = clientOf(ask.tenantId)
    const params = { path: { workflowId: ask.workflowId } }
    return await poll(ask.waits, async () => {
      const { status } = await bodyOf(internal.GET('/internal/workflows/{workflowId}', { params }))
      return status === 'running' ? undefined : status
    })
  },
})

/** Activities of the month end: list the work, open its tickets, bring SIMs back, read the progress, close. */
import { ApplicationFailure, heartbeat } from '@temporalio/activity'
import { idempotent } from '../adapters/rest/client.ts'
import type { ApplyChanges, ChangesOpened, MonthEndBatches, MonthEndCounts } from '../domain/month-end/month-end.ts'
import type {
  MonthEndBatchInput,
  MonthEndResult,
  MonthEndWork,
  RetryFailedResult,
  WorkCounts,
} from '../domain/temporal/month-end-reprovision.ts'
import { withConcurrency } from '../domain/temporal/with-concurrency.ts'
import { cycleOfKey, nextCycle } from '../domain/time/cycle.ts'
import { bodyOf, type ServiceClient } from './client.ts'
import { signalWorkflow } from './enforcement.ts'

interface CycleRef {
  readonly tenantId: string
  readonly cycleKey: string
}
/** A step of the workflow, with its idempotency key. */
interface StepOfCycle extends CycleRef {
  readonly key: string
}
/** How far the steps of a month end are. */
export type MonthEndLook = Readonly<Record<MonthEndWork, WorkCounts>> & {
  /** Changes with open tickets. */
  readonly open: number
  /** Suspended SIMs without a ticket of the month end. */
  readonly suspended: number
  readonly closed: boolean
}
interface BatchesInput extends CycleRef {
  readonly kind: MonthEndWork
  readonly afterSimId: number
  readonly size: number
  readonly limit: number
}
interface BatchPage extends MonthEndBatches {
  readonly look: MonthEndLook
}
interface RenewPage {
  /** How many workflows were signalled. */
  readonly signalled: number
  /** Suspended SIMs without a running workflow. */
  readonly orphans: readonly number[]
}
interface MissedInput {
  readonly tenantId: string
  readonly billingCycle: string
  /** Key of the last ended cycle. */
  readonly through: string
}

const workCounts = (counts: MonthEndCounts['renewals'] | MonthEndCounts['move']): WorkCounts => ({
  total: counts.total,
  done: counts.complete + ('released' in counts ? counts.released : 0),
  failed: counts.failed,
  left: counts.queued + counts.open,
})

async function look({ internal }: ServiceClient, cycleKey: string): Promise<MonthEndLook> {
  const params = { path: { key: cycleKey } }
  const counts = await bodyOf(internal.GET('/internal/cycles/{key}/progress', { params }))
  return {
    unassign: workCounts(counts.unassign),
    move: workCounts(counts.move),
    renew: workCounts(counts.renewals),
    open: counts.changes.open,
    suspended: counts.renewals.queued,
    closed: counts.closedAt !== null,
  }
}

const tally = (results: ChangesOpened['results']): RetryFailedResult => {
  const opened = results.filter(({ ticketId }) => ticketId !== null).length
  return { opened, refused: results.length - opened }
}

/** Signals under way at once. A signal writes a row of the audit trail and calls Temporal. */
const SIGNALS_AT_ONCE = 10

/** Retries `cycle_open` after a second: the workflow's clock may be a little ahead of the service's. */
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

export const monthEndActivities = (clientOf: (tenantId: string) => ServiceClient) => ({
  lookAtMonthEnd: ({ tenantId, cycleKey }: CycleRef) => look(clientOf(tenantId), cycleKey),

  /** Lists in batches the SIMs that a step has not begun, and reads how far the month end is. */
  async listBatches({ tenantId, cycleKey, ...query }: BatchesInput): Promise<BatchPage> {
    const client = clientOf(tenantId)
    const params = { path: { key: cycleKey }, query }
    const page = await afterBoundary(bodyOf(client.internal.GET('/internal/cycles/{key}/batches', { params })))
    return { ...page, look: await look(client, cycleKey) }
  },

  /** Opens the tickets for a range of queued changes. Safe to run twice, even after its key was forgotten. */
  async applyChanges({ tenantId, cycleKey, key, ...body }: StepOfCycle & Readonly<ApplyChanges>) {
    const { internal } = clientOf(tenantId)
    const params = { path: { key: cycleKey }, ...idempotent(key) }
    const post = bodyOf(internal.POST('/internal/cycles/{key}/changes/apply', { params, body }))
    const { results, nextAfterSimId } = await afterBoundary(post)
    return { ...tally(results), nextAfterSimId }
  },

  /** Reopens tickets for failed changes and returns that remain to be done. Unassignments come first. */
  async retryFailedChanges({ tenantId, cycleKey, key }: StepOfCycle): Promise<RetryFailedResult> {
    const { internal } = clientOf(tenantId)
    const sum = { opened: 0, refused: 0 }
    for (const kind of ['unassign', 'move', 'return'] as const) {
      for (let afterSimId: number | null = 0; afterSimId !== null; ) {
        heartbeat()
        const params = { path: { key: cycleKey }, ...idempotent(`${key}/${kind}/${afterSimId}`) }
        const post = internal.POST('/internal/cycles/{key}/changes/retry', { params, body: { kind, afterSimId } })
        const page: ChangesOpened = await bodyOf(post)
        const { opened, refused } = tally(page.results)
        sum.opened += opened
        sum.refused += refused
        afterSimId = page.nextAfterSimId
      }
    }
    return sum
  },

  /** Opens the next cycle, in which usage counts from zero. Safe to run twice. */
  async renewCycle({ tenantId, cycleKey }: CycleRef): Promise<void> {
    const params = { path: { key: cycleKey } }
    await afterBoundary(bodyOf(clientOf(tenantId).internal.POST('/internal/cycles/{key}/renew', { params })))
  },

  /** Signals the renewal to the workflows of a range of suspended SIMs, at most 1,000. Safe to run twice. */
  async renewSuspensions({ tenantId, cycleKey, afterSimId, throughSimId }: MonthEndBatchInput): Promise<RenewPage> {
    const client = clientOf(tenantId)
    const params = { path: { key: cycleKey }, query: { afterSimId, throughSimId, limit: 1000 } }
    const { suspensions } = await bodyOf(client.internal.GET('/internal/cycles/{key}/suspensions', { params }))
    const orphans: number[] = []
    await withConcurrency(suspensions, SIGNALS_AT_ONCE, async ({ simId, workflowId }) => {
      heartbeat()
      if (workflowId === null || !(await signalWorkflow(client, workflowId, 'renewed'))) orphans.push(simId)
    })
    return { signalled: suspensions.length - orphans.length, orphans: orphans.sort((a, b) => a - b) }
  },

  /** Opens activation tickets for SIMs without a running workflow. Safe to run twice. */
  async openReturns({ tenantId, cycleKey, simIds, key }: StepOfCycle & { readonly simIds: readonly number[] }) {
    const { internal } = clientOf(tenantId)
    const params = { path: { key: cycleKey }, ...idempotent(key) }
    const post = internal.POST('/internal/cycles/{key}/suspensions/return', { params, body: { simIds: [...simIds] } })
    return tally((await bodyOf(post)).results)
  },

  /** Closes the cycle. Safe to run twice: the second call returns the same. */
  async closeCycle({ tenantId, cycleKey }: CycleRef): Promise<MonthEndResult> {
    const { internal } = clientOf(tenantId)
    const params = { path: { key: cycleKey } }
    const progress = await bodyOf(internal.GET('/internal/cycles/{key}/progress', { params }))
    const { statement } = await afterBoundary(bodyOf(internal.POST('/internal/cycles/{key}/close', { params })))
    return {
      moved: progress.move.complete,
      unassigned: progress.unassign.complete,
      changesFailed: progress.changes.failed,
      renewed: progress.renewals.complete,
      statement,
    }
  },

  /**
   * Cycles without a finished month end, the oldest first. They begin with the first cycle that was opened and not
   * closed, or else with the one after the last closed cycle. They end with `through`, and include cycles never opened.
   */
  async listMissed({ tenantId, billingCycle, through }: MissedInput): Promise<readonly string[]> {
    const cycles = await bodyOf(clientOf(tenantId).internal.GET('/internal/cycles', { params: {} }))
    const closed = new Set(cycles.filter(({ closedAt }) => closedAt !== null).map(({ key }) => key))
    const last = cycleOfKey(billingCycle, through)
    const open = cycles.map(({ key }) => key).filter((key) => key <= through && !closed.has(key))
    const lastClosed = cycleOfKey(billingCycle, [...closed].sort().at(-1) ?? '')
    const afterClosed = lastClosed && nextCycle(billingCycle, lastClosed).key
    const first = cycleOfKey(billingCycle, open.sort()[0] ?? afterClosed ?? through)
    const missed: string[] = []
    if (first === undefined || last === undefined) return missed
    for (let cycle = first; cycle.startsAt <= last.startsAt; cycle = nextCycle(billingCycle, cycle)) {
      if (!closed.has(cycle.key)) missed.push(cycle.key)
    }
    return missed
  },

  /** Makes the service start the month end of a cycle, or finds it running. @returns its workflow id, which is fixed */
  async startMonthEnd({ tenantId, cycleKey }: CycleRef): Promise<string> {
    const { internal } = clientOf(tenantId)
    const options = { params: {}, body: { cycle: cycleKey } }
    const post = internal.POST('/internal/workflows/month-end-reprovision', options)
    return (await afterBoundary(bodyOf(post))).workflowId
  },

  /** The status of a workflow's latest run. */
  async lookAtWorkflow(ask: { readonly tenantId: string; readonly workflowId: string }): Promise<string> {
    const { tenantId, ...path } = ask
    const params = { path }
    return (await bodyOf(clientOf(tenantId).internal.GET('/internal/workflows/{workflowId}', { params }))).status
  },
})

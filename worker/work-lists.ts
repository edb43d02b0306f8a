/** The sweeps: the work lists of PostgreSQL, and work that becomes due by time alone. */
import { RESPONSES_KEPT_MS } from '../domain/http.ts'
import type { Job, JobOf, QueueName } from '../domain/jobs.ts'
import type { Sweep } from '../process/sweeps.ts'
import type { MonthEndSchedule } from '../queues/temporal/schedules.ts'
import { tenantsDue } from '../store/due.ts'
import { forgetResponses } from '../store/idempotency.ts'
import { tenantsWithMail } from '../store/mail/mails.ts'
import { hasLateMonthEnd } from '../store/month-end/progress.ts'
import { tenantsWithWorkflowRequests } from '../store/outbox.ts'
import { inPlatform, inTenant, type PlatformTx, type Store, slowly } from '../store/tenancy.ts'
import { tenantIds } from '../store/tenants/tenants.ts'
import { tenantsWithBulkWork } from '../store/tickets/bulk.ts'
import { dueTicketWork } from '../store/tickets/tickets.ts'
import { currentCycle, tenantSettings } from '../store/usage/cycles.ts'
import { monthsAhead, partitionsAhead } from '../store/usage/partitions.ts'

/** Most jobs of one round. The next round finds the rest. */
const MOST_JOBS = 1000
const HOUR_MS = 3_600_000
const TEN_MINUTES_MS = 600_000
/** A deleted Schedule is made again within this time. A new tenant's Schedule is made in the next round. */
const SCHEDULES_CHECKED_MS = 300_000

export interface SweptStore {
  readonly store: Store
  /** Makes a tenant's month-end Schedule if it is missing. Updates one that an earlier version made. */
  readonly ensureSchedule: (schedule: MonthEndSchedule) => Promise<unknown>
  /** Called with the number of months ahead that usage records have partitions for. Normally three. */
  readonly onMonthsAhead: (months: number) => void
}

/** Due work that no job was enqueued for, by the queue that does it. */
const DUE: { readonly [Q in QueueName]: Due<JobOf<Q>> } = {
  tickets: {
    name: 'tickets',
    find: async (tx) =>
      (await dueTicketWork(tx, MOST_JOBS)).map(({ tenantId, simId }) => ({ queue: 'tickets', tenantId, simId })),
  },
  bulk: {
    name: 'bulk runs',
    find: async (tx) => (await tenantsWithBulkWork(tx, MOST_JOBS)).map((tenantId) => ({ queue: 'bulk', tenantId })),
  },
  evaluate: {
    name: 'subjects',
    find: async (tx) => (await tenantsDue(tx)).map((tenantId) => ({ queue: 'evaluate', tenantId })),
  },
  mail: {
    name: 'mails',
    find: async (tx) => (await tenantsWithMail(tx, MOST_JOBS)).map((tenantId) => ({ queue: 'mail', tenantId })),
  },
  workflows: {
    name: 'workflow requests',
    find: async (tx) =>
      (await tenantsWithWorkflowRequests(tx, MOST_JOBS)).map((tenantId) => ({ queue: 'workflows', tenantId })),
  },
}
interface Due<J> {
  readonly name: string
  readonly find: (tx: PlatformTx) => Promise<readonly J[]>
}

export function workLists({ store, ensureSchedule, onMonthsAhead }: SweptStore): Sweep[] {
  const due = Object.values<Due<Job>>(DUE).map(
    ({ name, find }): Sweep => ({
      name,
      run: async () => {
        const jobs = await inPlatform(store, find)
        if (jobs.length > 0) store.enqueue(jobs)
      },
    }),
  )
  return [
    cycleBoundaries(store),
    ...due,
    missingSchedules(store, ensureSchedule),
    {
      name: 'usage partitions',
      everyMs: HOUR_MS,
      run: async () => {
        try {
          await partitionsAhead(slowly(store))
        } finally {
          onMonthsAhead(await monthsAhead(store))
        }
      },
    },
    {
      name: 'kept answers',
      everyMs: TEN_MINUTES_MS,
      run: async () => {
        await inPlatform(slowly(store), (tx) => forgetResponses(tx, new Date(tx.now.getTime() - RESPONSES_KEPT_MS)))
      },
    },
  ]
}

/**
 * Opens each tenant's new cycle at its boundary. The end of the current cycle is remembered, so a round normally costs
 * one statement.
 */
function cycleBoundaries(store: Store): Sweep {
  const endsAt = new Map<string, number>()
  return {
    name: 'cycle boundaries',
    run: async () => {
      for (const tenantId of await inPlatform(store, tenantIds)) {
        if (store.clock() < (endsAt.get(tenantId) ?? 0)) continue
        // Slow, because a new cycle marks the whole estate due.
        const cycle = await inTenant(slowly(store), tenantId, currentCycle)
        endsAt.set(tenantId, cycle.endsAt)
      }
    },
  }
}

function missingSchedules(store: Store, ensureSchedule: SweptStore['ensureSchedule']): Sweep {
  const checkedAt = new Map<string, number>()
  return {
    name: 'month-end Schedules',
    run: async () => {
      for (const tenantId of await inPlatform(store, tenantIds)) {
        if (performance.now() - (checkedAt.get(tenantId) ?? Number.NEGATIVE_INFINITY) < SCHEDULES_CHECKED_MS) continue
        const schedule = await inTenant(store, tenantId, async (tx) => {
          const { billingCycle } = await tenantSettings(tx)
          return { tenantId, billingCycle, isLate: await hasLateMonthEnd(tx) }
        })
        await ensureSchedule(schedule)
        checkedAt.set(tenantId, performance.now())
      }
    },
  }
}

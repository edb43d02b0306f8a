/** The sweeps: the work lists of PostgreSQL, and work that becomes due by time alone. */

import type { Logger } from 'pino'
import { mailChannel } from '../adapters/channels/mail/mail-channel.ts'
import { renderSignInMail } from '../adapters/channels/mail/render-sign-in-mail.ts'
import type { Transport } from '../adapters/channels/mail/transport.ts'
import type { MonthEndSchedule } from '../adapters/temporal/schedule-calls.ts'
import { RESPONSES_KEPT_MS } from '../domain/http.ts'
import type { Job, JobOf, QueueName } from '../domain/jobs.ts'
import { operatorMailOptions } from '../process/options.ts'
import type { Settings } from '../process/settings.ts'
import type { Sweep } from '../process/start-sweeps.ts'
import { forgetShadowEntries } from '../service/alerts/rows/shadow-log.ts'
import { forgetBacktests } from '../service/backtests/rows/backtests.ts'
import { forgetWebhookEvents, webhooksDue } from '../service/channels/rows/deliveries.ts'
import { tenantsWithMail } from '../service/channels/rows/mails.ts'
import { forgetOperatorNotices } from '../service/channels/rows/operator-mails.ts'
import { sendSignIns } from '../service/channels/send-sign-ins.ts'
import { type OperatorChannel, tellOperator } from '../service/channels/tell-operator.ts'
import { tenantsWithWould } from '../service/enforcement/rows/would.ts'
import { hasLateMonthEnd } from '../service/month-end/rows/progress.ts'
import { tenantIds } from '../service/tenants/rows/tenants.ts'
import { tenantsWithBulkWork } from '../service/tickets/rows/bulk.ts'
import { tenantsWithTickets } from '../service/tickets/rows/tickets.ts'
import { keepCyclesOpen, tenantSettings } from '../service/usage/rows/cycles.ts'
import { monthsAhead, partitionsAhead } from '../service/usage/rows/partitions.ts'
import { forgetTroubles } from '../service/workflows/rows/troubles.ts'
import { tenantsChanged } from '../store/changed.ts'
import { tenantsDue } from '../store/due.ts'
import { forgetResponses } from '../store/idempotency.ts'
import { tenantsWithWorkflowRequests } from '../store/outbox.ts'
import { tenantsToSweep } from '../store/shards.ts'
import { inPlatform, inTenant, type PlatformTx, type Store, withLongTimeout } from '../store/tenancy.ts'

/** Most jobs of one round. The next round finds the rest. */
const MOST_JOBS = 1000
/** Most webhook events deleted in one transaction. */
const MOST_FORGOTTEN = 1000
const HOUR_MS = 3_600_000
/** How long the shadow log is kept: a quarter of a year, over which a rule is tried. */
const SHADOW_KEPT_MS = 90 * 24 * HOUR_MS
/** How long ended backtests are kept, and how many. */
const BACKTESTS_KEPT_MS = 30 * 24 * HOUR_MS
const MOST_BACKTESTS = 200
/** How long notices to the operator are kept. */
const NOTICES_KEPT_MS = 90 * 24 * HOUR_MS
const TEN_MINUTES_MS = 600_000
const MINUTE_MS = 60_000
/** How long after its next attempt a retrying activity is reported again; longer, and it no longer retries. */
const TROUBLES_KEPT_MS = 15 * MINUTE_MS
/** A deleted Schedule is made again within this time. A new tenant's Schedule is made in the next round. */
const SCHEDULES_CHECKED_MS = 300_000

export interface SweptStore {
  readonly store: Store
  /** How long events sent to webhooks are kept, in milliseconds. */
  readonly webhookLogMs: number
  /** Called with the number of months ahead that usage records have partitions for. Normally three. */
  readonly onMonthsAhead: (months: number) => void
}

const forTenants =
  <Q extends QueueName>(queue: Q, find: (tx: PlatformTx) => Promise<readonly string[]>) =>
  async (tx: PlatformTx) =>
    (await find(tx)).map((tenantId) => ({ queue, tenantId }))

/** Due work that no job was enqueued for, by the queue that does it. */
const DUE: { readonly [Q in QueueName]: Due<JobOf<Q>> } = {
  tickets: { name: 'tickets', find: forTenants('tickets', (tx) => tenantsWithTickets(tx, MOST_JOBS)) },
  bulk: { name: 'bulk runs', find: forTenants('bulk', (tx) => tenantsWithBulkWork(tx, MOST_JOBS)) },
  evaluate: {
    name: 'subjects',
    find: forTenants('evaluate', async (tx) => {
      const all = [...(await tenantsChanged(tx)), ...(await tenantsDue(tx)), ...(await tenantsWithWould(tx))]
      return [...new Set(all)]
    }),
  },
  sweep: { name: 'shards', find: forTenants('sweep', tenantsToSweep) },
  mail: { name: 'mails', find: forTenants('mail', (tx) => tenantsWithMail(tx, MOST_JOBS)) },
  workflows: {
    name: 'workflow requests',
    find: forTenants('workflows', (tx) => tenantsWithWorkflowRequests(tx, MOST_JOBS)),
  },
  webhooks: {
    name: 'webhooks',
    find: async (tx) => (await webhooksDue(tx, MOST_JOBS)).map((webhook) => ({ queue: 'webhooks', ...webhook })),
  },
}
interface Due<J> {
  readonly name: string
  readonly find: (tx: PlatformTx) => Promise<readonly J[]>
}

const dueSweeps = (store: Store): Sweep[] =>
  Object.values<Due<Job>>(DUE).map(({ name, find }) => ({
    name,
    run: async () => {
      const jobs = await inPlatform(store, find)
      if (jobs.length > 0) store.enqueue(jobs)
    },
  }))

export function workLists({ store, webhookLogMs, onMonthsAhead }: SweptStore): Sweep[] {
  /** @param forget deletes at most {@link MOST_FORGOTTEN} rows, and returns how many */
  const forgetting = (name: string, everyMs: number, forget: (tx: PlatformTx) => Promise<number>): Sweep => ({
    name,
    everyMs,
    run: async () => {
      while ((await inPlatform(store, forget)) === MOST_FORGOTTEN);
    },
  })
  return [
    cycleBoundaries(store),
    ...dueSweeps(store),
    {
      name: 'usage partitions',
      everyMs: HOUR_MS,
      run: async () => {
        try {
          await partitionsAhead(withLongTimeout(store))
        } finally {
          onMonthsAhead(await monthsAhead(store))
        }
      },
    },
    {
      name: 'kept answers',
      everyMs: TEN_MINUTES_MS,
      run: async () => {
        await inPlatform(withLongTimeout(store), (tx) =>
          forgetResponses(tx, new Date(tx.now.getTime() - RESPONSES_KEPT_MS)),
        )
      },
    },
    forgetting('log of webhooks', TEN_MINUTES_MS, (tx) =>
      forgetWebhookEvents(tx, new Date(tx.now.getTime() - webhookLogMs), MOST_FORGOTTEN),
    ),
    forgetting('shadow log', HOUR_MS, (tx) =>
      forgetShadowEntries(tx, new Date(tx.now.getTime() - SHADOW_KEPT_MS), MOST_FORGOTTEN),
    ),
    forgetting('troubles of workflows', MINUTE_MS, (tx) =>
      forgetTroubles(tx, new Date(tx.now.getTime() - TROUBLES_KEPT_MS), MOST_FORGOTTEN),
    ),
    {
      name: 'old backtests',
      everyMs: HOUR_MS,
      run: () =>
        inPlatform(store, (tx) => forgetBacktests(tx, new Date(tx.now.getTime() - BACKTESTS_KEPT_MS), MOST_BACKTESTS)),
    },
  ]
}

/**
 * Opens each tenant's next cycle ahead, in slices, and marks its subjects due when it begins. When that is next to be done
 * is remembered, so a round normally costs one statement.
 */
function cycleBoundaries(store: Store): Sweep {
  const dueAt = new Map<string, number>()
  return {
    name: 'cycle boundaries',
    run: async () => {
      for (const tenantId of await inPlatform(store, tenantIds)) {
        if (store.clock() < (dueAt.get(tenantId) ?? 0)) continue
        dueAt.set(tenantId, await keepCyclesOpen(store, tenantId))
      }
    },
  }
}

/** Makes or updates month-end Schedules. It runs separately: each attempt waits for Temporal, and mails must not. */
export function missingSchedules(
  store: Store,
  ensureSchedule: (schedule: MonthEndSchedule) => Promise<unknown>,
): Sweep {
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

/** Mails that sign in contacts. */
export const signInMails = (store: Store, transport: Pick<Transport, 'send'>): Sweep => ({
  name: 'mails that sign in',
  run: () => sendSignIns(store, { send: mailChannel(transport).send, render: renderSignInMail }),
})

/**
 * Mails notices to the operator, and deletes old ones. They may wait for the mail server as long as a mail takes: run them
 * next to others.
 */
export function operatorSweeps(store: Store, channel: OperatorChannel, settings: Settings, log: Logger): Sweep[] {
  const options = operatorMailOptions(settings)
  const onGivenUp = (given: object) => log.error(given, 'a mail to the operator was given up')
  return [
    ...(options === null
      ? []
      : [{ name: 'mail to the operator', run: () => tellOperator(store, channel, { ...options, onGivenUp }) }]),
    {
      name: 'old notices to the operator',
      everyMs: HOUR_MS,
      run: () => inPlatform(store, (tx) => forgetOperatorNotices(tx, new Date(tx.now.getTime() - NOTICES_KEPT_MS))),
    },
  ]
}

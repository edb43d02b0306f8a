/**
 * Jobs: wake-ups for work stored in PostgreSQL (tickets, due marks, notifications, the outbox).
 *
 * A job names only the place of the work, and runs one short step that is safe to run twice. Jobs are deduplicated with
 * "keep the last if one is active": at most one runs and one waits. The number of jobs therefore does not grow with the
 * estate, and a job that is enqueued during a run is run after it. A failed job is not retried. A lost job only delays
 * its work until the next sweep.
 */

export interface TenantJob {
  readonly tenantId: string
}
/** One endpoint: a slow one delays no others, not even those of its tenant. */
export interface WebhookJob extends TenantJob {
  readonly webhookId: number
}

/** Fields of the jobs of each queue. */
interface Payloads {
  readonly tickets: TenantJob
  readonly bulk: TenantJob
  readonly evaluate: TenantJob
  readonly sweep: TenantJob
  readonly mail: TenantJob
  readonly workflows: TenantJob
  readonly webhooks: WebhookJob
}
export type QueueName = keyof Payloads

interface Queue<P> {
  /** How many of its jobs one worker runs at once. */
  readonly concurrency: number
  /** Of the jobs with the same id, one runs at a time. */
  readonly dedupeId: (payload: P) => string
}

const perTenant = (concurrency: number): Queue<TenantJob> => ({ concurrency, dedupeId: ({ tenantId }) => tenantId })

export const QUEUES: { readonly [Q in QueueName]: Queue<Payloads[Q]> } = {
  // Mostly waits for the carrier.
  tickets: perTenant(20),
  // Only SQL.
  bulk: perTenant(2),
  // Only CPU and SQL.
  evaluate: perTenant(2),
  // One shard of 20,000 subjects a job. Usage waits for no sweep.
  sweep: perTenant(1),
  mail: perTenant(4),
  workflows: perTenant(4),
  // Mostly waits for endpoints. A tenant has at most 10, so some tenants with slow ones leave room for all others.
  webhooks: { concurrency: 50, dedupeId: ({ tenantId, webhookId }) => `${tenantId}-${webhookId}` },
}
const isQueue = (name: string): name is QueueName => Object.hasOwn(QUEUES, name)
export const QUEUE_NAMES: readonly QueueName[] = Object.keys(QUEUES).filter(isQueue)

/** A job of this queue. */
export type JobOf<Q extends QueueName> = { readonly queue: Q } & Payloads[Q]
export type Job = { readonly [Q in QueueName]: JobOf<Q> }[QueueName]

/** Deduplication id of a job: one for each tenant, or for the endpoint that it names. */
export const dedupeId = <Q extends QueueName>(job: JobOf<Q>): string => QUEUES[job.queue].dedupeId(job)

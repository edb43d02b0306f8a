/**
 * Jobs: wake-ups for work that is stored in PostgreSQL (tickets, due marks, notifications, the outbox).
 *
 * A job says only where to look, and runs one short step that is safe to run twice. Jobs are deduplicated with "keep
 * the last if one is active": at most one runs and one waits. The number of jobs therefore does not grow with the
 * estate, and a job that is enqueued during a run is run after it. A failed job is not retried. A lost job only delays
 * its work until the next sweep.
 */

export interface TenantJob {
  readonly tenantId: string
}
export interface SimJob extends TenantJob {
  readonly simId: number
}

/** Fields of the jobs of each queue. */
interface Payloads {
  readonly tickets: SimJob
  readonly bulk: TenantJob
  readonly evaluate: TenantJob
  readonly mail: TenantJob
  readonly workflows: TenantJob
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
  tickets: { concurrency: 20, dedupeId: ({ tenantId, simId }) => `${tenantId}-${simId}` },
  // Only SQL.
  bulk: perTenant(2),
  // Only CPU and SQL.
  evaluate: perTenant(2),
  mail: perTenant(4),
  workflows: perTenant(4),
}
const isQueue = (name: string): name is QueueName => Object.hasOwn(QUEUES, name)
export const QUEUE_NAMES: readonly QueueName[] = Object.keys(QUEUES).filter(isQueue)

/** A job of this queue. */
export type JobOf<Q extends QueueName> = { readonly queue: Q } & Payloads[Q]
export type Job = { readonly [Q in QueueName]: JobOf<Q> }[QueueName]

/** Deduplication id of a job: one for each SIM's tickets, and in other queues one for each tenant. */
export const dedupeId = <Q extends QueueName>(job: JobOf<Q>): string => QUEUES[job.queue].dedupeId(job)

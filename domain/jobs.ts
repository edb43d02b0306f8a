/**
 * The jobs: wake-ups for work that stands in PostgreSQL (tickets, due marks, notifications, the outbox).
 *
 * A job says only where to look, and runs one short step that may run twice. Each is deduplicated with "keep the last if
 * one is active": one runs and one waits, so the number of jobs does not grow with the estate, and what is enqueued
 * during a run is looked at after it. A failed job is not retried, and a lost one costs the time to the next sweep.
 */

export interface TenantJob {
  readonly tenantId: string
}
export interface SimJob extends TenantJob {
  readonly simId: number
}

/** What a job of each queue carries. */
interface Payloads {
  readonly tickets: SimJob
  readonly bulk: TenantJob
  readonly evaluate: TenantJob
  readonly mail: TenantJob
  readonly workflows: TenantJob
}
export type QueueName = keyof Payloads

interface Queue<P> {
  /** How many jobs of it one worker runs at once. */
  readonly concurrency: number
  /** Of jobs with the same, one runs at a time. */
  readonly dedupeId: (payload: P) => string
}

const perTenant = (concurrency: number): Queue<TenantJob> => ({ concurrency, dedupeId: ({ tenantId }) => tenantId })

export const QUEUES: { readonly [Q in QueueName]: Queue<Payloads[Q]> } = {
  // Waits for the carrier most of the time.
  tickets: { concurrency: 20, dedupeId: ({ tenantId, simId }) => `${tenantId}-${simId}` },
  // All of it SQL.
  bulk: perTenant(2),
  // All of it CPU and SQL.
  evaluate: perTenant(2),
  mail: perTenant(4),
  workflows: perTenant(4),
}
const isQueue = (name: string): name is QueueName => Object.hasOwn(QUEUES, name)
export const QUEUE_NAMES: readonly QueueName[] = Object.keys(QUEUES).filter(isQueue)

/** A job of this queue. */
export type JobOf<Q extends QueueName> = { readonly queue: Q } & Payloads[Q]
export type Job = { readonly [Q in QueueName]: JobOf<Q> }[QueueName]

/** What only one job at a time works on: a SIM's tickets, or all that a tenant has in the queue. */
export const dedupeId = <Q extends QueueName>(job: JobOf<Q>): string => QUEUES[job.queue].dedupeId(job)

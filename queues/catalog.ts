/**
 * The jobs: wake-ups for work that stands in PostgreSQL.
 *
 * A job runs one short step that may run twice. Each is deduplicated with "keep the last if one is active":
 * one runs and one waits, so the number of jobs does not grow with the estate, and a bell that rings during a
 * run is heard after it. A failed job is not retried: the sweep finds the work again.
 */
import type { Bell } from '../domain/jobs.ts'

export const QUEUES = ['tickets', 'bulk', 'evaluate', 'mail', 'workflows'] as const
export type QueueName = (typeof QUEUES)[number]

/** The bell that a queue carries. */
export type JobOf<Q extends QueueName> = Extract<Bell, { queue: Q }>

/** How many jobs of each queue one worker runs at once. */
export const CONCURRENCY: Readonly<Record<QueueName, number>> = {
  // Waits for the carrier most of the time.
  tickets: 20,
  // One a tenant, and all of it SQL.
  bulk: 2,
  // One a tenant, and all of it CPU and SQL.
  evaluate: 2,
  mail: 4,
  workflows: 4,
}

/** What is run by one job at a time: a SIM's tickets, a tenant's bulk runs, its evaluation, mails, workflow requests. */
export function dedupeId(bell: Bell): string {
  return bell.queue === 'tickets' ? `${bell.tenantId}-${bell.simId}` : bell.tenantId
}

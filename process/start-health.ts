/** The worker's own small server: liveness, readiness, metrics. It listens on the address of the internal interface. */
import { Gauge, Histogram } from '@prometheus-io/client'
import type { FastifyInstance } from 'fastify'
import type { Queues } from '../adapters/queues/backend.ts'
import type { Outcome } from '../domain/channels/channel.ts'
import { type Dependency, healthRoutes } from './health.ts'
import type { Metrics } from './metrics.ts'

export interface HealthOptions {
  /** The HTTP server, of the same kind as the API's. */
  readonly app: FastifyInstance
  readonly host: string
  readonly port: number
  readonly dependencies: readonly Dependency[]
  readonly metrics: Metrics
}

/** @throws Error if the port is taken */
export async function startHealth({ app, host, port, ...options }: HealthOptions) {
  await app.register(healthRoutes, options)
  await app.listen({ host, port })
  return { stop: () => app.close() }
}

/** Metrics of the jobs that this worker runs, and of the queues of all workers. */
export function jobMetrics({ registry, counter }: Metrics, queues: Queues) {
  const registers = [registry]
  const seconds = new Histogram({
    name: 'simherd_job_duration_seconds',
    help: 'Duration of a job.',
    labelNames: ['queue', 'outcome'],
    buckets: [0.01, 0.05, 0.2, 1, 5, 20, 60],
    registers,
  })
  const lost = counter('simherd_bells_lost_total', 'Wake-ups lost before the queues; the sweeps find their work.')
  const failed = counter(
    'simherd_subjects_failed_total',
    'SIMs, pools and tenants with a failed evaluation; it is retried, and does not delay others.',
  )
  const months = new Gauge({
    name: 'simherd_usage_months_ahead',
    help: 'Future months with a partition for usage records; normally three.',
    registers,
  })
  const failedRuns = counter(
    'simherd_failed_runs_met_total',
    'Starts of enforcement that found a failed run of the cycle: no enforcement until it is retried.',
    'type',
  )
  const webhooks = counter(
    'simherd_webhook_attempts_total',
    'Attempts to deliver an event to a webhook, by result.',
    'verdict',
  )
  queueGauge(registry, queues)
  return {
    observe: (queue: string, outcome: 'done' | 'failed', ms: number) => seconds.observe({ queue, outcome }, ms / 1000),
    jobLost: () => lost.inc(),
    failedRunMet: (type: string) => failedRuns.inc({ type }),
    subjectFailed: () => failed.inc(),
    monthsAhead: (count: number) => months.set(count),
    webhookTried: (outcome: Outcome) => webhooks.inc({ verdict: outcome === 'later' ? 'away' : outcome }),
  }
}

function queueGauge(registry: Metrics['registry'], queues: Queues): void {
  new Gauge({
    name: 'simherd_jobs',
    help: 'Jobs in the queues.',
    labelNames: ['queue', 'state'],
    registers: [registry],
    async collect() {
      const counts = await queues.counts().catch(() => ({}))
      for (const [queue, states] of Object.entries(counts)) {
        for (const [state, count] of Object.entries(states)) this.set({ queue, state }, count)
      }
    },
  })
}

/** Metrics for Prometheus, in one registry per process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { Queues } from '../adapters/queues/backend.ts'
import type { Outcome } from '../domain/channels/channel.ts'
import type { Turns } from '../store/turns.ts'

export interface Metrics {
  readonly registry: Registry
  readonly counter: (name: string, help: string, ...labelNames: string[]) => Counter<string>
  /** A value read at each scrape. One that cannot be read is NaN, with which no comparison holds. */
  readonly gauge: (name: string, help: string, read: () => Promise<number>) => void
  /** @param route the pattern, not the path: ids must not become labels */
  readonly observe: (method: string, route: string, status: number, seconds: number) => void
}

/** How often the use of the event loop is sampled. The default, 100 ms, took a third of a percent of a processor. */
const UTILIZATION_EVERY_MS = 1000

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, eventLoopUtilizationTimeout: UTILIZATION_EVERY_MS })
  const requests = new Histogram({
    name: 'simherd_http_request_duration_seconds',
    help: 'Duration of HTTP requests.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  })
  return {
    registry,
    counter: (name, help, ...labelNames) => new Counter({ name, help, labelNames, registers }),
    gauge: (name, help, read) => {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          this.set(await read().catch(() => Number.NaN))
        },
      })
    },
    observe: (method, route, status, seconds) => requests.observe({ method, route, status: String(status) }, seconds),
  }
}

/** Shows how many transactions of tenants run, and how many wait for their turn. */
export function registerTurns({ registry }: Metrics, turns: Turns): void {
  new Gauge({
    name: 'simherd_tenant_transactions',
    help: "Tenants' transactions, running and waiting for a connection.",
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(turns.counts())) this.set({ state }, count)
    },
  })
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

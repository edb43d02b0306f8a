/** Metrics for Prometheus, in one registry per process. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { Turns } from '../store/turns.ts'

export interface Metrics {
  readonly registry: Registry
  readonly counter: (name: string, help: string, ...labelNames: string[]) => Counter<string>
  /** A value read at each scrape. One that cannot be read is NaN, with which no comparison holds. */
  readonly gauge: (name: string, help: string, read: () => Promise<number>) => void
  /** @param route the pattern, not the path: ids must not become labels */
  readonly observe: (method: string, route: string, status: number, seconds: number) => void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
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

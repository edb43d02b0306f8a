/** Metrics for Prometheus, in one registry per process. */
import { collectDefaultMetrics, Histogram, Registry } from '@prometheus-io/client'

export interface Metrics {
  readonly registry: Registry
  /** @param route the pattern, not the path: ids must not become labels */
  readonly observe: (method: string, route: string, status: number, seconds: number) => void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'simherd_http_request_duration_seconds',
    help: 'Time to answer HTTP requests.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [registry],
  })
  return {
    registry,
    observe: (method, route, status, seconds) => requests.observe({ method, route, status: String(status) }, seconds),
  }
}

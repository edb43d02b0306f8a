/** The carrier as a dependency of the worker: whether it is there, and whether it accepts our credentials. */
import type { Network } from '../adapters/carrier/network.ts'
import type { Dependency } from '../process/health.ts'
import type { Metrics } from '../process/metrics.ts'
import { refusalNow } from '../service/tickets/rows/carrier-refusals.ts'
import { inPlatform, type Store } from '../store/tenancy.ts'

/** Registers the metric of refused credentials. */
export function carrierDependency(metrics: Metrics, store: Store, network: Network): Dependency {
  const refusal = () => inPlatform(store, (tx) => refusalNow(tx, network.credential))
  metrics.gauge(
    'simherd_carrier_refused',
    '1 while the carrier refuses the credentials of this worker: tickets wait without using attempts.',
    async () => ((await refusal()) === undefined ? 0 : 1),
  )
  return {
    name: 'carrier',
    isRequired: false,
    check: async () => {
      await network.ping()
      // Without a database the refusal is unknown; the check of the database reports it.
      const refused = await refusal().catch(() => undefined)
      if (refused === undefined) return 'reachable'
      throw new Error(`reachable, but refuses our secret since ${refused.since.toISOString()}: check CARRIER_SECRET`)
    },
  }
}

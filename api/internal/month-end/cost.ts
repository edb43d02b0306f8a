/** The cost of a billing cycle, answered at once from what is kept, and renewed after. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { CycleCost } from '../../../domain/month-end/cost.ts'
import { keptCost, renewCost } from '../../../service/month-end/keep-cost.ts'
import { inTenant, readOnly, type Store } from '../../../store/tenancy.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { CycleParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

/** How long a request waits for a renewal before it answers what is kept. */
const WAIT_MS = 1000
/** How often a request without anything to answer looks whether another has computed it. */
const LOOK_MS = 250

const route = internalRoutes('Cycles')

/**
 * Answers a kept cost if it is fresh, or if its renewal takes longer than {@link WAIT_MS}: the renewal then goes on after
 * the answer, and the end of the listener waits for it. A renewal that is broken off changes nothing: the next request
 * begins another. Not a job: without a request no cost is renewed, and the API needs no worker for one.
 *
 * Renewals use the tenant's share of the connections, and each request for a cycle begins at most one.
 */
export async function costRoute(app: FastifyInstance, options: InternalOptions): Promise<void> {
  const renewals = new Set<Promise<unknown>>()
  const renew = (store: Store, { tenantId, params, log }: FastifyRequest<{ Params: { key: string } }>) => {
    const renewal: Promise<CycleCost | undefined> = inTenant(store, tenantId, (tx) => renewCost(tx, params.key))
      .catch((error: unknown) => {
        log.error({ err: error, tenant: tenantId, cycle: params.key }, 'the cost of a cycle was not renewed')
        return undefined
      })
      .finally(() => renewals.delete(renewal))
    renewals.add(renewal)
    return renewal
  }
  app.addHook('onClose', async () => {
    await Promise.all(renewals)
  })
  const read = route('GET', '/cycles/:key/cost', {
    operationId: 'readCycleCost',
    isOpenTo: 'read',
    summary: 'Cost of a billing cycle so far, and at its end if usage goes on as it did',
    description:
      'From the lines that a statement would have now; of a closed cycle from those of its statement. Of an open cycle the figures are kept: `asOf` is within the last minute, or older if adding them up takes more than a second or fails. That goes on after the answer: ask again for newer ones. The first request for a cycle, and the first after its close, waits for them.',
    problems: ['cycle_not_found'],
    params: CycleParams,
    response: { 200: CycleCost },
    slow: true,
    handle: async (request, { store }) => {
      const { tenantId, params } = request
      const kept = await inTenant(readOnly(store), tenantId, (tx) => keptCost(tx, params.key))
      if (kept?.isFresh === true) return kept.cost
      if (kept !== undefined) {
        return (await Promise.race([renew(store, request), sleep(WAIT_MS, undefined, { ref: false })])) ?? kept.cost
      }
      for (;;) {
        const cost = await inTenant(store, tenantId, (tx) => renewCost(tx, params.key))
        if (cost !== undefined) return cost
        await sleep(LOOK_MS)
      }
    },
  })
  await read(app, options)
}

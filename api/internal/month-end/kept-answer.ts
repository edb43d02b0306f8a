/** Answers about a billing cycle from what is kept, at once, and renews that after. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { MonthEndPlan } from '../../../domain/month-end/plan.ts'
import { type Keeping, keptAnswer, renewAnswer } from '../../../service/month-end/keep-answer.ts'
import { inTenant, readOnly, type Store } from '../../../store/tenancy.ts'
import type { Route } from '../../http/declare-routes.ts'
import type { InternalOptions } from '../../options.ts'

/** How long a request waits for a renewal before it answers what is kept. */
const WAIT_MS = 1000
/** How often a request without anything to answer looks whether another has computed it. */
const LOOK_MS = 250

type Asked = FastifyRequest<{ Params: { key: string } }>
/** @param isFresh whether the figures of an open cycle must be added up after the request */
type Answer<A> = (store: Store, request: Asked, isFresh?: boolean) => Promise<A>

/**
 * A route that answers what is kept if it is fresh, or if its renewal takes longer than {@link WAIT_MS}: the renewal then
 * goes on after the answer, and the end of the listener waits for it. A renewal that is broken off changes nothing: the
 * next request begins another. Not a job: without a request nothing is renewed, and the API needs no worker for it.
 *
 * Renewals use the tenant's share of the connections, and each request for a cycle begins at most one.
 */
export const keptRoute =
  <A extends Pick<MonthEndPlan, 'closedAt'>>(
    keeping: Keeping<A>,
    declare: (answer: Answer<A>) => Route<InternalOptions>,
  ): Route<InternalOptions> =>
  async (app, options) => {
    const renewals = new Set<Promise<unknown>>()
    const renew = (store: Store, { tenantId, params, log }: Asked) => {
      const renewal: Promise<A | undefined> = inTenant(store, tenantId, (tx) => renewAnswer(tx, keeping, params.key))
        .catch((error: unknown) => {
          const { table } = keeping
          log.error(
            { err: error, tenant: tenantId, cycle: params.key, table },
            'what is kept of a cycle was not renewed',
          )
          return undefined
        })
        .finally(() => renewals.delete(renewal))
      renewals.add(renewal)
      return renewal
    }
    app.addHook('onClose', async () => {
      await Promise.all(renewals)
    })
    const answer: Answer<A> = async (store, request, isFresh = false) => {
      const { tenantId, params } = request
      const kept = isFresh
        ? undefined
        : await inTenant(readOnly(store), tenantId, (tx) => keptAnswer(tx, keeping, params.key))
      if (kept?.isFresh === true) return kept.answer
      if (kept !== undefined) {
        return (await Promise.race([renew(store, request), sleep(WAIT_MS, undefined, { ref: false })])) ?? kept.answer
      }
      const after = isFresh ? store.clock() : undefined
      for (;;) {
        const renewed = await inTenant(store, tenantId, (tx) => renewAnswer(tx, keeping, params.key, after))
        if (renewed !== undefined) return renewed
        await sleep(LOOK_MS)
      }
    }
    await declare(answer)(app, options)
  }

/** Routes with kept answers: they answer at once, and renew the kept answer afterwards. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { type Keeping, keptAnswer, renewAnswer } from '../../store/kept-answers.ts'
import { inTenant, readOnly, type Store } from '../../store/tenancy.ts'
import type { InternalOptions } from '../options.ts'
import type { Route } from './declare-routes.ts'

/** How long a request waits for a renewal before it sends the kept answer. */
const WAIT_MS = 1000
/** How often a request without anything to answer looks whether another has computed it. */
const LOOK_MS = 250

type Asked = Pick<FastifyRequest, 'tenantId' | 'log'>
/** @param isFresh whether to compute a new answer, unless the kept one is final */
type Answer<A> = (store: Store, request: Asked, key: string, isFresh?: boolean) => Promise<A>

/** For the route's description. @param time the field with the time of the figures */
export const keptWords = (time: string): string =>
  `The figures are kept: \`${time}\` is within the last minute, or older if adding them up takes more than a second or fails. That goes on after the answer: ask again for newer ones.`

/**
 * A route that sends the kept answer if it is fresh, or if its renewal takes longer than {@link WAIT_MS}: the renewal
 * then continues after the response, and the end of the listener waits for it. An interrupted renewal changes nothing:
 * the next request begins another. Not a job: without a request nothing is renewed, and the API needs no worker for it.
 *
 * Renewals use the tenant's share of the connections, and each request begins at most one.
 */
export const keptRoute =
  <A>(
    keepingBy: (options: InternalOptions) => Keeping<A>,
    declare: (answer: Answer<A>) => Route<InternalOptions>,
  ): Route<InternalOptions> =>
  async (app, options) => {
    const keeping = keepingBy(options)
    const renewals = new Set<Promise<unknown>>()
    const renew = (store: Store, { tenantId, log }: Asked, key: string) => {
      const renewal: Promise<A | undefined> = inTenant(store, tenantId, (tx) => renewAnswer(tx, keeping, key))
        .catch((error: unknown) => {
          log.error({ err: error, tenant: tenantId, kind: keeping.kind, key }, 'a kept answer was not renewed')
          return undefined
        })
        .finally(() => renewals.delete(renewal))
      renewals.add(renewal)
      return renewal
    }
    app.addHook('onClose', async () => {
      await Promise.all(renewals)
    })
    const answer: Answer<A> = async (store, request, key, isFresh = false) => {
      const { tenantId } = request
      const kept = isFresh ? undefined : await inTenant(readOnly(store), tenantId, (tx) => keptAnswer(tx, keeping, key))
      if (kept?.isFresh === true) return kept.answer
      if (kept !== undefined) {
        return (
          (await Promise.race([renew(store, request, key), sleep(WAIT_MS, undefined, { ref: false })])) ?? kept.answer
        )
      }
      const after = isFresh ? store.clock() : undefined
      for (;;) {
        const renewed = await inTenant(store, tenantId, (tx) => renewAnswer(tx, keeping, key, after))
        if (renewed !== undefined) return renewed
        await sleep(LOOK_MS)
      }
    }
    await declare(answer)(app, options)
  }

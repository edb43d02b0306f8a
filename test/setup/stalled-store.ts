/** A store for a worker that stalls or dies in the middle of its work, after any of its statements. */
import type { KyselyPlugin } from 'kysely'
import type { Store } from '../../store/tenancy.ts'
import { lockWaiters } from './lock-waits.ts'
import { soon } from './soon.ts'

/** After its `nth` statement, the worker waits for `meanwhile`. @returns its store; `happened` says whether it came so far */
export function interrupted(
  store: Store,
  nth: number,
  meanwhile: () => Promise<unknown>,
): { store: Store; happened: () => boolean } {
  let statements = 0
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      statements += 1
      if (statements === nth) await meanwhile()
      return result
    },
  }
  return { store: { ...store, db: store.db.withPlugin(plugin) }, happened: () => statements >= nth }
}

/** What a worker's statement fails with whose connection is lost, as it does when the worker is killed. */
export class Killed extends Error {
  readonly code = 'ECONNRESET'
}

/**
 * Starts work while another transaction is stalled. Returns once the work has ended, or waits for a lock that the stalled
 * one may hold.
 *
 * @returns whether it has ended, and what is left of it
 */
export async function beside(
  store: Store,
  work: () => Promise<unknown>,
): Promise<{ hasEnded: boolean; rest: () => Promise<unknown> }> {
  let hasEnded = false
  const working = work().finally(() => {
    hasEnded = true
  })
  // Whoever awaits it hears of a failure: not before.
  working.catch(() => undefined)
  await soon(async () => {
    if (!hasEnded && (await lockWaiters(store)) === 0) throw new Error('the other neither waits nor has ended')
  })
  return { hasEnded, rest: () => working }
}

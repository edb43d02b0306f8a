/** A store for a worker that stalls or dies in the middle of its work, after any of its statements. */
import type { KyselyPlugin } from 'kysely'
import type { Store } from '../../store/tenancy.ts'

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

/**
 * Keys and tenants by id, to identify most requests without the database.
 *
 * Secret, revocation and expiry are checked on each use (auth.ts). A change of a key or a tenant reaches every process
 * as a notification. While a process does not listen, it asks the database each time.
 */

import { findKey, type StoredKey } from '../../service/tenants/rows/keys.ts'
import { tenantExists } from '../../service/tenants/rows/tenants.ts'
import { type Listening, listen } from '../../store/listen.ts'
import { inPlatform, type Store } from '../../store/tenancy.ts'

/** The tenant and key of a request. */
interface KeyLookup {
  readonly keyId: string
  /** Undefined if the request names no tenant. */
  readonly tenantId: string | undefined
}

export interface KeyAnswer {
  /** Undefined if there is no such key. */
  readonly key: StoredKey | undefined
  /** Whether there is the tenant that the request names. */
  readonly hasTenant: boolean
}

export interface KeyCache {
  /** Finds a key, even if it is revoked or expired, and a tenant. */
  readonly find: (named: KeyLookup) => Promise<KeyAnswer>
  /** Notes that a key is used now. */
  readonly noteUse: (keyId: string, at: Date) => void
  /** Forgets a key. Call after the commit of its change, and before the response. */
  readonly forget: (keyId: string) => void
  readonly close: () => Promise<void>
}

/** Keys that a process remembers, and tenants. Beyond that, the one that it has known longest is forgotten. */
const MOST = 10_000

/** Asks the database each time. */
export const askEachTime = (store: Store): KeyCache => ({
  find: ({ keyId, tenantId }) =>
    inPlatform(store, async (tx) => ({
      key: await findKey(tx, keyId),
      hasTenant: tenantId !== undefined && (await tenantExists(tx, tenantId)),
    })),
  noteUse: () => undefined,
  forget: () => undefined,
  close: async () => undefined,
})

interface CacheOptions {
  readonly databaseUrl: string
  readonly onError?: (error: Error) => void
  /** How often the connection that listens is tried, in milliseconds. */
  readonly beatMs?: number
  /** Keys to remember, and tenants. Default: {@link MOST}. */
  readonly most?: number
}

/** Remembers keys and tenants that exist, in memory, while it listens for changes of them. */
export function rememberKeys(store: Store, options: CacheOptions): KeyCache & Pick<Listening, 'isOn'> {
  const { most = MOST } = options
  const keys = new Map<string, StoredKey>()
  const tenants = new Map<string, true>()
  /** Rows from the database are kept only if this is unchanged. */
  let changes = 0
  const forget = (known: Map<string, unknown>, id: string) => {
    changes += 1
    known.delete(id)
  }
  const listening = listen(options.databaseUrl, {
    ...options,
    channel: 'simherd_callers',
    sender: 'notify_caller_change',
    onNotice: (text) => {
      const [kind, id = ''] = text.split(' ')
      if (kind === 'key') forget(keys, id)
      if (kind === 'tenant') forget(tenants, id)
    },
    onBegin: () => {
      changes += 1
      keys.clear()
      tenants.clear()
    },
  })
  const database = askEachTime(store)
  return {
    find: async (named) => {
      const { keyId, tenantId } = named
      if (!listening.isOn()) return database.find(named)
      const key = keys.get(keyId)
      const hasTenant = tenantId !== undefined && tenants.has(tenantId)
      if (key !== undefined && (tenantId === undefined || hasTenant)) return { key, hasTenant }
      const before = changes
      const found = await database.find(named)
      if (changes === before && listening.isOn()) {
        if (found.key !== undefined) remember(keys, keyId, found.key, most)
        if (tenantId !== undefined && found.hasTenant) remember(tenants, tenantId, true, most)
      }
      return found
    },
    noteUse: (keyId, at) => {
      const key = keys.get(keyId)
      if (key !== undefined) keys.set(keyId, { ...key, lastUsedAt: at })
    },
    forget: (keyId) => forget(keys, keyId),
    isOn: listening.isOn,
    close: listening.close,
  }
}

/** Keeps a value among the `most` that are known: the one known longest is forgotten. */
export function remember<T>(known: Map<string, T>, id: string, value: T, most: number): void {
  known.delete(id)
  for (const oldest of known.keys()) {
    if (known.size < most) break
    known.delete(oldest)
  }
  known.set(id, value)
}

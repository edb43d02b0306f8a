/** Sessions, for the console. A token opens the console only: no path of a listener takes it. */
import type { Session } from '../../domain/tenants/session.ts'
import { parseKey } from '../../service/tenants/create-key.ts'
import { endSession } from '../../service/tenants/end-session.ts'
import { openSession } from '../../service/tenants/open-session.ts'
import { readLink, useSession } from '../../service/tenants/use-session.ts'
import { type Caller, inPlatform, type Store } from '../../store/tenancy.ts'
import { authenticate } from './auth.ts'
import type { KeyCache } from './key-cache.ts'

/** A token has the form of a key's secret: 32 bytes. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/

export interface Sessions {
  /** Signs in by a key. @returns the token @throws ServiceError `unauthorized` */
  readonly signIn: (given: {
    readonly key: string
    readonly userAgent: string
    readonly requestId: string
  }) => Promise<string>
  /** The session that a link would open. Does not use it. @throws ServiceError `unauthorized` */
  readonly findLink: (link: string) => Promise<Session>
  /** Signs in by a link, once. @returns the token @throws ServiceError `unauthorized` */
  readonly signInByLink: (given: {
    readonly link: string
    readonly userAgent: string
    readonly requestId: string
  }) => Promise<string>
  /** Finds the session of a token, and prolongs it by a use. Other text is not looked for. */
  readonly find: (token: string, isUse: boolean) => Promise<Session | undefined>
  /** Ends a session that was found. */
  readonly signOut: (token: string, session: Session, requestId: string) => Promise<void>
}

const callerOf = (keyId: string, requestId: string, action: string): Caller => ({
  actor: `key:${keyId}`,
  keyId,
  requestId,
  action,
  workflowId: null,
})

export function sessionsOf(store: Store, keys: KeyCache): Sessions {
  const inNameOf = (keyId: string, requestId: string, action: string) => ({
    ...store,
    caller: callerOf(keyId, requestId, action),
  })
  const findLink = (link: string) => inPlatform(store, (tx) => readLink(tx, link))
  return {
    signIn: async ({ key, userAgent, requestId }) => {
      const parsed = parseKey(key)
      const found = parsed && (await keys.find({ keyId: parsed.id, tenantId: undefined }))
      const stored = authenticate(found?.key, parsed?.secret, new Date(store.clock()))
      return inPlatform(inNameOf(stored.id, requestId, 'signIn'), (tx) => openSession(tx, stored, { userAgent }))
    },
    findLink,
    signInByLink: async ({ link, userAgent, requestId }) => {
      const { keyId: id, tenantId } = await findLink(link)
      return inPlatform(inNameOf(id, requestId, 'signIn'), (tx) =>
        openSession(tx, { id, tenantId }, { userAgent, link }),
      )
    },
    find: async (token, isUse) =>
      TOKEN.test(token) ? inPlatform(store, (tx) => useSession(tx, token, isUse)) : undefined,
    signOut: (token, { keyId, tenantId }, requestId) =>
      inPlatform(inNameOf(keyId, requestId, 'signOut'), (tx) => endSession(tx, token, tenantId)),
  }
}

/** Sessions, for the console. A token opens the console only: no path of a listener takes it. */
import type { Session } from '../../domain/tenants/session.ts'
import { linkKey } from '../../service/channels/rows/link-key.ts'
import {
  askSignIn,
  findByCode,
  type MailedSignIn,
  otherBrowser,
  readMailedLink,
  type SignedIn,
  useMail,
  wrongCode,
} from '../../service/channels/sign-in-by-mail.ts'
import { parseKey } from '../../service/tenants/create-key.ts'
import { endSession } from '../../service/tenants/end-session.ts'
import { openSession } from '../../service/tenants/open-session.ts'
import { readLink, useSession } from '../../service/tenants/use-session.ts'
import { type Caller, inPlatform, type Store } from '../../store/tenancy.ts'
import { once } from '../http/fixed-answer.ts'
import { authenticate } from './auth.ts'
import type { KeyCache } from './key-cache.ts'

/** A token has the form of a key's secret: 32 bytes. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/

interface MailLink {
  readonly token: string
  /** Text of the cookie of the browser that opens it. */
  readonly browser: string
}

interface Browser {
  readonly userAgent: string
  readonly requestId: string
}

export interface Sessions {
  /** Signs in by a key. @returns the token @throws ServiceError `unauthorized` */
  readonly signIn: (given: { readonly key: string } & Browser) => Promise<string>
  /** The session that a link would open. Does not use it. @throws ServiceError `unauthorized` */
  readonly findLink: (link: string) => Promise<Session>
  /** Signs in by a link, once. @returns the token @throws ServiceError `unauthorized` */
  readonly signInByLink: (given: { readonly link: string } & Browser) => Promise<string>
  /** Mails a link and a code to an address, if it is of a contact. @param browser text of a cookie of the browser */
  readonly askMail: (asked: Parameters<typeof askSignIn>[1]) => Promise<void>
  /** The mail of a link. Does not use it. @throws ServiceError `unauthorized` */
  readonly findMail: (given: MailLink) => Promise<MailedSignIn>
  /** Signs in by the link of a mail, once, in the browser that asked for it. @throws ServiceError `unauthorized` */
  readonly signInByMail: (given: MailLink & Browser) => Promise<SignedIn>
  /** Signs in by the code of a mail, once. @throws ServiceError `unauthorized` */
  readonly signInByCode: (given: { readonly email: string; readonly code: string } & Browser) => Promise<SignedIn>
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
  const keyOfMails = once(() => inPlatform(store, linkKey))
  const useMailOf = ({ keyId, ...mail }: Pick<MailedSignIn, 'id' | 'keyId'>, { userAgent, requestId }: Browser) =>
    inPlatform(inNameOf(keyId, requestId, 'signIn'), (tx) => useMail(tx, mail, userAgent))
  const findMail = async (given: MailLink) => {
    const key = await keyOfMails()
    return inPlatform(store, (tx) => readMailedLink(tx, key, given))
  }
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
    askMail: (asked) => inPlatform(store, (tx) => askSignIn(tx, asked)),
    findMail,
    signInByMail: async (given) => {
      const mail = await findMail(given)
      if (!mail.isOfBrowser) throw otherBrowser()
      return useMailOf(mail, given)
    },
    signInByCode: async (given) => {
      const key = await keyOfMails()
      const mail = await inPlatform(store, (tx) => findByCode(tx, key, given))
      if (mail === undefined) throw wrongCode()
      return useMailOf(mail, given)
    },
    find: async (token, isUse) => (TOKEN.test(token) ? useSession(store, token, isUse) : undefined),
    signOut: (token, { keyId, tenantId }, requestId) =>
      inPlatform(inNameOf(keyId, requestId, 'signOut'), (tx) => endSession(tx, token, tenantId)),
  }
}

/**
 * Signs in contacts: people with an address that a tenant mails, and without a key. A contact acts by a key of the tenant
 * with the scope `billing`, which is made at the first request and ends with the address.
 *
 * A mail has a link, for the browser that asked, and a code for any other. Programs that check the links of mails lack the
 * cookie of that browser, and use up nothing.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { ServiceError } from '../../domain/errors.ts'
import { LINK_MS } from '../../domain/tenants/session.ts'
import {
  ASKED_ONCE_MS,
  codeOf,
  HOUR_MS,
  isCode,
  MOST_AN_HOUR,
  MOST_TENANTS,
  MOST_WRONG_CODES,
  openSignIn,
} from '../../domain/tenants/sign-in-mail.ts'
import type { PlatformTx } from '../../store/tenancy.ts'
import { hashSecret } from '../tenants/create-key.ts'
import { openSession, usedUp } from '../tenants/open-session.ts'
import { lockContactKey } from '../tenants/rows/keys.ts'
import {
  countSignInMails,
  findSignIn,
  forgetSignIns,
  insertSignInMail,
  lockSignInsTo,
  noteWrongCode,
  type OpenSignIn,
  tenantsOfContact,
  useSignIn,
} from './rows/sign-in-mails.ts'

interface AskedMail {
  readonly email: string
  /** Text of the cookie of the browser that asks. */
  readonly browser: string
  readonly consoleUrl: string
  /** Path of the console to go on to. */
  readonly next: string
}

/** Mails a link and a code to a contact, for each of its tenants. Does nothing for other addresses, or beyond the limit. */
export async function askSignIn(tx: PlatformTx, { email, browser, ...asked }: AskedMail): Promise<void> {
  const before = (ms: number) => new Date(tx.now.getTime() - ms)
  await forgetSignIns(tx, before(HOUR_MS))
  const browserHash = hashSecret(browser)
  for (const { tenantId, email: contact } of await tenantsOfContact(tx, email, MOST_TENANTS)) {
    const made = { id: randomBytes(6).toString('hex'), secretHash: randomBytes(32), scopes: ['billing'] as const }
    const keyId = await lockContactKey(tx, { ...made, tenantId, contact })
    const since = { since: before(HOUR_MS), askedSince: before(ASKED_ONCE_MS) }
    const { count, isAsked } = await countSignInMails(tx, { keyId, browserHash }, since)
    if (!isAsked && count < MOST_AN_HOUR) await insertSignInMail(tx, { keyId, browserHash, ...asked })
  }
}

/** The mail that a link is of, and whether this browser asked for it. */
export interface MailedSignIn extends Pick<OpenSignIn, 'id' | 'keyId' | 'contact' | 'tenantName' | 'next'> {
  readonly isOfBrowser: boolean
}

/**
 * Reads the mail of a link. Does not use it.
 *
 * @param browser text of the cookie of the browser that opens it
 * @throws ServiceError `unauthorized` if it was used or has expired, or its contact has ended
 */
export async function readMailedLink(
  tx: PlatformTx,
  key: Uint8Array,
  { token, browser }: { readonly token: string; readonly browser: string },
): Promise<MailedSignIn> {
  const id = openSignIn(key, token)
  const found = id === undefined ? undefined : await findSignIn(tx, id)
  if (found === undefined) throw usedUp()
  return { ...found, isOfBrowser: timingSafeEqual(found.browserHash, hashSecret(browser)) }
}

/** A browser that has signed in. */
export interface SignedIn {
  /** Of the session. */
  readonly token: string
  readonly next: string
}

/**
 * Signs in by a mail that {@link readMailedLink} or {@link findByCode} found, once.
 *
 * @throws ServiceError `unauthorized` if it was used meanwhile
 */
export async function useMail(tx: PlatformTx, { id }: Pick<OpenSignIn, 'id'>, userAgent: string): Promise<SignedIn> {
  const found = await useSignIn(tx, id)
  if (found === undefined) throw usedUp()
  const { keyId, tenantId, contact, next } = found
  return { token: await openSession(tx, { id: keyId, tenantId, contact }, { userAgent }), next }
}

/**
 * Finds the mail to an address that has a code, and counts a wrong one.
 *
 * @returns undefined if the code is wrong, was used, has expired, or was tried too often
 */
export async function findByCode(
  tx: PlatformTx,
  key: Uint8Array,
  { email, code }: { readonly email: string; readonly code: string },
): Promise<OpenSignIn | undefined> {
  const mails = await lockSignInsTo(tx, email, MOST_WRONG_CODES)
  const found = mails.find(({ id }) => isCode(code, codeOf(key, id)))
  const ids = mails.map(({ id }) => id)
  if (found === undefined) await noteWrongCode(tx, ids)
  return found
}

/** The refusal of a link by its button. Its page in another browser has no button. */
export const otherBrowser = (): ServiceError =>
  new ServiceError(
    'unauthorized',
    'This link signs in the browser where it was asked for: type the code of the mail here.',
  )

export const wrongCode = (): ServiceError =>
  new ServiceError(
    'unauthorized',
    `This is not the code of a mail to this address, or it was used, or is older than ${LINK_MS / 60_000} minutes, or wrong codes were typed ${MOST_WRONG_CODES} times.`,
  )

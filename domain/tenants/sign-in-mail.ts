/**
 * Mails that sign in a contact: their links, codes and limits. A link and a code are computed from the id of the mail, by
 * the key of links in mails: what signs in is not stored. Pure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** Most mails to a contact in an hour: other people can ask for them. */
export const MOST_AN_HOUR = 5
export const HOUR_MS = 3_600_000
/** Requests of a browser within this time, in milliseconds, count as one. */
export const ASKED_ONCE_MS = 60_000
/** After so many wrong codes, those of the contact's open mails sign in no more. Their links do. */
export const MOST_WRONG_CODES = 5
/** Most tenants that one request mails about. */
export const MOST_TENANTS = 10

/** Separates these from any other use of the same key. */
const LINK = 'simherd-sign-in-link:'
const CODE = 'simherd-sign-in-code:'
const FORM = /^([1-9]\d{0,15})\.([\w-]{43})$/
const DIGITS = 8

const hashOf = (key: Uint8Array, use: string, id: number): Buffer =>
  createHmac('sha256', key).update(`${use}${id}`).digest()

const signatureOf = (key: Uint8Array, id: number): string => hashOf(key, LINK, id).toString('base64url')

/** The token of a mail's link: letters, digits, `-`, `_` and a point. */
export const sealSignIn = (key: Uint8Array, id: number): string => `${id}.${signatureOf(key, id)}`

/** The id of the mail that a token is of; undefined if it was not made with this key. */
export function openSignIn(key: Uint8Array, token: string): number | undefined {
  const [, digits = '', signature = ''] = FORM.exec(token) ?? []
  if (signature === '') return undefined
  const id = Number(digits)
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(key, id))) ? id : undefined
}

/** The code of a mail: eight digits. */
export const codeOf = (key: Uint8Array, id: number): string =>
  String(hashOf(key, CODE, id).readUIntBE(0, 6) % 10 ** DIGITS).padStart(DIGITS, '0')

/** Two groups, as a person reads a code. */
export const writeCode = (code: string): string => `${code.slice(0, 4)} ${code.slice(4)}`

/** Whether a typed text is a code, however it is grouped. */
export const isCode = (typed: string, code: string): boolean => typed.replace(/[\s-]/g, '') === code

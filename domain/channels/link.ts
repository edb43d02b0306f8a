/**
 * Links in mails. A token contains the action of its link, its target and its expiry, and is signed: nothing is stored
 * for it. A link can only quieten or confirm. Pure. Source: decision 0049.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { fromCoded, SUBJECT_CODES, type Subject } from '../watchdog/subject.ts'

/** How long links work, in milliseconds. */
export const LINKS_LAST_MS = 30 * 86_400_000

/** `ack` acknowledges an alert. `mute` silences its rule for its subject, to the end of the alert's cycle. */
export interface AlertLink {
  readonly purpose: 'ack' | 'mute'
  readonly tenantId: string
  readonly rule: string
  readonly subject: Subject
  /** Key of the billing cycle. */
  readonly cycle: string
}

/** Ends mails of alerts below Critical. */
export interface UnsubscribeLink {
  readonly purpose: 'unsubscribe'
  readonly tenantId: string
}

export type Link = AlertLink | UnsubscribeLink

/** A link with a valid signature. */
export interface OpenedLink {
  readonly link: Link
  readonly isExpired: boolean
}

const Seconds = Type.Integer({ minimum: 0 })
const Claims = Type.Union([
  Type.Tuple([Type.Literal('unsubscribe'), Seconds, Type.String()]),
  Type.Tuple([
    Type.Union([Type.Literal('ack'), Type.Literal('mute')]),
    Seconds,
    Type.String(),
    Type.String(),
    Type.Union([
      Type.Literal(SUBJECT_CODES.sim),
      Type.Literal(SUBJECT_CODES.pool),
      Type.Literal(SUBJECT_CODES.tenant),
      Type.Literal(SUBJECT_CODES.tag),
    ]),
    Type.Integer({ minimum: 0 }),
    Type.String(),
  ]),
])
type Claims = Static<typeof Claims>

/** Separates links from any other use of the same key. */
const CONTEXT = 'simherd-mail-link:'
const FORM = /^([\w-]{1,1000})\.([\w-]{43})$/

const signatureOf = (key: Uint8Array, text: string): string =>
  createHmac('sha256', key).update(CONTEXT).update(text).digest('base64url')

/**
 * Makes the token of a link: letters, digits, `-`, `_` and a point, less than 300 in all.
 *
 * @param expiresAt epoch milliseconds, to the second
 */
export function sealLink(key: Uint8Array, link: Link, expiresAt: number): string {
  const text = Buffer.from(JSON.stringify(claimsOf(link, Math.floor(expiresAt / 1000)))).toString('base64url')
  return `${text}.${signatureOf(key, text)}`
}

const claimsOf = (link: Link, seconds: number): Claims =>
  link.purpose === 'unsubscribe'
    ? [link.purpose, seconds, link.tenantId]
    : [link.purpose, seconds, link.tenantId, link.rule, SUBJECT_CODES[link.subject.kind], link.subject.id, link.cycle]

/** Whether a text has the form of a token: other texts are refused without a key. */
export const hasTokenForm = (token: string): boolean => FORM.test(token)

/** The link of a token; undefined if it was not made with this key. @param now epoch milliseconds */
export function openLink(key: Uint8Array, token: string, now: number): OpenedLink | undefined {
  const [, text = '', signature = ''] = FORM.exec(token) ?? []
  // Texts are compared: two signatures that differ in unused bits decode to the same bytes.
  if (signature === '' || !timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(key, text)))) {
    return undefined
  }
  const claims: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
  // A later release may have signed a link that this one does not support.
  if (!Value.Check(Claims, claims)) return undefined
  return { link: linkOf(claims), isExpired: claims[1] * 1000 <= now }
}

function linkOf(claims: Claims): Link {
  if (claims[0] === 'unsubscribe') return { purpose: claims[0], tenantId: claims[2] }
  const [purpose, , tenantId, rule, kind, id, cycle] = claims
  return { purpose, tenantId, rule, subject: fromCoded({ kind, id }), cycle }
}

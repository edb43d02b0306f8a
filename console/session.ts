/** The session of a browser, in its cookie. */
import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sessions } from '../api/keys/sessions.ts'
import { ServiceError } from '../domain/errors.ts'
import { callerIn, LINK_MS, LONGEST_SESSION_MS, type Session } from '../domain/tenants/session.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The session that a request of the console belongs to. Null: nobody is signed in. */
    session: Session | null
  }
  interface FastifyContextConfig {
    /** Whether a page of the console is for everyone. */
    isOpen?: true
  }
}

/** The prefix makes browsers refuse it from another host, and without `Secure` and `Path=/`. */
const COOKIE = '__Host-simherd'
const ATTRIBUTES = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const

/** The token of a request's cookie; empty without one. */
export const tokenOf = (request: FastifyRequest): string => request.cookies[COOKIE] ?? ''

/** The server ends a session sooner, when it is not used. */
export const setToken = (reply: FastifyReply, token: string): FastifyReply =>
  reply.setCookie(COOKIE, token, { ...ATTRIBUTES, maxAge: LONGEST_SESSION_MS / 1000 })

const ASKED = '__Host-simherd-asked'

/** The text by which a browser is known that has asked for a mail; empty without one. */
export const askedBy = (request: FastifyRequest): string => request.cookies[ASKED] ?? ''

/** A browser that has asked keeps its text: later mails are for it, too. */
export function setAsked(request: FastifyRequest, reply: FastifyReply): string {
  const text = askedBy(request) || randomBytes(32).toString('base64url')
  reply.setCookie(ASKED, text, { ...ATTRIBUTES, maxAge: LINK_MS / 1000 })
  return text
}

export const clearToken = (reply: FastifyReply): FastifyReply => reply.clearCookie(COOKIE, ATTRIBUTES)

/** Finds the session of each request. */
export async function useSessions(app: FastifyInstance, sessions: Sessions): Promise<void> {
  await app.register(cookie)
  app.decorateRequest('session', null)
  app.decorateRequest('keyId', '')
  app.addHook('onRequest', async (request) => {
    // A page that keeps itself up to date is no use: nobody may be there. Its script asks for nothing to show or load.
    const isUse = request.headers['sec-fetch-dest'] !== 'empty'
    request.session = (await sessions.find(tokenOf(request), isUse)) ?? null
    request.keyId = request.session?.keyId ?? ''
  })
}

/** Sends whoever is not signed in to the door. Call after {@link useSessions}. */
export function requireSession(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (request.session !== null || request.routeOptions.config.isOpen === true) return
    const next = request.method === 'GET' ? request.url : '/'
    return reply.redirect(`/sign-in?next=${encodeURIComponent(next)}`, 303)
  })
}

/** Shows a contact only the pages below `my`: the others are for keys, and would lack most of their parts. */
export function keepContactsToOwn(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ session, routeOptions: { url = '' } }, reply) => {
    const isForKeys = url.startsWith('/t/:tenant') && !url.startsWith('/t/:tenant/my')
    if (session === null || callerIn(session) !== 'contact' || !isForKeys) return
    if (url === '/t/:tenant') return reply.redirect(`/t/${encodeURIComponent(session.tenantId ?? '')}/my`, 303)
    throw new ServiceError('forbidden', 'This page is for keys of the tenant, and for operators. My month has yours.')
  })
}

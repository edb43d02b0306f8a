/** Signs in by a key or its link, and signs out. */
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { useTryLimit } from '../../../api/http/rate-limit.ts'
import type { Sessions } from '../../../api/keys/sessions.ts'
import { ServiceError } from '../../../domain/errors.ts'
import type { Session } from '../../../domain/tenants/session.ts'
import { ownPath } from '../../own-request.ts'
import { clearToken, tokenOf } from '../../session.ts'
import { browserOf, type Door, faultIn, letIn, mailForm, refusalIn, sendDoor } from './door.ts'

export interface DoorOptions {
  readonly sessions: Sessions
  /** Tries to sign in a minute and address; 0: no limit. Default: 60. */
  readonly refusalLimit?: number
}

const Next = Type.Object({ next: Type.Optional(Type.String()) })
const ByLink = Type.Object({ link: Type.String() })
const SignIn = Type.Object({ key: Type.String(), next: Type.Optional(Type.String()) })

export const doorRoutes: FastifyPluginAsync<DoorOptions> = async (app, { sessions, refusalLimit }) => {
  app.get<{ Querystring: Static<typeof Next> }>(
    '/sign-in',
    { config: { isOpen: true }, schema: { querystring: Next } },
    async (request, reply) => {
      const next = ownPath(request.query.next)
      return request.session === null ? sendDoor(reply, keyDoor(next)) : reply.redirect(next, 303)
    },
  )

  app.post('/sign-out', { config: { isOpen: true } }, async (request, reply) => {
    const { session } = request
    if (session !== null) await sessions.signOut(tokenOf(request), session, request.id)
    return clearToken(reply).redirect('/sign-in', 303)
  })

  app.get<{ Params: Static<typeof ByLink> }>(
    '/sign-in/:link',
    { config: { isOpen: true }, schema: { params: ByLink } },
    async ({ params: { link } }, reply) => {
      const found = await sessions.findLink(link).catch(refusalIn)
      if (found instanceof ServiceError) return sendDoor(reply.code(401), keyDoor('/', found.message))
      return sendDoor(reply, linkDoor(link, found))
    },
  )

  await app.register(async (tries) => {
    await useTryLimit(tries, refusalLimit)
    const enter = async (request: FastifyRequest, reply: FastifyReply, next: string, signing: Promise<string>) => {
      const token = await signing.catch(refusalIn)
      return token instanceof ServiceError
        ? sendDoor(reply.code(401), keyDoor(next, token.message))
        : letIn(request, reply, { sessions, token, next })
    }
    tries.post<{ Body: Static<typeof SignIn> }>(
      '/sign-in',
      { config: { isOpen: true }, schema: { body: SignIn } },
      (request, reply) => {
        const { key, next } = request.body
        return enter(request, reply, ownPath(next), sessions.signIn({ key: key.trim(), ...browserOf(request) }))
      },
    )
    // A program that follows each link of a mail sends no form: so it does not use up the link.
    tries.post<{ Params: Static<typeof ByLink> }>(
      '/sign-in/:link',
      { config: { isOpen: true }, schema: { params: ByLink } },
      (request, reply) =>
        enter(request, reply, '/', sessions.signInByLink({ link: request.params.link, ...browserOf(request) })),
    )
  })
}

/** The key is never sent back. */
const keyDoor = (next: string, fault = ''): Door => ({
  action: '/sign-in',
  fields: html`<input type="hidden" name="next" value="${next}">
<input type="text" value="Simherd" autocomplete="username" hidden>
<label for="key">API key</label>
<input id="key" name="key" type="password" required autofocus autocomplete="current-password" spellcheck="false"
 aria-describedby="hint"${fault === '' ? '' : html` aria-invalid="true"`}>
<p id="hint" class="mute">Of an operator, or of your tenant. You act with its rights.</p>
${faultIn(fault)}`,
  below: mailForm(next),
})

const linkDoor = (link: string, { keyName }: Session): Door => ({
  action: `/sign-in/${link}`,
  fields: html`<p>This link signs you in once, with the rights of the key <bdi>${keyName}</bdi>.</p>`,
})

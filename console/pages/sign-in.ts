/** The door: signs in by a key, and signs out. */
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { useTryLimit } from '../../api/http/rate-limit.ts'
import type { Sessions } from '../../api/keys/sessions.ts'
import { ServiceError } from '../../domain/errors.ts'
import { ownPath } from '../own-request.ts'
import type { Html } from '../parts/html.ts'
import { icon } from '../parts/icon.ts'
import { sendPage } from '../parts/page.ts'
import { clearToken, setToken, tokenOf } from '../session.ts'

interface DoorOptions {
  readonly sessions: Sessions
  /** Tries to sign in a minute and address; 0: no limit. Default: 60. */
  readonly refusalLimit?: number
}

const Next = Type.Object({ next: Type.Optional(Type.String()) })
const SignIn = Type.Object({ key: Type.String(), next: Type.Optional(Type.String()) })

export const doorRoutes: FastifyPluginAsync<DoorOptions> = async (app, { sessions, refusalLimit }) => {
  app.get<{ Querystring: Static<typeof Next> }>(
    '/sign-in',
    { config: { isOpen: true }, schema: { querystring: Next } },
    async (request, reply) => {
      const next = ownPath(request.query.next)
      return request.session === null ? sendDoor(reply, next) : reply.redirect(next, 303)
    },
  )

  app.post('/sign-out', { config: { isOpen: true } }, async (request, reply) => {
    const { session } = request
    if (session !== null) await sessions.signOut(tokenOf(request), session, request.id)
    return clearToken(reply).redirect('/sign-in', 303)
  })

  await app.register(async (tries) => {
    await useTryLimit(tries, refusalLimit)
    tries.post<{ Body: Static<typeof SignIn> }>(
      '/sign-in',
      { config: { isOpen: true }, schema: { body: SignIn } },
      async (request, reply) => {
        const { key, next } = request.body
        const { 'user-agent': userAgent = '' } = request.headers
        const token = await sessions
          .signIn({ key: key.trim(), userAgent, requestId: request.id })
          .catch((error: unknown) => refusalIn(error))
        if (typeof token !== 'string') return sendDoor(reply.code(401), ownPath(next), token.message)
        if (request.session !== null) await sessions.signOut(tokenOf(request), request.session, request.id)
        return setToken(reply, token).redirect(ownPath(next), 303)
      },
    )
  })
}

/** The refusal of a key. @throws any other error */
function refusalIn(error: unknown): ServiceError {
  if (error instanceof ServiceError && error.code === 'unauthorized') return error
  throw error
}

const sendDoor = (reply: FastifyReply, next: string, fault = ''): Promise<FastifyReply> =>
  sendPage(reply, { title: 'Sign in', main: door(next, fault) })

/** The key is never sent back. */
const door = (next: string, fault: string): Html => html`<form class="door panel" method="post" action="/sign-in">
<h1>Sign in</h1>
<input type="hidden" name="next" value="${next}">
<input type="text" value="Simherd" autocomplete="username" hidden>
<label for="key">API key</label>
<input id="key" name="key" type="password" required autofocus autocomplete="current-password" spellcheck="false"
 aria-describedby="hint"${fault === '' ? '' : html` aria-invalid="true"`}>
<p id="hint" class="mute">Of an operator, or of your tenant. You act with its rights.</p>
${fault === '' ? '' : html`<p class="notice critical" role="alert">${icon('critical')} <span>${fault}</span></p>`}
<button class="first" type="submit">Sign in</button>
</form>`

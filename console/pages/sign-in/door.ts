/** What the pages that sign in have in common. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from 'hono/html'
import type { Sessions } from '../../../api/keys/sessions.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { mayDropCookie } from '../../own-request.ts'
import type { Html } from '../../parts/html.ts'
import { icon } from '../../parts/icon.ts'
import { sendPage } from '../../parts/page.ts'
import { setToken, tokenOf } from '../../session.ts'

/** The refusal of a key, a link or a code. @throws any other error */
export function refusalIn(error: unknown): ServiceError {
  if (error instanceof ServiceError && error.code === 'unauthorized') return error
  throw error
}

/** The browser of a request, for the session that it opens. */
export const browserOf = ({ id: requestId, headers: { 'user-agent': userAgent = '' } }: FastifyRequest) => ({
  userAgent,
  requestId,
})

interface Entering {
  readonly sessions: Sessions
  /** Of the new session. */
  readonly token: string
  readonly next: string
}

/** Goes on with a new session. The one that the browser had ends. */
export async function letIn(request: FastifyRequest, reply: FastifyReply, { sessions, token, next }: Entering) {
  if (request.session !== null) await sessions.signOut(tokenOf(request), request.session, request.id)
  return setToken(reply, token).redirect(next, 303)
}

export interface Door {
  readonly title?: string
  /** The path that the form is sent to. */
  readonly action: string
  readonly fields: Html
  readonly below?: Html
}

export const sendDoor = (
  reply: FastifyReply,
  { title = 'Sign in', action, fields, below = html`` }: Door,
): Promise<FastifyReply> =>
  sendPage(reply, {
    title,
    session: null,
    main: html`<div class="door panel">
<form method="post" action="${action}">
<h1>${title}</h1>
${fields}
<button class="first" type="submit">Sign in</button>
${mayDropCookie(reply.request.headers) ? INSECURE : ''}
</form>
${below}
</div>`,
  })

const INSECURE = html`<p class="mute">Your browser does not say that this connection is secure. It stays signed in only by
https, or at 127.0.0.1 on the machine of the service.</p>`

export const faultIn = (fault: string): Html =>
  fault === '' ? html`` : html`<p class="notice critical" role="alert">${icon('critical')} <span>${fault}</span></p>`

/** Asks for a mail. @param next path to go on to */
export const mailForm = (next: string): Html => html`<form method="post" action="/sign-in/mail">
<h2>Without a key</h2>
<input type="hidden" name="next" value="${next}">
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" required maxlength="254" autocomplete="email" aria-describedby="mailed">
<p id="mailed" class="mute">One that gets mails of Simherd. You see its tenant's month, alerts, statements and mails.</p>
<button type="submit">Mail me a link</button>
</form>`

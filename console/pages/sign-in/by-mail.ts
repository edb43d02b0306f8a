/**
 * Signs in contacts by a mail. The link works by its button, in the browser that has asked for it: programs that check the
 * links of mails cannot use it up. Other browsers take the code.
 */
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { useTryLimit } from '../../../api/http/rate-limit.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { LINK_MS } from '../../../domain/tenants/session.ts'
import { MOST_AN_HOUR } from '../../../domain/tenants/sign-in-mail.ts'
import { ownPath } from '../../own-request.ts'
import type { Html } from '../../parts/html.ts'
import { askedBy, setAsked } from '../../session.ts'
import type { DoorOptions } from './by-key.ts'
import { browserOf, type Door, faultIn, letIn, mailForm, refusalIn, sendDoor } from './door.ts'

interface MailDoorOptions extends DoorOptions {
  /** Address of the console, without a trailing slash. */
  readonly consoleUrl: () => string
}

const Email = Type.String({ maxLength: 254 })
const Asked = Type.Object({ email: Email, next: Type.Optional(Type.String({ maxLength: 2000 })) })
const Code = Type.Object({ email: Email, code: Type.String({ maxLength: 100 }) })
const ByToken = Type.Object({ token: Type.String() })
const config = { isOpen: true } as const

export const mailDoorRoutes: FastifyPluginAsync<MailDoorOptions> = async (
  app,
  { sessions, refusalLimit, consoleUrl },
) => {
  app.get('/sign-in/code', { config }, async (_, reply) => sendDoor(reply, codeDoor()))

  const byToken = { config, schema: { params: ByToken } }
  app.get<{ Params: Static<typeof ByToken> }>('/sign-in/mail/:token', byToken, async (request, reply) => {
    const { token } = request.params
    const mail = await sessions.findMail({ token, browser: askedBy(request) }).catch(refusalIn)
    if (mail instanceof ServiceError) return sendRefusal(reply, mail)
    return sendDoor(reply, mail.isOfBrowser ? linkDoor(token, mail) : codeDoor({ hint: OTHER_BROWSER }))
  })

  await app.register(async (tries) => {
    await useTryLimit(tries, refusalLimit)
    tries.post<{ Body: Static<typeof Asked> }>(
      '/sign-in/mail',
      { config, schema: { body: Asked } },
      async (request, reply) => {
        const email = request.body.email.trim()
        const next = ownPath(request.body.next)
        await sessions.askMail({ email, next, browser: setAsked(request, reply), consoleUrl: consoleUrl() })
        return sendDoor(reply, codeDoor({ email, hint: sent(email) }))
      },
    )
    tries.post<{ Params: Static<typeof ByToken> }>('/sign-in/mail/:token', byToken, async (request, reply) => {
      const given = { token: request.params.token, browser: askedBy(request), ...browserOf(request) }
      const signed = await sessions.signInByMail(given).catch(refusalIn)
      if (signed instanceof ServiceError) return sendRefusal(reply, signed)
      return letIn(request, reply, { sessions, ...signed })
    })
    tries.post<{ Body: Static<typeof Code> }>(
      '/sign-in/code',
      { config, schema: { body: Code } },
      async (request, reply) => {
        const { email, code } = request.body
        const signed = await sessions
          .signInByCode({ email: email.trim(), code, ...browserOf(request) })
          .catch(refusalIn)
        if (signed instanceof ServiceError) return sendDoor(reply.code(401), codeDoor({ email, fault: signed.message }))
        return letIn(request, reply, { sessions, ...signed })
      },
    )
  })
}

const OTHER_BROWSER = html`<p>This link signs in the browser where it was asked for, which is another one, or was
too long ago. Type the code of the mail here.</p>`

/** The same for any address: the page does not tell whether it is a contact's. */
const sent = (
  email: string,
): Html => html`<p role="status">If <bdi>${email}</bdi> gets mails of Simherd, a link and a code are on their way to
it. They work for ${LINK_MS / 60_000} minutes. An address gets ${MOST_AN_HOUR} of these mails an hour at most.</p>`

interface CodeWords {
  readonly email?: string
  readonly hint?: Html
  readonly fault?: string
}

const codeDoor = ({ email = '', hint = html``, fault = '' }: CodeWords = {}): Door => ({
  title: 'Sign in by a code',
  action: '/sign-in/code',
  fields: html`${hint}
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" value="${email}" required maxlength="254" autocomplete="email">
<label for="code">Code of the mail</label>
<input id="code" name="code" inputmode="numeric" required autocomplete="one-time-code" spellcheck="false" maxlength="20"
 placeholder="1234 5678"${fault === '' ? '' : html` aria-invalid="true"`}>
${faultIn(fault)}`,
  below: html`<p><a href="/sign-in">Ask for a new mail, or sign in with a key</a></p>`,
})

const linkDoor = (
  token: string,
  { contact, tenantName }: { readonly contact: string; readonly tenantName: string },
): Door => ({
  action: `/sign-in/mail/${token}`,
  fields: html`<p>You sign in as <bdi>${contact}</bdi>, for <bdi>${tenantName}</bdi>.</p>`,
})

/** The page of a link that has ended, with the form for a new mail. */
const sendRefusal = (reply: FastifyReply, { message }: ServiceError): Promise<FastifyReply> =>
  sendDoor(reply.code(401), { ...codeDoor({ fault: message }), below: mailForm('/') })

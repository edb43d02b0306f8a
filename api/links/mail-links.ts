/**
 * Where links in mails lead: GET shows what a link would do, POST does it, or takes it back (`?undo=`). A GET changes
 * nothing, because mail servers open links to look at them. They take no API key: the token is the permission (decision
 * 0049).
 */
import rateLimit from '@fastify/rate-limit'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { hasTokenForm, type Link, openLink } from '../../domain/channels/link.ts'
import { codeSchema, LogLevel } from '../../domain/codes.ts'
import { ERRORS, ServiceError } from '../../domain/errors.ts'
import { quote } from '../../domain/quote.ts'
import { followLink, type LinkOutlook, readLink, undoLink } from '../../service/channels/follow-link.ts'
import { linkKey } from '../../service/channels/rows/link-key.ts'
import { type Caller, inPlatform, inTenant, readOnly, type TenantTx } from '../../store/tenancy.ts'
import { once } from '../http/fixed-answer.ts'
import { asServiceError } from '../http/problems.ts'
import type { RouteOptions } from '../options.ts'
import { outlookPage, PAGE_HEADERS, refusalPage } from './page.ts'

/** Answered requests a minute for one token. A person needs two. */
const PER_MINUTE = 30
/** A form without fields, or the one of RFC 8058. */
const BODY_BYTES = 4096
/** Bytes of the words of a refusal. */
const MOST_DETAIL = 1000

/** Names of what links do in the audit trail: those of the operations that do the same. */
const ACTIONS = { ack: 'acknowledgeAlert', mute: 'addSilence', unsubscribe: 'changeNotices' } as const
const UNDO_ACTIONS = { ...ACTIONS, mute: 'endSilence' } as const

/** Takes back; the value is the lowest level of alerts that are mailed again. From Critical on would take nothing back. */
const { Info, Warning } = LogLevel
const Undo = Type.Object({ undo: Type.Optional(codeSchema({ Info, Warning }, 'Log level')) })

/** A link that does nothing: it was not made here, or its time is over. */
class RefusedLink extends Error {
  readonly isExpired: boolean
  constructor(isExpired: boolean) {
    super(isExpired ? 'the link has expired' : 'the link is not valid')
    this.isExpired = isExpired
  }
}

export const mailLinkRoutes: FastifyPluginAsync<RouteOptions> = async (app, { store, consoleUrl = '' }) => {
  const keyOf = once(() => inPlatform(store, linkKey))
  const links = new WeakMap<FastifyRequest, Link>()
  const linkOf = (request: FastifyRequest): Link => links.get(request) ?? refuse()

  // The body of a mail program adds nothing to the token.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES }, (_request, _body, done) => done(null))
  app.setErrorHandler((error, request, reply) => sendRefusal(error, request, reply))

  app.addHook<{ Params: { token: string } }>('onRequest', async (request) => {
    const { token } = request.params
    // Nothing is asked of the database for what is no token.
    if (!hasTokenForm(token)) throw new RefusedLink(false)
    const opened = openLink(await keyOf(), token, store.clock())
    if (opened === undefined || opened.isExpired) throw new RefusedLink(opened !== undefined)
    links.set(request, opened.link)
  })
  await app.register(rateLimit, {
    max: PER_MINUTE,
    timeWindow: 60_000,
    keyGenerator: ({ params }) => JSON.stringify(params),
    errorResponseBuilder: () => new ServiceError('rate_limited', 'Try again in a minute.'),
  })

  const send = (reply: FastifyReply, { tenantId }: Link, outlook: LinkOutlook | undefined): FastifyReply => {
    const monthUrl = consoleUrl === '' ? '' : `${consoleUrl}/t/${tenantId}/my`
    return reply.headers(PAGE_HEADERS).send(outlookPage(outlook ?? refuse(), monthUrl))
  }

  const schema = { hide: true, params: Type.Object({ token: Type.String() }) }
  // Their addresses are permissions: the log has no line for each request.
  const config = { schema, logLevel: 'warn' } as const

  app.get('/n/:token', config, async (request, reply) => {
    const link = linkOf(request)
    return send(reply, link, await inTenant(readOnly(store), link.tenantId, (tx) => readLink(tx, link)))
  })

  const posts = { ...config, schema: { ...schema, querystring: Undo } }
  app.post<{ Querystring: Static<typeof Undo> }>('/n/:token', posts, async (request, reply) => {
    const link = linkOf(request)
    const { undo } = request.query
    const action = (undo === undefined ? ACTIONS : UNDO_ACTIONS)[link.purpose]
    const caller: Caller = { actor: 'mail-link', keyId: null, requestId: request.id, action, workflowId: null }
    const act = (tx: TenantTx) => (undo === undefined ? followLink(tx, link) : undoLink(tx, link, undo))
    return send(reply, link, await inTenant({ ...store, caller }, link.tenantId, act))
  })
}

function refuse(): never {
  throw new RefusedLink(false)
}

function sendRefusal(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers(PAGE_HEADERS)
  if (thrown instanceof RefusedLink) {
    const page = thrown.isExpired
      ? refusalPage('This link has expired', 'Links work for 30 days. A newer mail has newer ones.')
      : refusalPage('This link does not work', 'Perhaps it was cut off: open it from the mail again.')
    return reply.code(thrown.isExpired ? 410 : 404).send(page)
  }
  const error = asServiceError(thrown)
  const { status, title } = ERRORS[error.code]
  if (status >= 500) request.log.error({ err: error.cause ?? error }, error.message)
  return reply.code(status).send(refusalPage(title, quote(error.message, MOST_DETAIL)))
}

/** A page that says why a request has failed. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from 'hono/html'
import { asServiceError } from '../../api/http/problems.ts'
import { noteRefusal } from '../../api/http/request-log.ts'
import { ERRORS, type ServiceError } from '../../domain/errors.ts'
import { quote } from '../../domain/quote.ts'
import { sendPage } from './page.ts'

/** Bytes of the words of a failure. */
const MOST_DETAIL = 1000

export async function sendFailure(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const error = asServiceError(thrown)
  const { title } = ERRORS[error.code]
  const detail = quote(error.message, MOST_DETAIL)
  setRefusal(error, request, reply)
  return sendPage(reply, {
    title,
    ...(request.pageTenant !== null && { tenant: request.pageTenant, isLive: false }),
    main: html`<div class="head"><h1>${title}</h1></div>
<p class="lead">${detail}</p>
<p class="mute">Request ${request.id}</p>
<p><a href="/">To the beginning</a></p>`,
  })
}

/** Gives a response the status of a failure, and notes the failure in the log. */
export function setRefusal(error: ServiceError, request: FastifyRequest, reply: FastifyReply): void {
  const { status } = ERRORS[error.code]
  const detail = quote(error.message, MOST_DETAIL)
  if (status >= 500) request.log.error({ err: error.cause ?? error }, detail)
  noteRefusal(request, { code: error.code, detail })
  if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter)
  reply.code(status)
}

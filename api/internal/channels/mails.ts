import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { MailDetail, MailInfo, MailQuery } from '../../../domain/channels/mail.ts'
import { pageOf } from '../../../domain/page.ts'
import { strictObject, Text } from '../../../domain/schema.ts'
import { resendMail, retryMail } from '../../../service/channels/resend-mail.ts'
import { findMail, pageOfMails } from '../../../service/channels/rows/shown-mails.ts'
import { noticeKeysOf } from '../../../service/watchdog/explain/read-alert.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { mustBeFound } from '../../http/problems.ts'

const MailId = Text('Message-ID', '<0192f4c1-7d3a-7b52@simherd.example>', { minLength: 1, maxLength: 200 })

const route = internalRoutes('Operation')

/** Responses of mail servers name hosts of the operator: a tenant's key does not see them. */
const maySee = ({ keyTenantId }: FastifyRequest): boolean => keyTenantId === null
const withoutResponse = <T extends { readonly response: string | null }>(one: T): T => ({ ...one, response: null })

export const mailRoutes = [
  route('GET', '/mails', {
    operationId: 'listMails',
    isOpenTo: 'billing',
    summary: 'Mails and their delivery, newest first',
    description: 'Filters by a subject or an alert also find copies of such mails, and those that send them again.',
    query: MailQuery,
    response: { 200: pageOf(MailInfo) },
    read: async (tx, request) => {
      const { alert } = request.query
      const keys = alert === undefined ? undefined : await noticeKeysOf(tx, alert)
      const page = await pageOfMails(tx, request.query, keys)
      return maySee(request) ? page : { ...page, data: page.data.map(withoutResponse) }
    },
  }),
  route('GET', '/mails/:id', {
    operationId: 'getMail',
    isOpenTo: 'billing',
    summary: 'A mail with its content and its attempts',
    description: 'Returns the texts as sent: rendered mails are stored for 13 months.',
    problems: ['mail_not_found'],
    params: Type.Object({ id: MailId }),
    response: { 200: MailDetail },
    read: async (tx, request) => {
      const { id } = request.params
      const mail = mustBeFound(await findMail(tx, id), 'mail_not_found', `mail ${id}`)
      return maySee(request) ? mail : { ...withoutResponse(mail), attemptLog: mail.attemptLog.map(withoutResponse) }
    },
  }),
  route('POST', '/mails/:id/resend', {
    operationId: 'resendMail',
    summary: 'Send a mail again',
    description: "Sends the same content to the tenant's present billing address, as a new mail with a new Message-ID.",
    problems: ['mail_not_found', 'mail_pending', 'mail_text_gone'],
    params: Type.Object({ id: MailId }),
    response: { 200: strictObject({ id: MailId }) },
    change: (tx, { params }) => resendMail(tx, params.id),
  }),
  route('POST', '/mails/:id/retry', {
    operationId: 'retryMail',
    summary: 'Retry a failed mail',
    description: "Goes to the tenant's present billing address, with the same Message-ID: no server has accepted it.",
    problems: ['mail_not_found', 'mail_not_failed'],
    params: Type.Object({ id: MailId }),
    response: { 200: strictObject({ id: MailId }) },
    change: (tx, { params }) => retryMail(tx, params.id),
  }),
]

import { Type } from 'typebox'
import { pageOf, pageQuery } from '../../../domain/page.ts'
import { Instant, nullable, strictObject, Text } from '../../../domain/schema.ts'
import { resendMail } from '../../../service/channels/resend-mail.ts'
import { retryMail } from '../../../service/channels/retry-mail.ts'
import { findMail, pageOfMails } from '../../../service/channels/rows/log.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { mustBeFound } from '../../http/problems.ts'
import type { InternalOptions } from '../../options.ts'

const FIELDS = {
  id: Text('Message-ID', '<0192f4c1-7d3a-7b52@simherd.example>'),
  recipient: Type.String(),
  subject: Type.String({ description: 'Empty until it was rendered' }),
  status: Type.Unsafe<'pending' | 'sent' | 'failed'>({ type: 'string', enum: ['pending', 'sent', 'failed'] }),
  attempts: Type.Integer({ minimum: 0 }),
  response: nullable(Type.String({ description: "The server's last word" })),
  createdAt: Instant('When its notices were put together'),
  sentAt: nullable(Instant('When the server took it')),
  keys: Type.Array(Type.String(), {
    description: 'Alert key and kind of each notice in it; in the list of mails the first 100',
  }),
}
const Mail = strictObject(FIELDS)

const DETAIL = {
  ...FIELDS,
  resends: nullable(Text('Message-ID of the mail that it sends again', '<0192f4c1-7d3a-7b52@simherd.example>')),
  body: nullable(
    strictObject(
      {
        text: Type.String({ description: 'Its plain text part' }),
        html: Type.String({ description: 'Its HTML part' }),
        headers: Type.Record(Type.String(), Type.String(), {
          description: 'Headers by name, beside From, To, Subject, Date and Message-ID',
        }),
        attachments: Type.Array(
          strictObject({
            filename: Text('File name', 'statement-2026-11.csv'),
            contentType: Text('Media type', 'text/csv; charset=utf-8'),
          }),
        ),
      },
      { description: 'What it says, as it is sent; null where it was not rendered yet, or is no longer kept' },
    ),
  ),
}
const MailDetail = strictObject(DETAIL, {
  examples: [
    {
      id: '<0192f4c1-7d3a-7b52@simherd.example>',
      recipient: 'billing@meadow.example',
      subject: 'meter-012 over its limit (100.18 of 100 MB): suspended',
      status: 'sent',
      attempts: 1,
      response: '250 OK',
      createdAt: '2026-11-20T12:00:30.000Z',
      sentAt: '2026-11-20T12:00:31.000Z',
      keys: ['sim-overage/sim/12/2026-11/fired'],
      resends: null,
      body: {
        text: 'Critical: meter-012 is 180 kB over its limit',
        html: '<p>Critical: meter-012 is 180 kB over its limit</p>',
        headers: { 'Auto-Submitted': 'auto-generated' },
        attachments: [],
      },
    },
  ],
})

const MailQuery = Type.Object({
  status: Type.Optional(
    Type.Unsafe<'pending' | 'sent' | 'failed'>({
      type: 'string',
      enum: ['pending', 'sent', 'failed'],
      description: 'Only these; failed ones were given up',
    }),
  ),
  ...pageQuery,
})
const MailId = Text('Message-ID', '<0192f4c1-7d3a-7b52@simherd.example>', { minLength: 1, maxLength: 200 })

const route = declareRoutes<InternalOptions>('Operation')

export const mailRoutes = [
  route('GET', '/mails', {
    operationId: 'listMails',
    summary: 'Mails and their delivery, the newest first',
    query: MailQuery,
    response: { 200: pageOf(Mail) },
    read: (tx, { query }) => pageOfMails(tx, query),
  }),
  route('GET', '/mails/:id', {
    operationId: 'getMail',
    summary: 'A mail, with what it says',
    description: 'Its texts are those that are sent: a mail is stored as it is rendered, for 13 months.',
    problems: ['mail_not_found'],
    params: Type.Object({ id: MailId }),
    response: { 200: MailDetail },
    read: async (tx, { params: { id } }) => mustBeFound(await findMail(tx, id), 'mail_not_found', `mail ${id}`),
  }),
  route('POST', '/mails/:id/resend', {
    operationId: 'resendMail',
    summary: 'Send a mail again',
    description:
      "It goes to the tenant's present billing address, as it was, as a new mail under a Message-ID of its own.",
    problems: ['mail_not_found', 'mail_pending', 'mail_text_gone'],
    params: Type.Object({ id: MailId }),
    response: { 200: strictObject({ id: MailId }) },
    change: (tx, { params }) => resendMail(tx, params.id),
  }),
  route('POST', '/mails/:id/retry', {
    operationId: 'retryMail',
    summary: 'Try a mail again that was given up',
    description: "It goes to the tenant's present billing address, with the same Message-ID: no server has taken it.",
    problems: ['mail_not_found', 'mail_not_failed'],
    params: Type.Object({ id: MailId }),
    response: { 200: strictObject({ id: MailId }) },
    change: (tx, { params }) => retryMail(tx, params.id),
  }),
]

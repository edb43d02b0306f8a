import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { PageQuery, pageOf } from '../../../domain/page.ts'
import { Instant, nullable, strictObject, Text } from '../../../domain/schema.ts'
import { pageOfMails } from '../../../store/mail/log.ts'
import { inTenant, reading } from '../../../store/tenancy.ts'
import type { InternalOptions } from '../../options.ts'

const Mail = strictObject({
  id: Text('Message-ID', '<0192f4c1-7d3a-7b52@simherd.example>'),
  recipient: Type.String(),
  subject: Type.String({ description: 'Empty until it was rendered' }),
  status: Type.Unsafe<'pending' | 'sent' | 'failed'>({ type: 'string', enum: ['pending', 'sent', 'failed'] }),
  attempts: Type.Integer({ minimum: 0 }),
  response: nullable(Type.String({ description: "The server's last word" })),
  createdAt: Instant('When its notices were put together'),
  sentAt: nullable(Instant('When the server took it')),
  keys: Type.Array(Type.String(), { description: 'Alert key and kind of each notice in it' }),
})

export const mailRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const tags = ['Operation']

  app.get(
    '/mails',
    {
      schema: {
        operationId: 'listMails',
        summary: 'Mails and their delivery, the newest first',
        tags,
        querystring: PageQuery,
        response: { 200: pageOf(Mail) },
      },
    },
    ({ tenantId, query }) => inTenant(reading(store), tenantId, (tx) => pageOfMails(tx, query)),
  )
}

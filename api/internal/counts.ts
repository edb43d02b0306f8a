import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { PageQuery, pageOf } from '../../domain/page.ts'
import { Instant, nullable, strictObject, Text } from '../../domain/schema.ts'
import { dueWork, logByRule, mailsByStatus, simsByStatus, ticketsByStatus } from '../../store/counts.ts'
import { pageOfMails } from '../../store/mail/log.ts'
import { inTenant } from '../../store/tenancy.ts'
import type { InternalOptions } from '../options.ts'

const Count = Type.Integer({ minimum: 0 })
const CountsBy = (what: string) => Type.Record(Type.String(), Count, { description: `Number by ${what}` })
const Counts = strictObject({
  simsByStatus: CountsBy('status of the SIM'),
  ticketsByStatus: CountsBy('status of the ticket'),
  logByRule: Type.Array(strictObject({ rule: Type.String(), level: Type.String(), count: Count })),
  mailsByStatus: CountsBy('status of the mail'),
  due: strictObject({ evaluations: Count, notices: Count, requests: Count }),
})

const Mail = strictObject({
  id: Text('Message-ID', '<0192f4c1-7d3a-7b52@simherd.example>'),
  recipient: Type.String(),
  subject: Type.String({ description: 'Empty until it was rendered' }),
  status: Type.Unsafe<'pending' | 'sent' | 'failed'>({ type: 'string', enum: ['pending', 'sent', 'failed'] }),
  attempts: Count,
  response: nullable(Type.String({ description: "The server's last word" })),
  createdAt: Instant('When its notices were put together'),
  sentAt: nullable(Instant('When the server took it')),
  keys: Type.Array(Type.String(), { description: 'Alert key and kind of each notice in it' }),
})

export const countRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const tags = ['Operation']

  app.get(
    '/counts',
    {
      schema: { operationId: 'readCounts', summary: "Counts over a tenant's estate", tags, response: { 200: Counts } },
    },
    ({ tenantId }) =>
      inTenant(store, tenantId, async (tx) => {
        // What is due becomes tickets and mails: counted in this order, nothing on its way falls between two counts.
        const due = await dueWork(tx)
        return {
          due,
          ticketsByStatus: await ticketsByStatus(tx),
          mailsByStatus: await mailsByStatus(tx),
          simsByStatus: await simsByStatus(tx),
          logByRule: await logByRule(tx),
        }
      }),
  )

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
    ({ tenantId, query }) => inTenant(store, tenantId, (tx) => pageOfMails(tx, query)),
  )
}

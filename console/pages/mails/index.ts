import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { MAIL_ACTS, readMail } from './acts.ts'
import { MailsQuery, mailsPage } from './list.ts'
import { mailPage } from './show.ts'

/** The pages of mails. @param clock epoch milliseconds */
export function mailRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: MailsQuery }>(
    '/t/:tenant/mails',
    { schema: { querystring: MailsQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await mailsPage(calls, tenant.id, request.query, clock())
      return sendPage(reply, { title: 'Mails', main, tenant, current: 'mails' })
    },
  )
  app.get<{ Params: ObjectParams<string>; Querystring: Done }>(
    '/t/:tenant/mails/:id',
    { schema: { params: OBJECT_PATHS.mails, querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const mail = await readMail(calls, request.params.id)
      const main = mailPage(tenant.id, mail, { now: clock(), said: doneNotice(request, MAIL_ACTS) })
      return sendPage(reply, { title: mail.subject || 'Mail', main, tenant, current: 'mails' })
    },
  )
  for (const act of MAIL_ACTS) actRoutes(app, doors, clock, act)
}

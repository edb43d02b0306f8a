import type { FastifyInstance } from 'fastify'
import type { Doors } from '../../calls.ts'
import { actRoutes, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { readTicket, TICKET_ACTS } from './acts.ts'
import { TicketsQuery, ticketsPage } from './list.ts'
import { simName, typeWords } from './marks.ts'
import { ticketPage } from './show.ts'

/** The pages of tickets. @param clock epoch milliseconds */
export function ticketRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: TicketsQuery }>(
    '/t/:tenant/tickets',
    { schema: { querystring: TicketsQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await ticketsPage(calls, tenant, request.query, clock())
      return sendPage(reply, { title: 'Tickets', main, tenant, current: 'tickets' })
    },
  )
  app.get<{ Params: ObjectParams<string>; Querystring: Done }>(
    '/t/:tenant/tickets/:id',
    { schema: { params: OBJECT_PATHS.tickets, querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const ticket = await readTicket(calls, request.params.id)
      const main = await ticketPage(calls, tenant, ticket, { now: clock(), said: doneNotice(request, TICKET_ACTS) })
      const title = `${typeWords(ticket)} ${simName(ticket)}`
      return sendPage(reply, { title, main, tenant, current: 'tickets' })
    },
  )
  for (const act of TICKET_ACTS) actRoutes(app, doors, clock, act)
}

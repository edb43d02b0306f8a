import type { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { TicketType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import { ASSIGNMENT_PROBLEMS } from '../../domain/tickets/decisions.ts'
import {
  ProvisionRequest,
  SimRequest,
  SmsRequest,
  Ticket,
  TicketMetadata,
  TicketResponse,
  ticketMetadata,
} from '../../domain/tickets/ticket.ts'
import { askedBy } from '../../service/tickets/cause.ts'
import { cancelTicket, type OpenTicketRequest, openTicket } from '../../service/tickets/open-ticket.ts'
import { findTicket, listTickets, toTicket } from '../../service/tickets/rows/tickets.ts'
import { inTenant, reading, type TenantTx } from '../../store/tenancy.ts'
import { takeNoBody } from '../http/app.ts'
import { changeInTenant } from '../http/change.ts'
import { answersVersion } from '../http/etag.ts'
import { idempotentInTenant } from '../http/idempotency.ts'
import { TicketParams, ticketIdOf } from '../http/params.ts'
import { sendArray } from '../http/streaming.ts'
import type { RouteOptions } from '../options.ts'

/** Description of the routes that open a ticket. */
const LATER =
  "Makes a ticket, which is carried out after the SIM's open ones: read it by its id until its status is final. " +
  'Refused where the SIM will not be in a state for it by then.'

export const ticketRoutes: FastifyPluginAsyncTypebox<RouteOptions> = async (app, { store, ticketQuota: quota }) => {
  const tags = ['Tickets']
  const response = { 200: TicketResponse }
  const open = async (tx: TenantTx, ask: Omit<OpenTicketRequest, 'cause'>) =>
    openTicket(tx, { ...ask, ...(await askedBy(tx)) }, quota)

  app.get(
    '/tickets',
    {
      schema: {
        operationId: 'listTickets',
        summary: 'All tickets, newest first',
        description: 'Without pages: the answer is streamed, however many there are.',
        tags,
        response: { 200: Type.Unsafe<Readable>(Type.Array(Ticket)) },
      },
    },
    async ({ tenantId }, reply) => sendArray(reply, listTickets(reading(store), tenantId)),
  )

  app.get(
    '/tickets/metadata',
    {
      schema: {
        operationId: 'getTicketMetadata',
        summary: 'Labels of ticket types and statuses',
        description: 'The codes of `type` and `status`, each with its label.',
        tags,
        response: { 200: TicketMetadata },
      },
    },
    async () => ticketMetadata,
  )

  app.get(
    '/tickets/:id',
    {
      config: { problems: ['ticket_not_found'], versioned: true },
      schema: {
        operationId: 'getTicket',
        summary: 'One ticket',
        description:
          'Status 2 (Complete), 3 (Failed) and 4 (Cancelled) are final; why a ticket failed is in the event ' +
          'log. `provisioningInfo` is null but for tickets that provision (type 2).',
        tags,
        params: TicketParams,
        response: { 200: Ticket },
      },
    },
    ({ tenantId, params }, reply) =>
      inTenant(reading(store), tenantId, async (tx) => {
        const ticket = await findTicket(tx, ticketIdOf(params.id))
        answersVersion(reply, ticket?.status)
        if (ticket === undefined) throw new ServiceError('ticket_not_found', `There is no ticket ${params.id}.`)
        return toTicket(ticket)
      }),
  )

  const asks = [
    { path: 'activate', type: TicketType.Activate, operationId: 'activateSim', summary: 'Activate a suspended SIM' },
    {
      path: 'suspend',
      type: TicketType.Suspend,
      operationId: 'suspendSim',
      summary: 'Suspend an active SIM: data, voice and SMS are blocked',
    },
    { path: 'refresh', type: TicketType.Refresh, operationId: 'refreshSim', summary: 'Force a network reconnection' },
  ] as const
  for (const { path, type, operationId, summary } of asks) {
    const config = { problems: ['sim_not_found', 'sim_state_conflict'] } as const
    app.post(
      `/tickets/${path}`,
      { config, schema: { operationId, summary, description: LATER, tags, body: SimRequest, response } },
      (request, reply) =>
        idempotentInTenant(store, { request, reply }, async (tx) => ({
          id: await open(tx, { simId: request.body.simId, type }),
        })),
    )
  }

  app.post(
    '/tickets/send-sms',
    {
      config: { problems: ['sim_not_found', 'sim_state_conflict'] },
      schema: {
        operationId: 'sendSms',
        summary: 'Send an SMS to the SIM',
        description: LATER,
        tags,
        body: SmsRequest,
        response,
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, async (tx) => ({
        id: await open(tx, { ...request.body, type: TicketType['Send SMS'] }),
      })),
  )

  app.post(
    '/tickets/provision',
    {
      config: {
        problems: [...ASSIGNMENT_PROBLEMS, 'sim_already_assigned', 'sim_state_conflict'],
      },
      schema: {
        operationId: 'provisionSim',
        summary: 'Provision an unassigned SIM; it is suspended until it is activated',
        description: LATER,
        tags,
        body: ProvisionRequest,
        response,
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, async (tx) => ({
        id: await open(tx, {
          simId: request.body.simId,
          poolId: request.body.poolId ?? null,
          tariffId: request.body.tariffId ?? null,
          type: TicketType.Provision,
        }),
      })),
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/tickets/:id',
      {
        config: { problems: ['ticket_not_found', 'ticket_not_pending'], versioned: true },
        schema: {
          operationId: 'cancelTicket',
          summary: 'Cancel a pending ticket',
          description:
            'Takes no body. Only a Pending ticket (0) can be cancelled; it can still be read, as Cancelled (4).',
          tags,
          params: TicketParams,
          response: { 200: Ticket },
        },
      },
      (request) => {
        const id = ticketIdOf(request.params.id)
        return changeInTenant(store, request, (tx) => cancelTicket(tx, id), { kind: 'ticket', id })
      },
    )
  }
  await app.register(withoutBody)
}

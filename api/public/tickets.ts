import type { Readable } from 'node:stream'
import { Type } from 'typebox'
import { TicketType } from '../../domain/codes.ts'
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
import {
  cancelTicket,
  type OpenTicketRequest,
  openTicket,
  type TicketQuota,
} from '../../service/tickets/open-ticket.ts'
import { findTicket, listTickets, toTicket } from '../../service/tickets/rows/tickets.ts'
import { readOnly, type TenantTx } from '../../store/tenancy.ts'
import { takeNoBody } from '../http/app.ts'
import { publicRoutes } from '../http/declare-routes.ts'
import { answersVersion } from '../http/etag.ts'
import { TicketParams, ticketIdOf } from '../http/params.ts'
import { mustBeFound } from '../http/problems.ts'
import { sendArray } from '../http/streaming.ts'

/** Description of the routes that open a ticket. */
const LATER =
  "Creates a ticket, carried out after the SIM's open tickets: read it by its id until its status is " +
  'final. Refused if the SIM will not be in a suitable state by then.'

const route = publicRoutes('Tickets')
const response = { 200: TicketResponse }

async function open(tx: TenantTx, ask: Omit<OpenTicketRequest, 'cause'>, quota: TicketQuota | undefined) {
  return { id: await openTicket(tx, { ...ask, ...(await askedBy(tx)) }, quota) }
}

/** Cancels a ticket, on either listener. */
export const cancelTicketRoute = (operationId: string, description = '') =>
  route('DELETE', '/tickets/:id', {
    operationId,
    summary: 'Cancel a pending ticket',
    description,
    problems: ['ticket_not_found', 'ticket_not_pending'],
    bodies: takeNoBody,
    params: TicketParams,
    response: { 200: Ticket },
    resource: ({ params }) => ({ kind: 'ticket', id: ticketIdOf(params.id) }),
    change: (tx, { params }) => cancelTicket(tx, ticketIdOf(params.id)),
  })

export const ticketRoutes = [
  route('GET', '/tickets', {
    operationId: 'listTickets',
    summary: 'Tickets, newest first',
    description: 'Without pages: the answer streams every ticket.',
    response: { 200: Type.Unsafe<Readable>(Type.Array(Ticket)) },
    handle: async ({ tenantId }, { store, reply }) => sendArray(reply, listTickets(readOnly(store), tenantId)),
  }),
  route('GET', '/tickets/metadata', {
    operationId: 'getTicketMetadata',
    summary: 'Labels of ticket types and statuses',
    description: 'The codes of `type` and `status`, each with its label.',
    response: { 200: TicketMetadata },
    handle: async () => ticketMetadata,
  }),
  route('GET', '/tickets/:id', {
    operationId: 'getTicket',
    summary: 'A ticket by id',
    description:
      'Status 2 (Complete), 3 (Failed) and 4 (Cancelled) are final; the event log has the cause of a failure. ' +
      '`provisioningInfo` is null except for provisioning tickets (type 2).',
    problems: ['ticket_not_found'],
    versioned: true,
    params: TicketParams,
    response: { 200: Ticket },
    read: async (tx, { params: { id } }, { reply }) => {
      const ticket = mustBeFound(await findTicket(tx, ticketIdOf(id)), 'ticket_not_found', `ticket ${id}`)
      answersVersion(reply, ticket.status)
      return toTicket(ticket)
    },
  }),
  ...(
    [
      ['activate', TicketType.Activate, 'Activate a suspended SIM'],
      ['suspend', TicketType.Suspend, 'Suspend an active SIM: data, voice and SMS are blocked'],
      ['refresh', TicketType.Refresh, 'Force a network reconnection'],
    ] as const
  ).map(([verb, type, summary]) =>
    route('POST', `/tickets/${verb}`, {
      operationId: `${verb}Sim`,
      summary,
      description: LATER,
      problems: ['sim_not_found', 'sim_state_conflict'],
      body: SimRequest,
      response,
      change: (tx, { body: { simId } }, { ticketQuota }) => open(tx, { simId, type }, ticketQuota),
    }),
  ),
  route('POST', '/tickets/send-sms', {
    operationId: 'sendSms',
    summary: 'Send an SMS to the SIM',
    description: LATER,
    problems: ['sim_not_found', 'sim_state_conflict'],
    body: SmsRequest,
    response,
    change: (tx, { body }, { ticketQuota }) => open(tx, { ...body, type: TicketType['Send SMS'] }, ticketQuota),
  }),
  route('POST', '/tickets/provision', {
    operationId: 'provisionSim',
    summary: 'Provision an unassigned SIM; it stays suspended until activated',
    description: LATER,
    problems: [...ASSIGNMENT_PROBLEMS, 'sim_already_assigned', 'sim_state_conflict'],
    body: ProvisionRequest,
    response,
    change: (tx, { body: { simId, poolId = null, tariffId = null } }, { ticketQuota }) =>
      open(tx, { simId, poolId, tariffId, type: TicketType.Provision }, ticketQuota),
  }),
  cancelTicketRoute(
    'cancelTicket',
    'Takes no body. Only a Pending ticket (0) can be cancelled; afterwards it can be read, as Cancelled (4).',
  ),
]

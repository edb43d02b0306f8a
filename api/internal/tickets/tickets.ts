import { TicketType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { pageOf } from '../../../domain/page.ts'
import { ASSIGNMENT_PROBLEMS } from '../../../domain/tickets/decisions.ts'
import {
  type Cause,
  InternalProvisionRequest,
  InternalSimRequest,
  MOST_LOOKED_AT,
  TicketDetail,
  TicketQuery,
  TicketResponse,
} from '../../../domain/tickets/ticket.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'
import { askedBy } from '../../../service/tickets/cause.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { pageOfTickets, readTicket } from '../../../service/tickets/rows/ticket-details.ts'
import { tenantSettings } from '../../../service/usage/rows/cycles.ts'
import { type TenantTx } from '../../../store/tenancy.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { answersVersion } from '../../http/etag.ts'
import { TicketParams, ticketIdOf } from '../../http/params.ts'
import { mustBeFound } from '../../http/problems.ts'
import { cancelTicketRoute } from '../../public/tickets.ts'

/** The fields that all requests for internal tickets share: SIM, cause and effective time. */
const commonOf = async (tx: TenantTx, body: InternalSimRequest) => ({
  simId: body.simId,
  ...(body.cause == null ? await askedBy(tx) : { cause: causeGiven(tx, body.cause) }),
  effectiveAt: body.effectiveAt == null ? null : await boundaryNamed(tx, body.effectiveAt),
})

/** The cause in the body. @throws ServiceError invalid_request if a workflow sends the request: it is the cause */
function causeGiven({ caller }: TenantTx, cause: Cause): Cause {
  if (caller === null || caller.workflowId === null) return cause
  const detail = `is left out where a workflow asks: Simherd-Workflow names ${caller.workflowId}`
  throw new ServiceError('invalid_request', `cause ${detail}.`, { errors: [{ pointer: '/cause', detail }] })
}

/**
 * The instant at which a billing cycle begins. A change that takes effect there moves whole ledger rows.
 *
 * @throws ServiceError invalid_request for any other instant
 */
async function boundaryNamed(tx: TenantTx, text: string): Promise<Date> {
  const at = new Date(text)
  const { startsAt, endsAt } = cycleAt((await tenantSettings(tx)).billingCycle, at.getTime())
  if (startsAt === at.getTime()) return at
  const [before, after] = [startsAt, endsAt].map((instant) => new Date(instant).toISOString())
  const detail = `must be the beginning of a billing cycle, such as ${before} or ${after}`
  throw new ServiceError('invalid_request', `effectiveAt ${detail}; got ${text}.`, {
    errors: [{ pointer: '/effectiveAt', detail }],
  })
}

const response = { 200: TicketResponse }
const route = internalRoutes('Tickets')

export const internalTicketRoutes = [
  route('GET', '/tickets', {
    operationId: 'listTicketDetails',
    summary: 'Tickets with their attempts and failures, newest first',
    description: `A page looks at the newest ${MOST_LOOKED_AT} tickets, of the SIM or of a status other than Complete (2) if it is given: \`totalItems\` counts those among them, and with filters a page may have less than \`pageSize\` items while the \`Link\` header leads on.`,
    cursor: 'tickets',
    query: TicketQuery,
    response: { 200: pageOf(TicketDetail) },
    walk: (tx, { query }) => pageOfTickets(tx, query),
  }),
  route('POST', '/tickets/provision', {
    operationId: 'openProvisionTicket',
    summary: 'Provision an unprovisioned SIM; with the cause month-end, move a provisioned one',
    problems: [...ASSIGNMENT_PROBLEMS, 'sim_already_assigned', 'sim_state_conflict'],
    body: InternalProvisionRequest,
    response,
    change: async (tx, { body }) => {
      const { poolId = null, tariffId = null, tag = null } = body
      const common = await commonOf(tx, body)
      return { id: await openTicket(tx, { ...common, type: TicketType.Provision, poolId, tariffId, tag }) }
    },
  }),
  ...(
    [
      ['unassign', 'openUnassignTicket', 'Unprovision a SIM', { type: TicketType.Provision, unassign: true }],
      ['suspend', 'openSuspendTicket', 'Suspend an active SIM', { type: TicketType.Suspend }],
      ['activate', 'openActivateTicket', 'Activate a suspended SIM', { type: TicketType.Activate }],
    ] as const
  ).map(([path, operationId, summary, ticket]) =>
    route('POST', `/tickets/${path}`, {
      operationId,
      summary,
      problems: ['sim_not_found', 'sim_state_conflict'],
      body: InternalSimRequest,
      response,
      change: async (tx, { body }) => ({ id: await openTicket(tx, { ...(await commonOf(tx, body)), ...ticket }) }),
    }),
  ),
  route('GET', '/tickets/:id', {
    operationId: 'getTicketDetail',
    summary: 'A ticket, with its attempts and failure',
    problems: ['ticket_not_found'],
    versioned: true,
    params: TicketParams,
    response: { 200: TicketDetail },
    read: async (tx, { params: { id } }, { reply }) => {
      const ticket = mustBeFound(await readTicket(tx, ticketIdOf(id)), 'ticket_not_found', `ticket ${id}`)
      answersVersion(reply, ticket.status)
      return ticket
    },
  }),
  cancelTicketRoute('cancelTicketInternally'),
]

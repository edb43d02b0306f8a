import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { TicketStatus, TicketType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { ASSIGNMENT_PROBLEMS } from '../../../domain/tickets/decisions.ts'
import {
  type Cause,
  InternalProvisionRequest,
  InternalSimRequest,
  Ticket,
  TicketDetail,
  TicketResponse,
} from '../../../domain/tickets/ticket.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'
import { askedBy } from '../../../service/tickets/cause.ts'
import { cancelTicket, openTicket } from '../../../service/tickets/open-ticket.ts'
import { findTicket, type TicketRecord, toTicket } from '../../../service/tickets/rows/tickets.ts'
import { tenantSettings } from '../../../service/usage/rows/cycles.ts'
import { inTenant, reading, type TenantTx } from '../../../store/tenancy.ts'
import { takeNoBody } from '../../http/app.ts'
import { changeInTenant } from '../../http/change.ts'
import { answersVersion } from '../../http/etag.ts'
import { idempotentInTenant } from '../../http/idempotency.ts'
import { TicketParams, ticketIdOf } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

/** The fields that all requests for internal tickets share: SIM, cause and effective time. */
const commonOf = async (tx: TenantTx, body: InternalSimRequest) => ({
  simId: body.simId,
  ...(body.cause == null ? await askedBy(tx) : { cause: causeGiven(tx, body.cause) }),
  effectiveAt: body.effectiveAt == null ? null : await boundaryNamed(tx, body.effectiveAt),
})

/**
 * The cause in the body.
 *
 * @throws ServiceError invalid_request if a workflow sends the request: the workflow itself is the cause
 */
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

const isOpen = (ticket: TicketRecord) =>
  ticket.status === TicketStatus.Pending || ticket.status === TicketStatus.Processing

const toDetail = (ticket: TicketRecord): TicketDetail => ({
  ...toTicket(ticket),
  attempts: ticket.attempts,
  nextAttemptAt: isOpen(ticket) ? ticket.nextAttemptAt.toISOString() : null,
  failureCode: ticket.failureCode,
  failureText: ticket.failureText,
  failureDetail: ticket.failureDetail,
  finishedAt: ticket.finishedAt?.toISOString() ?? null,
  cause: ticket.cause,
  withdrawnBy: ticket.withdrawnBy,
})

export const ticketRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const tags = ['Tickets']
  const response = { 200: TicketResponse }

  app.post(
    '/tickets/provision',
    {
      config: {
        problems: [...ASSIGNMENT_PROBLEMS, 'sim_already_assigned', 'sim_state_conflict'],
      },
      schema: {
        operationId: 'openProvisionTicket',
        summary: 'Provision an unprovisioned SIM; with a cause of month end, move a provisioned one',
        tags,
        body: InternalProvisionRequest,
        response,
      },
    },
    (request, reply) =>
      idempotentInTenant(store, { request, reply }, async (tx) => {
        const { poolId = null, tariffId = null, tag = null } = request.body
        return {
          id: await openTicket(tx, {
            ...(await commonOf(tx, request.body)),
            type: TicketType.Provision,
            poolId,
            tariffId,
            tag,
          }),
        }
      }),
  )

  const asks = [
    {
      path: 'unassign',
      operationId: 'openUnassignTicket',
      type: TicketType.Provision,
      unassign: true,
      summary: 'Unprovision a SIM',
    },
    {
      path: 'suspend',
      operationId: 'openSuspendTicket',
      type: TicketType.Suspend,
      unassign: false,
      summary: 'Suspend an active SIM',
    },
    {
      path: 'activate',
      operationId: 'openActivateTicket',
      type: TicketType.Activate,
      unassign: false,
      summary: 'Activate a suspended SIM',
    },
  ] as const
  for (const { path, operationId, type, unassign, summary } of asks) {
    app.post(
      `/tickets/${path}`,
      {
        config: { problems: ['sim_not_found', 'sim_state_conflict'] },
        schema: { operationId, summary, tags, body: InternalSimRequest, response },
      },
      (request, reply) =>
        idempotentInTenant(store, { request, reply }, async (tx) => ({
          id: await openTicket(tx, { ...(await commonOf(tx, request.body)), type, unassign }),
        })),
    )
  }

  app.get(
    '/tickets/:id',
    {
      config: { problems: ['ticket_not_found'], versioned: true },
      schema: {
        operationId: 'getTicketDetail',
        summary: 'A ticket, with its attempts and why it failed',
        tags,
        params: TicketParams,
        response: { 200: TicketDetail },
      },
    },
    ({ tenantId, params }, reply) =>
      inTenant(reading(store), tenantId, async (tx) => {
        const ticket = await findTicket(tx, ticketIdOf(params.id))
        answersVersion(reply, ticket?.status)
        if (ticket === undefined) throw new ServiceError('ticket_not_found', `There is no ticket ${params.id}.`)
        return toDetail(ticket)
      }),
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/tickets/:id',
      {
        config: { problems: ['ticket_not_found', 'ticket_not_pending'], versioned: true },
        schema: {
          operationId: 'cancelTicketInternally',
          summary: 'Cancel a pending ticket',
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

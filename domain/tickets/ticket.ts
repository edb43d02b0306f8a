/** Tickets: operations on a SIM that take time. Source: service document, sections 2.5 and 4.4. */

import { type Static, Type } from 'typebox'
import { codeSchema, metadataOf, TicketStatus, TicketType } from '../codes.ts'
import { cursorQuery } from '../cursor.ts'
import { Until } from '../enforcement/enforcement.ts'
import { codeList, pageQuery } from '../page.ts'
import { Id, Instant, nullable, objectWithExample, optional, strictObject, Text } from '../schema.ts'
import { Tag } from '../sims/sim.ts'

const ProvisioningInfo = strictObject({
  pendingPoolId: nullable(Id('Target pool')),
  pendingTariffId: nullable(Id('Target tariff')),
  pendingUnassign: Type.Boolean({ description: 'Whether the SIM will be unassigned' }),
  pendingTag: nullable(Type.String({ description: 'Tag to apply on completion' })),
})

const fields = {
  id: Type.String({ format: 'uuid', description: 'Ticket id' }),
  simId: Id('Target SIM id'),
  type: codeSchema(TicketType, 'Ticket type'),
  status: codeSchema(TicketStatus, 'Current status'),
  created: Instant('Creation timestamp'),
  provisioningInfo: nullable(ProvisioningInfo),
}

const EXAMPLE = {
  id: '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11',
  simId: 1,
  type: TicketType.Provision,
  status: TicketStatus.Pending,
  created: '2026-11-20T12:00:00.000Z',
  provisioningInfo: { pendingPoolId: 1, pendingTariffId: null, pendingUnassign: false, pendingTag: null },
}

export const Ticket = strictObject(fields, { examples: [EXAMPLE] })
export type Ticket = Static<typeof Ticket>

const WorkflowId = Text('The requesting workflow', 'suspend-on-overage:tf622080bc0a0:1:2026-11', {
  minLength: 1,
  maxLength: 300,
})
const CycleKey = Text('Key of the billing cycle', '2026-11', { minLength: 1, maxLength: 32 })
const by = <T extends string>(who: T) => Type.Literal(who)

/** Origin and reason of a ticket. */
export const Cause = Type.Union(
  [
    strictObject({ by: by('user') }),
    strictObject({
      by: by('watchdog'),
      rule: nullable(Type.String({ description: 'The requesting rule; null if a person started the workflow' })),
      cycle: CycleKey,
      until: Until(),
      workflowId: WorkflowId,
    }),
    strictObject({ by: by('workflow'), workflowId: WorkflowId }),
    strictObject({ by: by('month-end'), cycle: CycleKey }),
  ],
  { description: 'Requester and reason; default: the workflow in `Simherd-Workflow`, else a person' },
)
export type Cause = Static<typeof Cause>

/** A ticket as the internal interface shows it. */
export const TicketDetail = objectWithExample(
  {
    ...fields,
    iccid: Text('ICCID of the SIM', '89445001021983048260'),
    tag: Text('Tag of the SIM', 'meter-17'),
    attempts: Type.Integer({ description: 'Number of requests to the carrier' }),
    nextAttemptAt: nullable(Instant('Time of the next attempt; null after the end')),
    failureCode: nullable(Type.String({ description: 'Stable code of the failure' })),
    failureText: nullable(
      Type.String({ description: 'Cause of the failure, or of the last failed attempt, in words for tenants' }),
    ),
    failureDetail: nullable(
      Type.String({ description: 'Full text of the failure, for the operator: may contain addresses' }),
    ),
    finishedAt: nullable(Instant('Time when the ticket ended; null: open')),
    cause: Cause,
    bulkId: nullable(Type.String({ format: 'uuid', description: 'The bulk run that opened it; null: none' })),
    withdrawnBy: nullable(
      Type.String({ description: 'The workflow that cancelled the ticket; null: a person, or not cancelled' }),
    ),
  },
  {
    ...EXAMPLE,
    iccid: '89445001021983048260',
    tag: 'meter-17',
    status: TicketStatus.Failed,
    attempts: 12,
    nextAttemptAt: null,
    failureCode: 'carrier_unavailable',
    failureText: 'the carrier cannot do it just now',
    failureDetail: 'The carrier could not do it now (503): maintenance: until noon',
    finishedAt: '2026-11-20T12:41:09.000Z',
    cause: { by: 'user' },
    bulkId: null,
    withdrawnBy: null,
  },
)
export type TicketDetail = Static<typeof TicketDetail>

/** A part of a list of tickets looks at no more. */
export const MOST_LOOKED_AT = 5000

export const TicketQuery = Type.Object({
  simId: Type.Optional(Id('The SIM')),
  status: Type.Optional(fields.status),
  type: Type.Optional(fields.type),
  pageSize: pageQuery.pageSize,
  ...cursorQuery('tickets'),
})
export type TicketQuery = Static<typeof TicketQuery>

const SimId = Id('Target SIM id')
export const SimRequest = strictObject({ simId: SimId })
export type SimRequest = Static<typeof SimRequest>

export const SmsRequest = strictObject({
  simId: SimId,
  message: Text('Text of the SMS, 1 to 1,600 characters', 'reboot', { minLength: 1, maxLength: 1600 }),
})
export type SmsRequest = Static<typeof SmsRequest>

const provision = {
  simId: SimId,
  poolId: optional(Id('Target pool; default: none')),
  tariffId: optional(Id('Target tariff; default: none')),
}
export const ProvisionRequest = strictObject(provision)
export type ProvisionRequest = Static<typeof ProvisionRequest>

const internal = {
  cause: Type.Optional(Type.Union([Cause, Type.Null()])),
  effectiveAt: optional(
    Type.String({
      format: 'date-time',
      description: 'Start of a billing cycle, when the change takes effect; default: on completion',
      examples: ['2026-12-01T00:00:00.000Z'],
    }),
  ),
}
export const InternalProvisionRequest = strictObject({
  ...provision,
  tag: optional(Tag('Tag to apply on completion')),
  ...internal,
})
export type InternalProvisionRequest = Static<typeof InternalProvisionRequest>
export const InternalSimRequest = strictObject({ simId: SimId, ...internal })
export type InternalSimRequest = Static<typeof InternalSimRequest>

export const TicketResponse = strictObject({ id: Type.String({ format: 'uuid', description: 'Ticket id' }) })

export const TicketMetadata = strictObject({
  type: codeList('Ticket types', TicketType),
  status: codeList('Ticket statuses', TicketStatus),
})
export const ticketMetadata: Static<typeof TicketMetadata> = {
  type: metadataOf(TicketType),
  status: metadataOf(TicketStatus),
}

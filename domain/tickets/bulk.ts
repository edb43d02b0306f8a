/**
 * Bulk runs: one request for many SIMs. Each gets a ticket or, in a batch, a provision-and-activate of one workflow.
 * Source: the internal interface.
 */
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { codeSchema, SimStatus, TicketType } from '../codes.ts'
import { ERROR_CODES } from '../errors.ts'
import { isRounded } from '../files/spreadsheet.ts'
import { pageQuery } from '../page.ts'
import {
  Count,
  Iccid,
  Id,
  Instant,
  nullable,
  objectWithExample,
  oneOf,
  optional,
  strictObject,
  Text,
} from '../schema.ts'
import { Tag } from '../sims/sim.ts'
import type { ProvisionAndActivateResult } from '../temporal/provision-and-activate.ts'

/** Most SIMs of one run. Its request writes them all in one transaction. */
export const MOST_SIMS = 100_000
/** Most SIMs, and most refusals, that an answer lists. */
export const MOST_LISTED = 1000

const type = oneOf(
  ['activate', 'suspend', 'refresh', 'send-sms', 'provision', 'unassign'],
  'Request of every SIM’s ticket',
)
export type BulkType = Static<typeof type>

/** The ticket that a type of run opens on each SIM. */
export const TICKET_OF: Readonly<Record<BulkType, { readonly type: TicketType; readonly unassign: boolean }>> = {
  activate: { type: TicketType.Activate, unassign: false },
  suspend: { type: TicketType.Suspend, unassign: false },
  refresh: { type: TicketType.Refresh, unassign: false },
  'send-sms': { type: TicketType['Send SMS'], unassign: false },
  provision: { type: TicketType.Provision, unassign: false },
  unassign: { type: TicketType.Provision, unassign: true },
}

const poolId = Id('Target pool of a provisioning run; default: none')
const tariffId = Id('Target tariff of a provisioning run; default: none')
const TAG = 'Tag to apply on completion of a provisioning run'
const tag = Tag(TAG)
const message = Type.String({
  minLength: 1,
  maxLength: 1600,
  description: 'Text of the SMS, 1 to 1,600 characters; required for send-sms, refused for other types',
})
const dryRun = Type.Boolean({ description: 'Only show accepted and refused SIMs; change nothing' })
const expect = Type.Integer({
  minimum: 0,
  maximum: MOST_SIMS,
  description:
    'Most SIMs to get a ticket, as read in `touched.count` of a dry run. If more would: 409 `bulk_grown`. SIMs refused at the request stay so',
})

export const BulkFilter = strictObject({
  search: optional(Type.String({ description: 'Part of the ICCID, IMSI, MSISDN or tag, upper or lower case' })),
  status: optional(codeSchema(SimStatus, 'SIM status')),
  poolId: optional(Id('SIMs in this pool')),
})
export type BulkFilter = Static<typeof BulkFilter>

/** SIMs of an earlier run, by the end of their tickets: to take it back, or to try again. */
export const BulkPart = strictObject({
  id: Type.String({ format: 'uuid', description: 'Id of an earlier run' }),
  outcome: oneOf(['complete', 'failed'], 'How their tickets have ended'),
})
export type BulkPart = Static<typeof BulkPart>

const some = { minItems: 1, maxItems: MOST_SIMS }

/** The SIMs of a run, given in one of five ways. A filter is evaluated once, when the run is requested. */
export const BulkSims = Type.Union(
  [
    strictObject({ ids: Type.Array(Id('SIM id'), { ...some, description: 'SIM ids, at most 100,000' }) }),
    strictObject({ iccids: Type.Array(Type.String({ maxLength: 64 }), { ...some, description: 'ICCIDs' }) }),
    strictObject({
      rows: Type.Array(
        Type.Unsafe<unknown>({ description: 'A row: `iccid` or `simId`. A wrong row does not stop the others' }),
        {
          ...some,
          description: 'Rows of a CSV',
        },
      ),
    }),
    strictObject({ filter: BulkFilter }),
    strictObject({ run: BulkPart }),
  ],
  { description: 'The SIMs: one of ids, iccids, rows, filter, run' },
)
export type BulkSims = Static<typeof BulkSims>

export const BulkRequest = objectWithExample(
  {
    type,
    sims: BulkSims,
    poolId: optional(poolId),
    tariffId: optional(tariffId),
    tag: optional(tag),
    message: optional(message),
    dryRun: optional(dryRun),
    expect: optional(expect),
  },
  { type: 'activate', sims: { ids: [1, 2, 3] }, dryRun: true },
)
export type BulkRequest = Static<typeof BulkRequest>

/** Query of a bulk request, for a body in CSV, which has only SIMs. Fields of a body take precedence. */
export const BulkRequestQuery = Type.Object({
  type: Type.Optional(type),
  poolId: Type.Optional(poolId),
  tariffId: Type.Optional(tariffId),
  tag: Type.Optional(tag),
  message: Type.Optional(message),
  dryRun: Type.Optional(dryRun),
  expect: Type.Optional(expect),
})

/** One row of a list: it names a SIM. */
export const BulkRow = strictObject({ simId: optional(Id('SIM id')), iccid: optional(Iccid('ICCID')) })

/** The message about a text that is not an ICCID. */
export const notAnIccid = (text: string): string =>
  isRounded(text)
    ? `'${text}' is what a spreadsheet makes of an ICCID: its digits are lost; format the column as text and export it again`
    : `'${text}' is no ICCID: expected 18 to 22 digits`

const code = oneOf(ERROR_CODES, 'Reason: a code of docs/errors.md')
const count = (description: string) => Type.Integer({ description })
const refusals = Type.Array(strictObject({ code, count: count('Number') }), { description: 'Refused SIMs by code' })
const INDEX = 'Place in the request, from 0; in a CSV the header does not count'
const index = Type.Integer({ minimum: 0, description: INDEX })
const target = {
  simId: nullable(Id('SIM id; null: unknown SIM')),
  iccid: nullable(Type.String({ description: 'ICCID; for an unknown SIM the text of the request' })),
}

/** Response to a dry run. */
export const BulkPlan = strictObject({
  type,
  total: Type.Integer({ description: 'SIMs in the request' }),
  touched: strictObject({
    count: Type.Integer({ description: 'SIMs to get a ticket' }),
    sims: Type.Array(strictObject({ index, simId: Id('SIM id'), iccid: Type.String({ description: 'ICCID' }) }), {
      description: 'The first 1,000',
    }),
  }),
  refused: strictObject({
    count: Type.Integer({ description: 'SIMs to be refused' }),
    byCode: refusals,
    sims: Type.Array(
      strictObject({
        index,
        ...target,
        code,
        detail: Type.String({ description: 'Reason in words' }),
      }),
      { description: 'The first 1,000' },
    ),
  }),
})
export type BulkPlan = Static<typeof BulkPlan>

/** State of a SIM in a run: `waiting` for its ticket, `refused` one, or the status of its ticket. */
const outcome = oneOf(
  ['waiting', 'refused', 'pending', 'processing', 'complete', 'failed', 'cancelled'],
  'waiting: ticket not opened yet; refused: no ticket; else the status of the ticket',
)
export type BulkOutcome = Static<typeof outcome>

const run = {
  id: Type.String({ format: 'uuid', description: 'Id of the run' }),
  type,
  poolId: nullable(poolId),
  tariffId: nullable(tariffId),
  tag: nullable(Type.String({ description: TAG })),
  message: nullable(message),
  state: oneOf(
    ['running', 'done', 'cancelled'],
    'done: every ticket has ended; cancelled: SIMs not begun were cancelled',
  ),
  createdAt: Instant('Time of the request'),
  openedAt: nullable(Instant('Time when the last ticket was opened; null until then')),
  total: count('SIMs of the run'),
  notYetOpened: count('SIMs without a ticket yet'),
  refused: count('Refused SIMs'),
}

export const BulkRun = strictObject(run)
export type BulkRun = Static<typeof BulkRun>

export const BulkRunDetail = strictObject({
  ...run,
  counts: strictObject(
    {
      waiting: count('Tickets not opened yet'),
      refused: count('Refused SIMs'),
      pending: count('Tickets waiting for their turn'),
      processing: count('Tickets in progress at the carrier'),
      complete: count('Completed tickets'),
      failed: count('Failed tickets'),
      cancelled: count('Tickets cancelled, before or after they were opened'),
    },
    { description: 'SIMs by state; their sum is the total' },
  ),
  refusals,
})
export type BulkRunDetail = Static<typeof BulkRunDetail>

export const BulkItem = strictObject({
  index,
  ...target,
  outcome,
  ticketId: nullable(Type.String({ format: 'uuid', description: 'Ticket of the SIM; null: none' })),
  code: nullable(Type.String({ description: 'Code of the refusal or failure' })),
  detail: nullable(Type.String({ description: 'In words' })),
})
export type BulkItem = Static<typeof BulkItem>

export const BulkItemQuery = Type.Object({ outcome: Type.Optional(outcome), ...pageQuery })
export type BulkItemQuery = Static<typeof BulkItemQuery>

/** A row of the list: the SIM, by id or ICCID, and its target pool, tariff and tag. */
export const BatchRow = strictObject({
  ...BulkRow.properties,
  poolId: optional(Id('Target pool; omitted: the default, else none')),
  tariffId: optional(Id('The SIM’s own tariff; omitted: the default, else none')),
  tag: optional(Tag('Tag to set with the activation')),
})

const parallel = Type.Integer({ minimum: 1, maximum: 200, description: 'Most SIMs in progress at once; default 50' })
const skipInvalid = Type.Boolean({
  description: 'Leave out refused rows and start the others; default: any refused row refuses the request',
})
export const BatchRequest = objectWithExample(
  {
    sims: Type.Array(
      Type.Unsafe<unknown>({
        description: 'A row: `simId` or `iccid`, and optionally `poolId`, `tariffId`, `tag`',
      }),
      { minItems: 1, maxItems: MOST_SIMS, description: 'The SIMs, at most 100,000' },
    ),
    defaults: optional(
      strictObject(
        { poolId: optional(Id('Target pool')), tariffId: optional(Id('The SIM’s own tariff')) },
        { description: 'Defaults for rows without pool or tariff' },
      ),
    ),
    parallel: optional(parallel),
    skipInvalid: optional(skipInvalid),
  },
  { sims: [{ simId: 1, tag: 'door 4' }, { iccid: '8999900000000000017' }], defaults: { poolId: 1 }, parallel: 50 },
)
export type BatchRequest = Static<typeof BatchRequest>

/** Query of a request with a CSV body. Its rows contain only the SIMs. */
export const BatchRequestQuery = Type.Object({
  poolId: Type.Optional(Id('Target pool of rows without one')),
  tariffId: Type.Optional(Id('Tariff of rows without one')),
  parallel: Type.Optional(parallel),
  skipInvalid: Type.Optional(skipInvalid),
})
export type BatchRequestQuery = Static<typeof BatchRequestQuery>

const reasonCode = Type.String({ description: 'A code of docs/errors.md, or the ticket’s failure code' })
const batch = {
  id: Type.String({ format: 'uuid', description: 'Id of the batch' }),
  workflowId: Text('The workflow of the batch', 'provision-in-bulk:tf622080bc0a0:0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11'),
}
const batchRefusals = Type.Array(strictObject({ code: reasonCode, count: Count('Number') }), {
  description: 'Refused SIMs by code',
})

export const BatchStarted = strictObject({
  ...batch,
  total: Count('SIMs of the request'),
  refused: Count('Rows left out because they are refused'),
  refusals: batchRefusals,
})
export type BatchStarted = Static<typeof BatchStarted>

/** Outcomes of provision-and-activate. */
const BATCH_ENDS = ['activated', 'alreadyActive', 'compensated', 'cancelled', 'failed'] as const
const BECAME = 'State of the SIM'
/** The state of a SIM in a batch. */
const batchOutcome = oneOf(['refused', 'waiting', 'running', ...BATCH_ENDS], BECAME)
export type BatchOutcome = Static<typeof batchOutcome>

export const Batch = strictObject({
  ...batch,
  parallel,
  createdAt: Instant('Time of the request'),
  endedAt: nullable(Instant('Time when the workflow ended; null until then')),
  total: Count('SIMs of the request'),
  counts: strictObject(
    {
      refused: Count('Rows left out'),
      waiting: Count('Not begun'),
      running: Count('In progress'),
      activated: Count('Activated'),
      alreadyActive: Count('Already active in the target pool'),
      compensated: Count('A step failed; earlier steps are undone'),
      cancelled: Count('Cancelled, before or after the start; finished steps are undone'),
      failed: Count('Failed, with nothing to undo'),
    } satisfies Record<BatchOutcome, unknown>,
    { description: 'SIMs by state; their sum is the total' },
  ),
  refusals: batchRefusals,
})
export type Batch = Static<typeof Batch>

const ticket = (step: string) =>
  nullable(Type.String({ format: 'uuid', description: `Ticket that ${step}; null: none` }))
const batchIndex = Type.Integer({ minimum: 0, maximum: MOST_SIMS, description: INDEX })
const tickets = {
  provisionTicket: ticket('provisioned it'),
  activateTicket: ticket('activated it'),
  unassignTicket: ticket('undid the provisioning'),
}
const reason = {
  step: nullable(Type.String({ description: 'Failed step' })),
  code: nullable(reasonCode),
  detail: nullable(Type.String({ description: 'In words' })),
}

export const BatchSim = strictObject({
  index: batchIndex,
  ...target,
  poolId: nullable(Id('Target pool')),
  tariffId: nullable(Id('Target tariff')),
  tag: nullable(Type.String({ description: 'Tag to set' })),
  outcome: batchOutcome,
  ...tickets,
  ...reason,
  endedAt: nullable(Instant('Time of the end; null until then')),
})
export type BatchSim = Static<typeof BatchSim>

export const BatchSimQuery = Type.Object({
  outcome: Type.Optional(batchOutcome),
  open: Type.Optional(Type.Boolean({ description: 'Only unfinished SIMs: waiting or running' })),
  afterIndex: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MOST_SIMS, description: 'Continue after this place; default: from the first' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Most SIMs on a page' })),
})
export type BatchSimQuery = Static<typeof BatchSimQuery>

export const BatchSims = strictObject({
  sims: Type.Array(BatchSim, { description: 'SIMs in the order of the request' }),
  nextAfterIndex: nullable(Type.Integer({ description: '`afterIndex` of the next page; null on the last page' })),
})
export type BatchSims = Static<typeof BatchSims>

export const BatchSimEnd = strictObject({
  index: batchIndex,
  outcome: oneOf(BATCH_ENDS, BECAME),
  ...tickets,
  ...reason,
})
export type BatchSimEnd = Static<typeof BatchSimEnd>

const textOrNull = Type.Union([Type.String(), Type.Null()])
const ProvisionResult = Type.Object({
  outcome: oneOf(BATCH_ENDS),
  failure: Type.Union([
    Type.Object({ step: Type.String(), ticketId: textOrNull, code: Type.String(), detail: Type.String() }),
    Type.Null(),
  ]),
  provisionTicket: textOrNull,
  activateTicket: textOrNull,
  unassignTicket: textOrNull,
})
/** The result of a SIM's provision-and-activate, from JSON; null if it is none. */
export const provisionResult = (result: unknown): ProvisionAndActivateResult | null =>
  Value.Check(ProvisionResult, result) ? result : null

const MOST_NOTED = 1000
/** A report of the workflow about its SIMs. */
export const BatchNotes = strictObject({
  started: Type.Array(batchIndex, { maxItems: MOST_NOTED, description: 'Places of SIMs in progress' }),
  ended: Type.Array(BatchSimEnd, { maxItems: MOST_NOTED, description: 'Finished SIMs' }),
})
export type BatchNotes = Static<typeof BatchNotes>

/** Batches: many SIMs that one workflow provisions and activates. Source: the internal interface. */
import { type Static, Type } from 'typebox'
import { Iccid, Id, Instant, nullable, optional, strictObject, Text } from '../schema.ts'
import { Tag } from '../sims/sim.ts'
import { MOST_SIMS } from '../tickets/bulk.ts'

const poolId = Id('Target pool; left out: the default, else none')
const tariffId = Id('Tariff of its own; left out: the default, else none')
const tag = Tag('Tag to set with the activation')

/** A row of the list: the SIM, by id or ICCID, and its target pool, tariff and tag. */
export const BatchRow = strictObject({
  simId: optional(Id('SIM id')),
  iccid: optional(Iccid('ICCID')),
  poolId: optional(poolId),
  tariffId: optional(tariffId),
  tag: optional(tag),
})
export type BatchRow = Static<typeof BatchRow>

const parallel = Type.Integer({ minimum: 1, maximum: 200, description: 'Most SIMs under way at once; default 50' })
const skipInvalid = Type.Boolean({
  description: 'Leave out rows that cannot be, and start with the rest; default: one such row refuses the whole',
})
const place = { poolId: optional(Id('Target pool')), tariffId: optional(Id('Tariff of its own')) }

export const BatchRequest = strictObject(
  {
    sims: Type.Array(
      Type.Unsafe<unknown>({
        description: 'A row: `simId` or `iccid`, and `poolId`, `tariffId`, `tag` as wanted',
      }),
      { minItems: 1, maxItems: MOST_SIMS, description: 'The SIMs, at most 100,000' },
    ),
    defaults: optional(strictObject(place, { description: 'For rows that name no pool, or no tariff' })),
    parallel: optional(parallel),
    skipInvalid: optional(skipInvalid),
  },
  {
    examples: [
      { sims: [{ simId: 1, tag: 'door 4' }, { iccid: '8999900000000000017' }], defaults: { poolId: 1 }, parallel: 50 },
    ],
  },
)
export type BatchRequest = Static<typeof BatchRequest>

/** Query of a request with a CSV body. Its rows contain only the SIMs. */
export const BatchRequestQuery = Type.Object({
  poolId: Type.Optional(Id('Target pool of rows that name none')),
  tariffId: Type.Optional(Id('Tariff of rows that name none')),
  parallel: Type.Optional(parallel),
  skipInvalid: Type.Optional(skipInvalid),
})
export type BatchRequestQuery = Static<typeof BatchRequestQuery>

const id = Type.String({ format: 'uuid', description: 'Id of the batch' })
const workflowId = Text(
  'The workflow that works it off',
  'provision-in-bulk:tf622080bc0a0:0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11',
)
const count = (description: string) => Type.Integer({ minimum: 0, description })
const code = Type.String({ description: 'A code of docs/errors.md, or the ticket’s failure code' })
const refusals = Type.Array(strictObject({ code, count: count('How many') }), { description: 'Refused, by code' })

/** Response to an accepted batch. */
export const BatchStarted = strictObject({
  id,
  workflowId,
  total: count('SIMs of the request'),
  refused: count('Of these, rows left out because they cannot be'),
  refusals,
})
export type BatchStarted = Static<typeof BatchStarted>

/** States of a SIM in a batch. The last five are outcomes of its provision-and-activate. */
export const BATCH_OUTCOMES = [
  'refused',
  'waiting',
  'running',
  'activated',
  'alreadyActive',
  'compensated',
  'cancelled',
  'failed',
] as const
export type BatchOutcome = (typeof BATCH_OUTCOMES)[number]

const counts = strictObject(
  {
    refused: count('Rows that were left out'),
    waiting: count('Not begun'),
    running: count('Under way'),
    activated: count('Active now'),
    alreadyActive: count('Active there before'),
    compensated: count('A step failed, and what was done is undone'),
    cancelled: count('Cancelled, before they were begun or after: what was done is undone'),
    failed: count('Failed, and nothing of it to be undone'),
  } satisfies Record<BatchOutcome, unknown>,
  { description: 'SIMs by what has become of them; their sum is the total' },
)

/** A batch with its counts. */
export const Batch = strictObject({
  id,
  workflowId,
  parallel,
  createdAt: Instant('When it was asked for'),
  endedAt: nullable(Instant('When its workflow had ended; null until then')),
  total: count('SIMs of the request'),
  counts,
  refusals,
})
export type Batch = Static<typeof Batch>

const ticket = (step: string) =>
  nullable(Type.String({ format: 'uuid', description: `Ticket that ${step}; null where there was none` }))
const index = Type.Integer({
  minimum: 0,
  maximum: MOST_SIMS,
  description: 'Place in the request, from 0; in a CSV the header does not count',
})
const tickets = {
  provisionTicket: ticket('provisioned it'),
  activateTicket: ticket('activated it'),
  unassignTicket: ticket('undid the provisioning'),
}
const reason = {
  step: nullable(Type.String({ description: 'The step that failed' })),
  code: nullable(code),
  detail: nullable(Type.String({ description: 'The same in words' })),
}
const outcomes = (values: readonly BatchOutcome[]) =>
  Type.Unsafe<BatchOutcome>({ type: 'string', enum: [...values], description: 'What has become of it' })

export const BatchSim = strictObject({
  index,
  simId: nullable(Id('SIM id; null where there is no such SIM')),
  iccid: nullable(Type.String({ description: 'ICCID; what the request said where there is no such SIM' })),
  poolId: nullable(Id('Target pool')),
  tariffId: nullable(Id('Target tariff')),
  tag: nullable(Type.String({ description: 'Tag to set' })),
  outcome: outcomes(BATCH_OUTCOMES),
  ...tickets,
  ...reason,
  endedAt: nullable(Instant('When it ended; null until then')),
})
export type BatchSim = Static<typeof BatchSim>

export const BatchSimQuery = Type.Object({
  outcome: Type.Optional(outcomes(BATCH_OUTCOMES)),
  open: Type.Optional(Type.Boolean({ description: 'Only those that have not ended: waiting or running' })),
  afterIndex: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MOST_SIMS, description: 'Those behind this place; left out: from the first' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Most of the page' })),
})
export type BatchSimQuery = Static<typeof BatchSimQuery>

export const BatchSims = strictObject({
  sims: Type.Array(BatchSim, { description: 'In the order of the request' }),
  nextAfterIndex: nullable(Type.Integer({ description: '`afterIndex` of the next page; null on the last' })),
})
export type BatchSims = Static<typeof BatchSims>

/** How a SIM of a batch ended. */
export const BatchSimEnd = strictObject({
  index,
  outcome: Type.Unsafe<Exclude<BatchOutcome, 'refused' | 'waiting' | 'running'>>(outcomes(BATCH_OUTCOMES.slice(3))),
  ...tickets,
  ...reason,
})
export type BatchSimEnd = Static<typeof BatchSimEnd>

const MOST_NOTED = 1000
/** A report of the workflow about its SIMs. */
export const BatchNotes = strictObject({
  started: Type.Array(index, { maxItems: MOST_NOTED, description: 'Places of SIMs that are under way now' }),
  ended: Type.Array(BatchSimEnd, { maxItems: MOST_NOTED, description: 'SIMs that have ended' }),
})
export type BatchNotes = Static<typeof BatchNotes>

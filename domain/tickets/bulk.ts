/** Bulk runs: one request for many SIMs, with one ticket each. Source: the internal interface. */
import { type Static, Type } from 'typebox'
import { codeSchema, SimStatus, TicketType } from '../codes.ts'
import { ERRORS, type ErrorCode } from '../errors.ts'
import { isRounded } from '../files/spreadsheet.ts'
import { pageQuery } from '../page.ts'
import { Iccid, Id, Instant, nullable, optional, strictObject } from '../schema.ts'
import { Tag } from '../sims/sim.ts'

/** Most SIMs of one run. Its request writes them all in one transaction. */
export const MOST_SIMS = 100_000
/** Most SIMs, and most refusals, that a dry run lists. */
export const MOST_LISTED = 1000

const TYPES = ['activate', 'suspend', 'refresh', 'send-sms', 'provision', 'unassign'] as const
export type BulkType = (typeof TYPES)[number]
const type = Type.Unsafe<BulkType>({
  type: 'string',
  enum: [...TYPES],
  description: 'What every SIM’s ticket asks for',
})

/** The ticket that a type of run opens on each SIM. */
export const TICKET_OF: Readonly<Record<BulkType, { readonly type: TicketType; readonly unassign: boolean }>> = {
  activate: { type: TicketType.Activate, unassign: false },
  suspend: { type: TicketType.Suspend, unassign: false },
  refresh: { type: TicketType.Refresh, unassign: false },
  'send-sms': { type: TicketType['Send SMS'], unassign: false },
  provision: { type: TicketType.Provision, unassign: false },
  unassign: { type: TicketType.Provision, unassign: true },
}

const poolId = Id('Target pool, of a run that provisions; left out: none')
const tariffId = Id('Target tariff, of a run that provisions; left out: none')
const TAG = 'Tag to apply on completion, of a run that provisions'
const tag = Tag(TAG)
const message = Type.String({
  minLength: 1,
  maxLength: 1600,
  description: 'Text of the SMS, 1 to 1,600 characters; needed by a run that sends them, and taken by no other',
})
const dryRun = Type.Boolean({ description: 'Only say what would be touched and what refused; nothing is written' })

export const BulkFilter = strictObject({
  search: optional(Type.String({ description: 'Part of the ICCID, IMSI, MSISDN or tag, upper or lower case' })),
  status: optional(codeSchema(SimStatus, 'SIM status')),
  poolId: optional(Id('SIMs in this pool')),
})
export type BulkFilter = Static<typeof BulkFilter>

const some = { minItems: 1, maxItems: MOST_SIMS }

/** The SIMs of a run, given in one of four ways. A filter is evaluated once, when the run is requested. */
export const BulkSims = Type.Union(
  [
    strictObject({ ids: Type.Array(Id('SIM id'), { ...some, description: 'SIM ids, at most 100,000' }) }),
    strictObject({ iccids: Type.Array(Type.String({ maxLength: 64 }), { ...some, description: 'ICCIDs' }) }),
    strictObject({
      rows: Type.Array(Type.Unsafe<unknown>({ description: 'A row: `iccid` or `simId`. A bad one refuses itself' }), {
        ...some,
        description: 'What a CSV is read into',
      }),
    }),
    strictObject({ filter: BulkFilter }),
  ],
  { description: 'Which SIMs: one of ids, iccids, rows, filter' },
)
export type BulkSims = Static<typeof BulkSims>

export const BulkRequest = strictObject(
  {
    type,
    sims: BulkSims,
    poolId: optional(poolId),
    tariffId: optional(tariffId),
    tag: optional(tag),
    message: optional(message),
    dryRun: optional(dryRun),
  },
  { examples: [{ type: 'activate', sims: { ids: [1, 2, 3] }, dryRun: true }] },
)
export type BulkRequest = Static<typeof BulkRequest>

/**
 * Query of a bulk request. A CSV body has only SIMs, so its other fields are here. Fields of a body take precedence.
 */
export const BulkRequestQuery = Type.Object({
  type: Type.Optional(type),
  poolId: Type.Optional(poolId),
  tariffId: Type.Optional(tariffId),
  tag: Type.Optional(tag),
  message: Type.Optional(message),
  dryRun: Type.Optional(dryRun),
})

/** One row of a list: it names a SIM. */
export const BulkRow = strictObject({
  simId: optional(Id('SIM id')),
  iccid: optional(Iccid('ICCID')),
})
export type BulkRow = Static<typeof BulkRow>

/** The message about a text that is not an ICCID. */
export const notAnIccid = (text: string): string =>
  isRounded(text)
    ? `'${text}' is what a spreadsheet makes of an ICCID: its digits are lost; format the column as text and export it again`
    : `'${text}' is no ICCID: expected 18 to 22 digits`

const CODES = Object.keys(ERRORS).filter((code): code is ErrorCode => code in ERRORS)
const code = Type.Unsafe<ErrorCode>({ type: 'string', enum: CODES, description: 'Why: a code of docs/errors.md' })
const refusals = Type.Array(strictObject({ code, count: Type.Integer({ description: 'How many' }) }), {
  description: 'Refused, by code',
})
const index = Type.Integer({
  minimum: 0,
  description: 'Place in the request, from 0; in a CSV the header does not count',
})
const iccid = Type.String({ description: 'ICCID' })

/** Response to a dry run. */
export const BulkPlan = strictObject({
  type,
  total: Type.Integer({ description: 'SIMs that the request names' }),
  touched: strictObject({
    count: Type.Integer({ description: 'SIMs that would get a ticket' }),
    sims: Type.Array(strictObject({ index, simId: Id('SIM id'), iccid }), { description: 'The first 1,000' }),
  }),
  refused: strictObject({
    count: Type.Integer({ description: 'SIMs that would be refused' }),
    byCode: refusals,
    sims: Type.Array(
      strictObject({
        index,
        simId: nullable(Id('SIM id; null where there is no such SIM')),
        iccid: nullable(iccid),
        code,
        detail: Type.String({ description: 'Why, in words' }),
      }),
      { description: 'The first 1,000' },
    ),
  }),
})
export type BulkPlan = Static<typeof BulkPlan>

/** State of a SIM in a run: `waiting` for its ticket, `refused` one, or the status of its ticket. */
const OUTCOMES = ['waiting', 'refused', 'pending', 'processing', 'complete', 'failed', 'cancelled'] as const
export type BulkOutcome = (typeof OUTCOMES)[number]
const outcome = Type.Unsafe<BulkOutcome>({
  type: 'string',
  enum: [...OUTCOMES],
  description: 'waiting: its ticket is not opened yet; refused: it gets none; else the status of its ticket',
})
const count = (description: string) => Type.Integer({ description })

const run = {
  id: Type.String({ format: 'uuid', description: 'Id of the run' }),
  type,
  poolId: nullable(poolId),
  tariffId: nullable(tariffId),
  tag: nullable(Type.String({ description: TAG })),
  message: nullable(message),
  state: Type.Unsafe<'running' | 'done' | 'cancelled'>({
    type: 'string',
    enum: ['running', 'done', 'cancelled'],
    description: 'done: every ticket of it has ended; cancelled: what had not begun was cancelled',
  }),
  createdAt: Instant('When it was asked for'),
  openedAt: nullable(Instant('When the last SIM had its ticket; null until then')),
  total: count('SIMs of the run'),
  notYetOpened: count('SIMs whose ticket is not opened yet'),
  refused: count('SIMs that get no ticket'),
}

/** A run, as the list shows it. */
export const BulkRun = strictObject(run)
export type BulkRun = Static<typeof BulkRun>

/** A run with its counts. */
export const BulkRunDetail = strictObject({
  ...run,
  counts: strictObject(
    {
      waiting: count('Tickets not opened yet'),
      refused: count('SIMs that get no ticket'),
      pending: count('Tickets that wait for their turn'),
      processing: count('Tickets the carrier works on'),
      complete: count('Tickets that are complete'),
      failed: count('Tickets that have failed'),
      cancelled: count('Tickets that were cancelled, before or after they were opened'),
    },
    { description: 'SIMs by what has become of them; their sum is the total' },
  ),
  refusals,
})
export type BulkRunDetail = Static<typeof BulkRunDetail>

export const BulkItem = strictObject({
  index,
  simId: nullable(Id('SIM id; null where there is no such SIM')),
  iccid: nullable(Type.String({ description: 'ICCID; what the request said where there is no such SIM' })),
  outcome,
  ticketId: nullable(Type.String({ format: 'uuid', description: 'Its ticket; null where it has none' })),
  code: nullable(Type.String({ description: 'Why it was refused, or has failed' })),
  detail: nullable(Type.String({ description: 'The same in words' })),
})
export type BulkItem = Static<typeof BulkItem>

export const BulkItemQuery = Type.Object({ outcome: Type.Optional(outcome), ...pageQuery })
export type BulkItemQuery = Static<typeof BulkItemQuery>

/** Requests and responses of a tenant's month end. Source: the internal interface, /internal/cycles. */
import { type Static, Type } from 'typebox'
import { Id, Instant, nullable, oneOf, strictObject } from '../schema.ts'

const Count = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })

export const CycleInfo = strictObject({
  key: Type.String({ description: 'Start of the cycle: 2026-11, or 20261121T0210Z' }),
  startsAt: Instant('First instant'),
  endsAt: Instant('First instant of the next cycle'),
  openedAt: Instant('Time when the ledger of the cycle was opened'),
  closedAt: nullable(Instant('Time when the statement was made; null while the cycle is open')),
  recordsAccepted: Count('Counted usage records'),
  recordsDuplicate: Count('Usage records sent before'),
})
export type CycleInfo = Static<typeof CycleInfo>

/** A change queued for the end of the cycle. */
export const PoolChange = strictObject({
  simId: Id('SIM'),
  iccid: Type.String({ description: 'ICCID' }),
  poolId: nullable(Id('Target pool; null: unchanged')),
  tariffId: nullable(Id('Target tariff; null: unchanged')),
  unassign: Type.Boolean({ description: 'Whether to remove the SIM from its pool and unprovision it' }),
})
export type PoolChange = Static<typeof PoolChange>

/** Counts that a close does not need: the service has them. */
export const CloseRequest = strictObject({
  moved: Type.Optional(Count('SIMs moved; not read')),
  unassigned: Type.Optional(Count('SIMs unassigned; not read')),
  changesFailed: Type.Optional(Count('Changes that failed and stay queued; not read')),
  renewed: Type.Optional(Count('Reactivated SIMs; not read')),
})

/** A change queued for the end of a cycle, and its state in the month end. */
export const QueuedChangeInfo = strictObject({
  ...PoolChange.properties,
  state: oneOf(['queued', 'open', 'failed'], 'queued: no ticket yet; open: ticket not ended; failed: stays queued'),
  ticketId: nullable(Type.String({ description: 'Last ticket; null: none could be opened' })),
  code: nullable(Type.String({ description: 'Stable code of the failure' })),
  detail: nullable(Type.String({ description: 'Failure in words' })),
})
export type QueuedChangeInfo = Static<typeof QueuedChangeInfo>

const AfterSim = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'SIMs with a higher id',
  examples: [0],
})
const kindOf = <T extends string>(...kinds: T[]) =>
  Type.Unsafe<T>({ type: 'string', enum: kinds, description: 'Kind of change', examples: [kinds[0]] })

export const ApplyChanges = strictObject({
  kind: kindOf('unassign', 'move'),
  afterSimId: AfterSim,
  throughSimId: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'SIMs up to this id',
    examples: [500],
  }),
})
export type ApplyChanges = Static<typeof ApplyChanges>
export type ChangeKind = ApplyChanges['kind']

export const RetryChanges = strictObject({ kind: kindOf('unassign', 'move', 'return'), afterSimId: AfterSim })
export type RetryChanges = Static<typeof RetryChanges>
/** In a `return`, the month end itself resumes a suspended SIM, because the SIM's workflow no longer runs. */
export type MonthEndKind = RetryChanges['kind']

export const ReturnSims = strictObject({
  simIds: Type.Array(Id('SIM'), { minItems: 1, maxItems: 500, description: 'Suspended SIMs', examples: [[1]] }),
})
export type ReturnSims = Static<typeof ReturnSims>

/** The ticket opened for each SIM, or why there is none. */
export const ChangesOpened = strictObject({
  results: Type.Array(
    strictObject({
      simId: Id('SIM'),
      ticketId: nullable(Type.String({ description: 'Ticket of the SIM; null: none could be opened' })),
      code: nullable(Type.String({ description: 'Stable code of the refusal' })),
      detail: nullable(Type.String({ description: 'Reason of the refusal in words' })),
    }),
  ),
  nextAfterSimId: nullable(Id('Request SIMs after this one; null at the end')),
})
export type ChangesOpened = Static<typeof ChangesOpened>
export type OpenedChange = ChangesOpened['results'][number]

/** Counts of a step's SIMs. The counts except `total` add up to it. */
const step = {
  total: Count('Total'),
  queued: Count('SIMs without a ticket yet'),
  open: Count('SIMs with an open ticket'),
  complete: Count('Completed SIMs'),
  failed: Count('Failed SIMs, unchanged'),
}
const Step = (description: string) => strictObject(step, { description })

export const MonthEndCounts = strictObject({
  cycle: Type.String({ description: 'Key of the cycle that ends' }),
  closedAt: nullable(Instant('Time when the statement was made; null while the cycle is open')),
  unassign: Step('Unassignments queued before the end'),
  move: Step('Moves queued before the end'),
  changes: Step('Unassignments and moves'),
  renewals: strictObject(
    { ...step, released: Count('SIMs no longer suspended for another reason: unassigned, or a person acted') },
    { description: 'SIMs suspended by the watchdog until the renewal' },
  ),
})
export type MonthEndCounts = Static<typeof MonthEndCounts>

export const MonthEndBatches = strictObject({
  batches: Type.Array(
    strictObject({
      afterSimId: Type.Integer({ minimum: 0, description: 'SIMs have higher ids' }),
      throughSimId: Id('Last SIM'),
      count: Count('Number of SIMs'),
    }),
  ),
  nextAfterSimId: nullable(Id('Request SIMs after this one; null at the end')),
})
export type MonthEndBatches = Static<typeof MonthEndBatches>

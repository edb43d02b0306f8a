/** What the month end of a tenant is told and answers. Source: the internal interface, /internal/cycles. */
import { type Static, Type } from 'typebox'
import { Id, Instant, nullable, strictObject } from './schema.ts'

const Count = (description: string) => Type.Integer({ minimum: 0, description })

export const CycleInfo = strictObject({
  key: Type.String({ description: 'Start of the cycle: 2026-11, or 20261121T0210Z' }),
  startsAt: Instant('First instant'),
  endsAt: Instant('First instant of the next cycle'),
  openedAt: Instant('When its ledger was opened'),
  closedAt: nullable(Instant('When its statement was made; null while it is open')),
  recordsAccepted: Count('Usage records counted in it'),
  recordsDuplicate: Count('Usage records that had been sent before'),
})
export type CycleInfo = Static<typeof CycleInfo>

/** A change queued for the end of the cycle. */
export const PoolChange = strictObject({
  simId: Id('SIM'),
  iccid: Type.String({ description: 'ICCID' }),
  poolId: nullable(Id('Target pool; null: unchanged')),
  tariffId: nullable(Id('Target tariff; null: unchanged')),
  unassign: Type.Boolean({ description: 'Whether the SIM leaves its pool and is unprovisioned' }),
})
export type PoolChange = Static<typeof PoolChange>

/** What became of a month end's steps; goes into the summary. */
export const CloseAsk = strictObject({
  moved: Count('SIMs moved'),
  unassigned: Count('SIMs unassigned'),
  changesFailed: Count('Changes that failed and stay queued'),
  renewed: Count('SIMs brought back'),
})
export type CloseAsk = Static<typeof CloseAsk>

export const ChangeFailed = strictObject({
  simId: Id('SIM'),
  ticketId: nullable(Type.String({ description: 'The ticket that failed; null where none could be opened' })),
  code: Type.String({ maxLength: 100, description: 'Stable code' }),
  detail: Type.String({ maxLength: 2000, description: 'Words for people' }),
})
export type ChangeFailed = Static<typeof ChangeFailed>

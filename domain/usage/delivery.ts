/** Deliveries of usage, as the internal interface shows them. */
import { type Static, Type } from 'typebox'
import { DateFilter, pageQuery } from '../page.ts'
import { Actor, Count, Id, Instant, KeyId, KeyName, nullable, oneOf, RequestId, strictObject } from '../schema.ts'

export const UsageDelivery = strictObject({
  id: Id('Delivery id'),
  beganAt: Instant('Arrival of the first bytes'),
  endedAt: nullable(Instant('End of reading; null while in progress, or if the process was killed')),
  actor: Actor,
  actorName: KeyName,
  keyId: nullable(KeyId),
  requestId: RequestId,
  outcome: nullable(
    oneOf(['complete', 'broken'], 'broken: not read to its end; records counted before stay. null: not ended'),
  ),
  accepted: Count('Counted records'),
  duplicates: Count('Records sent before'),
  rejected: Count('Refused records'),
  bytes: Count('Bytes received, before unpacking'),
  sha256: nullable(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'SHA-256 of these bytes, hexadecimal; null until the end',
      examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
    }),
  ),
})
export type UsageDelivery = Static<typeof UsageDelivery>

export const UsageDeliveryQuery = Type.Object({
  keyId: Type.Optional(KeyId),
  date: Type.Optional(DateFilter),
  ...pageQuery,
})
export type UsageDeliveryQuery = Static<typeof UsageDeliveryQuery>

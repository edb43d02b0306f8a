/** The status of a tenant: decisions that wait, failures, alerts, SIMs and usage in figures. */
import { type Static, Type } from 'typebox'
import { Count, Instant, nullable, strictObject, Text } from '../schema.ts'
import { retryFigures } from '../workflows/trouble.ts'

/** Failures are counted among so many tickets and mails, the newest. */
export const MOST_ENDED = 1000

const Sum = (description: string) => Type.Integer({ description })

export const TenantStatus = strictObject({
  cycle: strictObject(
    {
      key: Type.String({ description: 'Start of the cycle: 2026-11, or 20261121T0210Z' }),
      startsAt: Instant('First instant'),
      endsAt: Instant('First instant of the next cycle'),
    },
    { description: 'The running billing cycle' },
  ),
  usage: strictObject(
    {
      bytes: Sum('Bytes, up and down'),
      voiceSeconds: Sum('Seconds of voice'),
      smsCount: Sum('Messages'),
    },
    { description: 'Usage of all SIMs in the running cycle so far' },
  ),
  sims: strictObject(
    {
      unprovisioned: Count('Unprovisioned SIMs'),
      active: Count('Active SIMs'),
      suspended: Count('Suspended SIMs'),
    },
    { description: 'SIMs by status' },
  ),
  feed: strictObject({
    receivedAt: nullable(Instant('When usage was last received; null: never')),
    newestAt: nullable(Instant('Instant of the newest record; null: none yet')),
    staleSince: nullable(Instant('Since when usage is late, and rules that read it wait; null: it is not')),
  }),
  enforcementEnabled: Type.Boolean({ description: 'Whether the watchdog may suspend' }),
  alerts: strictObject({
    critical: Count('Open alerts of level Critical'),
    warning: Count('Open alerts of level Warning'),
    info: Count('Open alerts of level Info'),
    isWhole: Type.Boolean({ description: 'Whether all are counted; false: the newest 5,000' }),
  }),
  holds: Count('Decisions of the guard that wait for a person'),
  failedTickets: Count('Failed tickets among the newest 1,000 that ended within a day'),
  failedMails: Count('Mails given up among the newest 1,000 of the last 7 days'),
  ...retryFigures,
  version: Text('Changes with each new entry of the watchdog log, the events and the audit trail', '311.42.97'),
})
export type TenantStatus = Static<typeof TenantStatus>

/**
 * The types of events sent to webhooks, and the data of each. No event has a secret of an eSIM profile. More types and
 * fields may come: objects are open.
 */
import { type Static, type TSchema, Type } from 'typebox'
import { codeSchema, LogLevel } from '../codes.ts'
import { Count, Id, Instant, nullable, oneOf, Text } from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'

const Cycle = Text('Key of the billing cycle', '2026-11')
const Message = Text('What happened, in words', 'SIM meter-012 is 180 kB over its limit: 100.18 of 100 MB used.')
const Rule = Text('Name of the rule', 'sim-overage')
const Label = Text('Name for people: tag of the SIM, or its ICCID without one; name of the pool or tenant', 'meter-012')
const SIM = {
  iccid: Text('ICCID of the SIM', '8999900000000000017'),
  tag: Text('Tag of the SIM; empty without one', 'meter-012'),
}
const PoolId = nullable(Id('The pool, or that of the SIM; null outside pools'))

const ALERT = {
  rule: Rule,
  level: codeSchema(LogLevel, 'Level'),
  subject: Type.Object({
    kind: oneOf(SUBJECT_KINDS),
    id: Type.Union([Type.Integer(), Type.String()], { description: 'Id of the SIM, pool or tenant' }),
    label: Label,
    iccid: Type.Optional(SIM.iccid),
    tag: Type.Optional(SIM.tag),
  }),
  poolId: PoolId,
  cycle: Cycle,
  since: Instant('Start of its conditions being met; if it has resolved, their end'),
  times: Type.Integer({ minimum: 1, description: 'How often it has fired in the billing cycle' }),
  message: Message,
}
export const AlertData = Type.Object(ALERT)
export type AlertData = Static<typeof AlertData>

const SimActionData = Type.Object({
  simId: Id('The SIM'),
  label: Label,
  ...SIM,
  poolId: PoolId,
  rule: nullable(Text('Name of the rule; null: a person began it', 'sim-overage')),
  cycle: Cycle,
  message: Message,
})

/** The events that an endpoint can be registered for: what each reports, and its data. */
const EVENTS = {
  'alert.fired': ['An alert fires, as its mail says or would say', AlertData],
  'alert.resolved': [
    'Such an alert has ended. Alerts of a closed cycle get none',
    Type.Object({
      ...ALERT,
      reason: oneOf(['cleared', 'withdrawn'], 'withdrawn: its rule no longer covers the subject'),
    }),
  ],
  'sim.suspended': ['The watchdog has suspended a SIM', SimActionData],
  'sim.brought_back': ['The watchdog has activated a SIM that it had suspended', SimActionData],
  'guard.held': [
    'Suspensions or alerts wait for a decision',
    Type.Object({
      holdId: Id('The hold'),
      rule: Rule,
      poolId: nullable(Id("The pool; null: the tenant's SIMs outside shared pools")),
      cycle: Cycle,
      waiting: Count('SIMs, or subjects, that wait'),
      message: Message,
    }),
  ],
  'feed.stale': [
    'No usage has been received for long',
    Type.Object({ receivedAt: nullable(Instant('When usage was received last; null: never')), message: Message }),
  ],
  'cycle.closed': [
    "A billing cycle's statement is made, and its alerts have ended",
    Type.Object({
      cycle: Cycle,
      startsAt: Instant('Start of the cycle'),
      endsAt: Instant('End of the cycle'),
      statementLines: Count('Lines of the statement'),
      chargesMicro: Type.Integer({ description: 'Charges, in millionths of the currency' }),
      currency: Text('Of the charges: ISO 4217', 'EUR'),
    }),
  ],
  'mail.failed': [
    'A mail was given up',
    Type.Object({
      mailId: Text('Message-ID', '<1f2c@simherd>'),
      recipient: Text('Its address', 'billing@meadow.example'),
      subject: Text('Its subject', 'Pool North 340 MB over: 12 SIMs suspended'),
      why: Text("The server's last words, or why it could not be sent", '550 no such user'),
    }),
  ],
} as const satisfies Readonly<Record<string, readonly [reports: string, data: TSchema]>>

/** Sent on request, to test whether an endpoint accepts events. */
const TEST = {
  'webhook.test': ['A person tries the endpoint', Type.Object({ webhookId: Id('The webhook'), message: Message })],
} as const

export type WebhookEventType = keyof typeof EVENTS
const isType = (name: string): name is WebhookEventType => Object.hasOwn(EVENTS, name)
export const WEBHOOK_EVENTS: readonly WebhookEventType[] = Object.keys(EVENTS).filter(isType)

/** Every event that is sent: what it reports, and its data. */
export const SENT_EVENTS = { ...EVENTS, ...TEST }

/** An event as it happened. */
export type WebhookEvent = {
  readonly [T in keyof typeof SENT_EVENTS]: {
    readonly type: T
    readonly data: Static<(typeof SENT_EVENTS)[T][1]>
  }
}[keyof typeof SENT_EVENTS]

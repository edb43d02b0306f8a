/** The types of events sent to webhooks, and the data of each. No event has a secret of an eSIM profile. */
import type { LogLevel } from '../codes.ts'
import type { SubjectKind } from '../watchdog/subject.ts'

export const WEBHOOK_EVENTS = [
  'alert.fired',
  'alert.resolved',
  'sim.suspended',
  'sim.brought_back',
  'guard.held',
  'feed.stale',
  'cycle.closed',
  'mail.failed',
] as const
export type WebhookEventType = (typeof WEBHOOK_EVENTS)[number]

/** An alert. Instants are ISO 8601 in UTC. */
export interface AlertData {
  readonly rule: string
  readonly level: LogLevel
  readonly subject: { readonly kind: SubjectKind; readonly id: number | string; readonly label: string }
  /** The pool, or the SIM's; null outside pools. */
  readonly poolId: number | null
  /** Key of the billing cycle that it was evaluated in. */
  readonly cycle: string
  /** Start of its conditions being met; if it has resolved, their end. */
  readonly since: string
  /** How often it has fired in the billing cycle, from 1. */
  readonly times: number
  readonly message: string
}

/** An action of enforcement on a SIM. */
export interface SimActionData {
  readonly simId: number
  /** Tag or ICCID. */
  readonly label: string
  readonly poolId: number | null
  /** Null if a person started it. */
  readonly rule: string | null
  readonly cycle: string
  readonly message: string
}

interface WebhookData {
  readonly 'alert.fired': AlertData
  /** `withdrawn`: its rule no longer covers the subject. */
  readonly 'alert.resolved': AlertData & { readonly reason: 'cleared' | 'withdrawn' }
  readonly 'sim.suspended': SimActionData
  readonly 'sim.brought_back': SimActionData
  /** Suspensions wait for a person's decision. */
  readonly 'guard.held': {
    readonly holdId: number
    readonly rule: string
    /** Null: of the tenant's SIMs outside shared pools. */
    readonly poolId: number | null
    readonly cycle: string
    readonly waiting: number
    readonly message: string
  }
  /** No usage has been received for long. */
  readonly 'feed.stale': {
    /** When usage was received last; null: never. */
    readonly receivedAt: string | null
    readonly message: string
  }
  /** A billing cycle's statement is made, and its alerts have ended. Charges in micro-units of the currency. */
  readonly 'cycle.closed': {
    readonly cycle: string
    readonly startsAt: string
    readonly endsAt: string
    readonly statementLines: number
    readonly chargesMicro: number
  }
  /** A mail was given up. */
  readonly 'mail.failed': {
    readonly mailId: string
    readonly recipient: string
    readonly subject: string
    readonly why: string
  }
  /** Sent on request, to test whether an endpoint accepts events. */
  readonly 'webhook.test': { readonly webhookId: number; readonly message: string }
}

/** An event as it happened. */
export type WebhookEvent = {
  readonly [T in keyof WebhookData]: { readonly type: T; readonly data: WebhookData[T] }
}[keyof WebhookData]

/**
 * What somebody is told: written in the transaction of what it tells, kept as JSON, rendered when it leaves.
 * All instants are ISO 8601 in UTC.
 */

import type { LogLevel, SimStatus } from '../domain/codes.ts'
import type { FactValue } from '../domain/watchdog/fact.ts'

/** One condition that decided. */
export interface Reason {
  readonly fact: string
  readonly value: FactValue
  /** The engine's name of the comparison, such as `greaterThanInclusive`. */
  readonly operator: string
  readonly operand: FactValue | readonly FactValue[]
}

interface BasicNotification {
  /** Alert key and kind: told once. */
  readonly key: string
  readonly level: LogLevel
  /** When it was found. */
  readonly at: string
  readonly tenantId: string
  readonly tenantName: string
}

/** A rule's alert: it fired, it cleared, or its grace period began or is about to end. */
export interface AlertNotification extends BasicNotification {
  readonly kind: 'fired' | 'resolved' | 'graceStarted' | 'graceEnding'
  readonly rule: { readonly name: string; readonly file: string; readonly version: number }
  readonly subject: {
    readonly kind: 'sim' | 'pool' | 'tenant'
    readonly id: number | string
    /** A SIM's tag or ICCID, a pool's or tenant's name. Never a secret of an eSIM profile. */
    readonly label: string
  }
  /** The rule's message, its facts filled in. */
  readonly message: string
  /** Since when it has been so. */
  readonly since: string
  /** 1 MB is 10^6 bytes; null is unknown, or without meaning for this subject. */
  readonly facts: {
    readonly usageMB: number | null
    readonly limitMB: number | null
    readonly usagePct: number | null
    readonly overageMB: number | null
  }
  /** When the limit will be passed if usage goes on like this; null where there is no forecast. */
  readonly pace: string | null
  /** A sentence: "The SIM will be suspended at …", "Monitor mode: it would have been suspended", "Nothing: for information". */
  readonly whatNext: string
  readonly why: readonly Reason[]
  /** A sentence: what to do so that no more of these come. */
  readonly howToStop: string
}

/** A billing cycle was closed. Money is in micro-units of the currency. */
export interface SummaryNotification extends BasicNotification {
  readonly kind: 'summary'
  readonly cycle: { readonly key: string; readonly startsAt: string; readonly endsAt: string }
  readonly figures: {
    /** Number of SIMs at close, by the label of their status. */
    readonly simsByStatus: Readonly<Partial<Record<keyof typeof SimStatus, number>>>
    readonly usageMB: number
    readonly overageMB: number
    readonly chargesMicro: number
    readonly movesApplied: number
    readonly movesFailed: number
    readonly unassigned: number
    readonly reactivated: number
    readonly stillSuspended: number
  }
  /** What the charges hold of earlier cycles, the oldest first: usage and money are differences, and may be below 0. */
  readonly adjustments?: readonly {
    readonly cycle: string
    readonly lines: number
    readonly usageMB: number
    readonly chargeMicro: number
  }[]
  readonly failures: readonly { readonly iccid: string; readonly what: string; readonly reason: string }[]
  readonly pools: readonly {
    readonly name: string
    readonly usageMB: number
    readonly limitMB: number
    readonly overageMB: number
    readonly chargeMicro: number
  }[]
  /** The statement; attached where it is given. The sender reads it when the mail leaves, it is not kept in here. */
  readonly statementCsv?: string
  /** Lines of a long statement that are not attached: its pools are, the rest is asked for. Absent where it is whole. */
  readonly statementLinesLeftOut?: number
}

export type Notification = AlertNotification | SummaryNotification

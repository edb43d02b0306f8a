/**
 * Notifications: written in the transaction of the reported fact, stored as JSON, and rendered when they are put into a
 * mail. All instants are ISO 8601 in UTC.
 */

import type { LogLevel, SimStatus } from '../codes.ts'
import type { Unit } from '../quantity.ts'
import type { FactValue } from '../watchdog/fact-value.ts'
import type { SubjectKind } from '../watchdog/subject.ts'

/** The kind of a notice about an alert, or about an action of its rule on a SIM. */
export type AlertNoticeKind =
  | 'fired'
  | 'resolved'
  | 'escalated'
  | 'graceStarted'
  | 'graceEnding'
  | 'suspended'
  | 'broughtBack'

/** A comparison that decided. */
export interface Reason {
  readonly fact: string
  /** Name of the fact for people: `data used`. Of a boolean a clause: `its IMEI has changed`. */
  readonly label: string
  readonly value: FactValue
  /** The engine's name of the operator, such as `greaterThanInclusive`. */
  readonly operator: string
  readonly operand: FactValue | readonly FactValue[]
  /** Of the value and the operand; null: they have none. */
  readonly unit: Unit | null
}

interface BasicNotification {
  /** Alert key and kind. A tenant gets at most one notification a key. */
  readonly key: string
  readonly level: LogLevel
  /** When the fact was found. */
  readonly at: string
  readonly tenantId: string
  readonly tenantName: string
  /** IANA name of the time zone that its instants are shown in. */
  readonly timeZone: string
}

/**
 * An alert of a rule: it fired or resolved, is not acknowledged, or its grace period began or is about to end; or an
 * action of the rule on a SIM: a suspension or its end.
 */
export interface AlertNotification extends BasicNotification {
  readonly kind: AlertNoticeKind
  readonly rule: {
    readonly name: string
    readonly file: string
    readonly version: number
    /** Type of its event, such as `overage`. Absent: the notification is about an action, or a hold, of the rule. */
    readonly type?: string
  }
  readonly subject: {
    readonly kind: SubjectKind
    readonly id: number | string
    /** A SIM's tag or ICCID, or the name of a pool or tenant. Never a secret of an eSIM profile. */
    readonly label: string
    /** If the SIM has a tag. */
    readonly iccid?: string
  }
  /** Name of the pool that a SIM is in. Absent: it is in none. */
  readonly poolName?: string
  /** The pool whose rule caused the action on a SIM. Absent: a rule of the SIM itself. */
  readonly causePoolId?: number
  /** The rule's message, with its facts filled in, and the label for the ICCID. */
  readonly message: string
  /** How often it has fired in this billing cycle, from 2 on. Absent: for the first time. */
  readonly times?: number
  /** Key of the running billing cycle. Absent: the cycle has ended, or there is no alert. */
  readonly cycle?: string
  /** About an ended billing cycle: waits for other notifications at any level. Absent: false. */
  readonly isOfEndedCycle?: boolean
  /** Since when the fact has been true. */
  readonly since: string
  /** How long it was true, in milliseconds, if it no longer is. */
  readonly lastedMs?: number
  /** Usage of the subject. 1 MB is 10^6 bytes. Null: unknown, or not applicable to this subject. */
  readonly facts: {
    readonly usageMB: number | null
    readonly limitMB: number | null
    readonly usagePct: number | null
    readonly overageMB: number | null
  }
  /** When usage will pass the limit if it continues at this rate; null without a forecast. */
  readonly pace: string | null
  /**
   * The next step, as a sentence: "The SIM will be suspended at …", "Monitor mode: it would have been suspended",
   * "Nothing: for information".
   */
  readonly whatNext: string
  /** The same of several subjects: "They come back …". Absent: it reads so of one and of several. */
  readonly whatNextOfMany?: string
  /** The next step in a few words for a subject: "suspended". Absent: none. */
  readonly follows?: string
  readonly why: readonly Reason[]
  /** What the reader can do, and what it is good for: "How to stop this: Exempt the SIM from the watchdog." */
  readonly advice: string
}

/** Summary of a closed billing cycle. Money in micro-units of the currency. */
export interface SummaryNotification extends BasicNotification {
  readonly kind: 'summary'
  readonly cycle: { readonly key: string; readonly startsAt: string; readonly endsAt: string }
  readonly figures: {
    /** Number of SIMs at close, by the label of their status. */
    readonly simsByStatus: Readonly<Partial<Record<keyof typeof SimStatus, number>>>
    readonly usageMB: number
    readonly overageMB: number
    readonly chargesMicro: number
    /** ISO 4217. */
    readonly currency: string
    readonly movesApplied: number
    readonly movesFailed: number
    readonly unassigned: number
    readonly reactivated: number
    readonly stillSuspended: number
  }
  /**
   * Adjustments of earlier cycles in the charges, oldest first. Usage and money are differences, and may be negative.
   */
  readonly adjustments: readonly {
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
  /** The statement to attach, if there is one. It is not stored here: the sender reads it when it sends the mail. */
  readonly statementCsv?: string
  /**
   * Lines of a long statement that are not attached. Its pools are attached; the other lines can be requested. Absent
   * if the whole statement is attached.
   */
  readonly statementLinesLeftOut?: number
}

export type Notification = AlertNotification | SummaryNotification

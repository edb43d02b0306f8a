/** The types that the steps of an evaluation pass to each other. */

import { type LogLevel, WatchdogMode } from '../../domain/codes.ts'
import { settingsInForce, type WatchdogSettings } from '../../domain/watchdog/settings.ts'
import type { Subject, SubjectKind } from '../../domain/watchdog/subject.ts'
import type { Reason } from '../../rules/alerts/decide.ts'
import type { TellingKind } from '../../rules/alerts/keys.ts'
import { asWanted, type Permission, permitted } from '../../rules/alerts/permission.ts'
import type { Mailable, OpenSilence } from '../../rules/alerts/quiet.ts'
import type { AlertPhase, AlertState } from '../../rules/alerts/state.ts'
import type { StoredAlert } from '../../rules/alerts/stored-alert.ts'
import type { RuleOutcome } from '../../rules/engine/evaluate.ts'
import type { Matched } from '../../rules/engine/match.ts'
import type { DeviceChange, JudgedFigures, PoolFactRow, SimRow, TenantFactRow } from '../../rules/fact-rows.ts'
import type { PoolFacts, SimFacts, TenantFacts } from '../../rules/facts.ts'
import type { Moment } from '../../rules/facts-of.ts'
import type { Rule } from '../../rules/rule.ts'
import type { ReadRules } from '../rules/rules-in-force.ts'

interface Of<K extends SubjectKind, Row, F> extends Subject {
  readonly kind: K
  readonly row: Row
  readonly facts: F
}
/** A subject, its row, and its facts. */
export type SubjectFacts =
  | Of<'sim', SimRow & JudgedFigures, SimFacts>
  | Of<'pool', PoolFactRow, PoolFacts>
  | Of<'tenant', TenantFactRow, TenantFacts>

/** A subject and the rules attached to it; none if it is not watched. */
export type WatchedSubject = SubjectFacts & { readonly rules: readonly Rule[] }

/** A subject and the outcomes of its rules. */
export type EvaluatedSubject = WatchedSubject & { readonly outcomes: readonly RuleOutcome[] }

/** The name people use for a subject. */
export function subjectLabel(subject: SubjectFacts): string {
  switch (subject.kind) {
    case 'sim':
      return subject.row.tag === '' ? subject.row.iccid : subject.row.tag
    case 'pool':
      return subject.row.poolName
    case 'tenant':
      return subject.row.name
  }
}

/** The pool of a SIM, or the pool itself. */
export const poolIdOf = (subject: SubjectFacts): number | null =>
  subject.kind === 'tenant' ? null : subject.row.poolId

/** The mode in force. A tenant has none: Monitor. */
export function modeOf(subject: SubjectFacts): WatchdogMode {
  switch (subject.kind) {
    case 'sim':
      return settingsInForce(subject.row, subject.row.pool).watchdogMode
    case 'pool':
      return subject.row.mode
    case 'tenant':
      return WatchdogMode.Monitor
  }
}

/**
 * The permission of a rule on a subject.
 *
 * @param level of its alert
 * @param mailsFrom the least level of alerts that the tenant gets mailed
 */
export function permissionOf(
  { event: { params } }: Rule,
  level: LogLevel,
  subject: SubjectFacts,
  mailsFrom: LogLevel,
): Permission {
  return asWanted(permitted(params.stage, modeOf(subject)), level, mailsFrom)
}

/** The properties by which rules match a subject. */
export function matchedOf(subject: SubjectFacts, tenantId: string): Matched {
  switch (subject.kind) {
    case 'sim': {
      const { poolName, tag, tariffType } = subject.facts
      return { subject: 'sim', tenantId, poolName, tag, tariffType }
    }
    case 'pool': {
      const { poolName, tariffType } = subject.facts
      return { subject: 'pool', tenantId, poolName, tag: null, tariffType }
    }
    case 'tenant':
      return { subject: 'tenant', tenantId, poolName: null, tag: null, tariffType: null }
  }
}

/** The contents of a notice of a rule. @param level of its alert */
export const mailableOf = ({ name }: Rule, level: LogLevel, subject: SubjectFacts): Mailable => ({
  rule: name,
  level,
  subject,
  poolId: poolIdOf(subject),
  tag: subject.kind === 'sim' ? subject.row.tag : null,
})

/** Whether rules are evaluated for it: neither exempt nor Disabled. */
export const isWatched = (subject: SubjectFacts): boolean =>
  subject.kind === 'sim' ? isWatchedSim(subject.row) : modeOf(subject) !== WatchdogMode.Disabled

export const isWatchedSim = (row: Pick<SimRow, keyof WatchdogSettings | 'pool' | 'exempt'>): boolean =>
  !row.exempt && settingsInForce(row, row.pool).watchdogMode !== WatchdogMode.Disabled

/** Whether a rule is decided at a moment. In an ended cycle, only rules that start again with each cycle are. */
export const isDecidedAt = ({ cycleBound }: Rule, { isEnded }: Moment): boolean => cycleBound || !isEnded

/** The scopes of the alerts decided at a moment. */
export const scopesAt = ({ cycle, isEnded }: Moment): string[] => (isEnded ? [cycle.key] : [cycle.key, ''])

/** How subjects are evaluated, and how people are notified. Times are in milliseconds. */
export interface EvaluationOptions {
  readonly rules: ReadRules
  /** How long a notification below critical waits for others. */
  readonly groupFirstMs: number
  /** The least time between two grouped mails. */
  readonly groupNextMs: number
  /**
   * Whether a pool that stays over is signalled again only after a new look at it: for a replay, where each change is
   * seen. Default: also by time alone.
   */
  readonly asksOnceUnseen?: boolean
  /** Called each time the evaluation of a single subject fails. */
  readonly onFailed?: (failed: FailedSubject) => void
  /** Called after the decisions of an evaluation were written. */
  readonly onDecided?: (decided: DecidedCounts) => void
}

/** Decisions about alerts. It names no subject: its counters must not grow with the estate. */
export interface DecidedCounts {
  /** How many subjects the engine decided on. */
  readonly subjects: number
  /** Alerts that came into a phase, by rule. */
  readonly alerts: readonly { readonly rule: string; readonly phase: AlertPhase }[]
  /** Notices to mail, and newly withheld ones, with the reason. */
  readonly notices: readonly { readonly kind: TellingKind; readonly reason: NoticeReason }[]
  /** Rules that could be decided about a subject before, and cannot be now. */
  readonly errors: readonly { readonly rule: string }[]
}

/** `due`: it is to be mailed. `tookBack`: it had not left when its alert ended. */
export type NoticeReason = 'due' | 'tookBack' | Reason

/** A subject whose evaluation failed, to be retried. */
export interface FailedSubject extends Subject {
  readonly tenantId: string
  readonly error: unknown
}

/** The basis of the decisions on a batch of subjects. */
export interface Batch {
  readonly moment: Moment
  readonly tenantName: string
  /** IANA name of the time zone that people read instants in. */
  readonly timeZone: string
  readonly enforcementEnabled: boolean
  readonly silences: readonly OpenSilence[]
  /** Latest changes of device of SIMs found in several devices lately, oldest first, by SIM. */
  readonly deviceChanges: ReadonlyMap<number, readonly DeviceChange[]>
  readonly rulesVersion: number
  /** This build refuses the set in force. Requests by the rules of that set are not taken back. */
  readonly isRefused: boolean
  /** The rules in force, by name. */
  readonly rules: ReadonlyMap<string, Rule>
  /** Alerts of the pools whose data the SIMs among the subjects share. */
  readonly poolAlerts: readonly StoredAlert<AlertState>[]
  readonly escalateAfterMs: number | null
  /** The least level of alerts that the tenant gets mailed. */
  readonly mailsFrom: LogLevel
  readonly subjects: readonly WatchedSubject[]
  /** Removed subjects to evaluate: SIMs no longer provisioned, pools deleted. */
  readonly gone: readonly Subject[]
}

/** A map key for a subject: `<kind>/<id>`. */
export const keyOf = ({ kind, id }: Subject): string => `${kind}/${id}`

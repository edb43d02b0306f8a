/**
 * Silences and alerts that hold back notices of an alert. Entries of the log, and suspensions, are never held back.
 * Pure.
 */
import type { LogLevel } from '../../domain/codes.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import { fitsPattern } from '../engine/match.ts'

/** An open silence. Null fits any value. */
export interface OpenSilence {
  readonly id: number
  /** A pattern with `*`. */
  readonly rule: string | null
  readonly simId: number | null
  /** The pool itself, and the SIMs in it. */
  readonly poolId: number | null
  /** A pattern with `*`. Null fits subjects without a tag too. */
  readonly tag: string | null
  readonly level: LogLevel | null
  /** Epoch milliseconds. */
  readonly endsAt: number
}

/** The subject of a notice. */
export interface Mailable {
  readonly rule: string
  readonly level: LogLevel
  readonly subject: Subject
  readonly poolId: number | null
  /** Of a SIM; null for other subjects. */
  readonly tag: string | null
}

/** A silence that holds back notices, until an instant in epoch milliseconds. */
export interface QuietBySilence {
  readonly reason: 'silenced'
  readonly silenceId: number
  readonly until: number
}

/** A stronger alert on the same matter fires: of the subject itself, or of its pool. */
export interface QuietByAlert {
  readonly reason: 'inhibited'
  /** Name of its rule. */
  readonly by: string
}

/** The reason to hold back notices. */
export type Quiet = QuietBySilence | QuietByAlert

/** The silence that holds back a notice the longest; null if none does. */
export function quietOf(silences: readonly OpenSilence[], about: Mailable): QuietBySilence | null {
  let found: OpenSilence | null = null
  for (const silence of silences) {
    if (!isSilencedBy(silence, about)) continue
    if (found === null || silence.endsAt > found.endsAt) found = silence
  }
  return found === null ? null : { reason: 'silenced', silenceId: found.id, until: found.endsAt }
}

function isSilencedBy(silence: OpenSilence, { rule, level, subject, poolId, tag }: Mailable): boolean {
  return (
    (silence.rule === null || fitsPattern(silence.rule, rule)) &&
    (silence.level === null || silence.level === level) &&
    (silence.simId === null || (subject.kind === 'sim' && silence.simId === subject.id)) &&
    (silence.poolId === null || silence.poolId === poolId) &&
    (silence.tag === null || (tag !== null && fitsPattern(silence.tag, tag)))
  )
}

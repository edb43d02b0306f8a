/** A rule as it is after loading: checked, its references replaced, its defaults filled in. */

import type { LogLevel } from '../domain/codes.ts'
import { durationMs } from '../domain/time/duration.ts'
import type { SubjectKind } from '../domain/watchdog/subject.ts'
import type { Group } from './conditions.ts'
import type { Match, Resolve, RuleEvent } from './rule-file.ts'

/** How long conditions hold before a rule fires: milliseconds, or a share of the cycle in percent. */
export type For = { readonly ms: number } | { readonly cyclePct: number }

export interface Rule {
  readonly name: string
  readonly file: string
  readonly description: string
  readonly subject: SubjectKind
  readonly match: Match
  readonly conditions: Group
  /** What ends an episode; null: that the conditions no longer hold. */
  readonly clear: Group | null
  /** The event as the file has it. */
  readonly event: RuleEvent
  readonly level: LogLevel
  readonly resolve: Resolve
  readonly for: For
  /** Starts anew with each cycle: it is told once a cycle, or reads facts that do. */
  readonly cycleBound: boolean
}

/** Reads `for`: a duration, or a share of the cycle (`5%`). */
export const forOf = (text: string): For =>
  text.endsWith('%') ? { cyclePct: Number(text.slice(0, -1)) } : { ms: durationMs(text) }

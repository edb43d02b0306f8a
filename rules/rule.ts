/** A loaded rule: checked, with references replaced and defaults filled in. */

import type { LogLevel } from '../domain/codes.ts'
import { durationMs } from '../domain/time/duration.ts'
import type { SubjectKind } from '../domain/watchdog/subject.ts'
import type { Group } from './conditions.ts'
import type { Ladder } from './ladder.ts'
import type { Match, Resolve, RuleEvent } from './rule-file.ts'

/** How long something lasts: milliseconds, or a share of the cycle in percent. */
export type For = { readonly ms: number } | { readonly cyclePct: number }

export interface Rule {
  readonly name: string
  readonly file: string
  readonly description: string
  readonly subject: SubjectKind
  readonly match: Match
  /** The conditions of the file; for a rule with a ladder, also that its first step is reached. */
  readonly conditions: Group
  /** Steps that its alert rises by; null if it has only one. */
  readonly ladder: Ladder | null
  /** Conditions that end an episode; null: it ends when `conditions` are no longer met. */
  readonly clear: Group | null
  readonly event: RuleEvent
  /** With a ladder the highest that it may have: see `levelAt`. */
  readonly level: LogLevel
  readonly resolve: Resolve
  readonly for: For
  /** How long its alert goes on firing after the conditions have ended. */
  readonly keepFiring: For
  /** Findings of the linter that it mutes, by code, with the reasons. */
  readonly muted: Readonly<Record<string, string | undefined>>
  /** Whether it starts again with each cycle: it fires once a cycle, or reads cycle-bound facts. */
  readonly cycleBound: boolean
  /** Whether it reads facts of usage: while the usage feed is stale, its alerts stand still. */
  readonly readsUsage: boolean
}

/** Reads `for` and `keepFiring`: an ISO 8601 duration, or a share of the cycle (`5%`). @throws Error for anything else */
export const forOf = (text: string): For =>
  text.endsWith('%') ? { cyclePct: Number(text.slice(0, -1)) } : { ms: durationMs(text) }

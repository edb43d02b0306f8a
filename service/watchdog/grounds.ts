/** The basis of a decision about an alert, kept with its log entry and independent of later changes. */
import type { WatchdogMode } from '../../domain/codes.ts'
import type { AlertState } from '../../rules/alerts/alert-state.ts'
import type { AlertReason, Wish } from '../../rules/alerts/decide-alert.ts'
import type { Evaluation } from '../../rules/alerts/decide-all.ts'
import type { Permission } from '../../rules/alerts/permission.ts'
import { lastingMs } from '../../rules/alerts/phases.ts'
import type { Quiet } from '../../rules/alerts/quiet.ts'
import { ownModeOf } from '../../rules/alerts/subject.ts'
import type { LeafExplanation } from '../../rules/engine/evaluate-subject.ts'
import { leavesOn } from '../../rules/explain/leaves.ts'
import type { Facts } from '../../rules/facts.ts'
import { factsShownBy } from '../../rules/facts-needed.ts'
import type { Stage } from '../../rules/rule-file.ts'
import type { EvaluationBatch } from './read-batch.ts'

/** Instants are epoch milliseconds. */
export interface Grounds {
  readonly at: number
  /** The label of its subject for people. */
  readonly label: string
  readonly stage: Stage
  /** Null for the tenant, which has none. */
  readonly mode: WatchdogMode | null
  readonly isMet: boolean
  /** Why the rule could not be decided; null if it was. */
  readonly error: string | null
  /** Null: the rule has no clear conditions. */
  readonly clear: { readonly isMet: boolean; readonly leaves: readonly LeafExplanation[] } | null
  /** The facts that conditions and messages read. */
  readonly facts: Facts
  readonly phase: AlertState['phase']
  readonly since: number
  readonly forMs: number
  readonly keepFiringMs: number
  readonly reasons: readonly AlertReason[]
  readonly quiet: Quiet | null
  readonly guard: AlertState['guard'] | null
  readonly staleSince: number | null
  readonly wish: Wish
  /** Null: the rule never suspends. */
  readonly suspend: Permission['suspend'] | null
  readonly enforcementEnabled: boolean
  /** Whether it was logged and mailed; `before`: the log has an earlier entry that it fires. */
  readonly tells: { readonly log: boolean; readonly mail: boolean; readonly before: boolean }
}

/** Most characters of JSON kept with an entry. The excess is left out, facts and clear conditions first. */
const MOST_KEPT = 16_384

export function groundsOf(one: Evaluation, { moment, enforcementEnabled }: EvaluationBatch): Grounds {
  const { subject, outcome, decision, permission, quiet } = one
  const { rule, met, error = null, clear = false } = outcome
  const { suspend, stage } = rule.event.params
  const { next, reasons, wish } = decision
  const { facts } = subject
  return {
    at: moment.at,
    label: one.about.label,
    stage,
    mode: ownModeOf(subject),
    isMet: met,
    error,
    clear: rule.clear === null ? null : { isMet: clear, leaves: leavesOn(rule.clear, rule.subject, facts) },
    facts: factsOfRule(one),
    phase: next.phase,
    since: next.since,
    forMs: lastingMs(rule.for, moment.cycle),
    keepFiringMs: lastingMs(rule.keepFiring, moment.cycle),
    reasons,
    quiet,
    guard: next.guard ?? null,
    staleSince: rule.readsUsage ? moment.feed.staleSince : null,
    wish,
    suspend: suspend === undefined ? null : permission.suspend,
    enforcementEnabled,
    tells: {
      log: decision.entries.length > 0,
      mail: decision.notices.length > 0,
      before: (one.stored?.state.told ?? []).includes(`fired${next.part}`),
    },
  }
}

function factsOfRule({ subject, outcome: { rule } }: Evaluation): Facts {
  const facts: Facts = { ...subject.facts }
  return Object.fromEntries(factsShownBy(rule).flatMap((name) => (name in facts ? [[name, facts[name] ?? null]] : [])))
}

/** The grounds to keep: at most {@link MOST_KEPT} characters. */
export function keptGrounds(grounds: Grounds): Grounds {
  const isShort = (one: Grounds) => JSON.stringify(one).length <= MOST_KEPT
  if (isShort(grounds)) return grounds
  const fewer = { ...grounds, clear: grounds.clear === null ? null : { ...grounds.clear, leaves: [] } }
  return isShort(fewer) ? fewer : { ...fewer, facts: {}, error: fewer.error?.slice(0, 500) ?? null }
}

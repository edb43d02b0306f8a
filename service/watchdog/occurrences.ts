/**
 * The findings of a rule that reports each occurrence, with those that came and went since its alert was last decided.
 */
import type { AlertState } from '../../rules/alerts/state.ts'
import type { RuleOutcome } from '../../rules/engine/evaluate.ts'
import type { DeviceChange } from '../../rules/fact-rows.ts'
import type { Facts } from '../../rules/facts.ts'

/** An outcome, and the facts that its message is filled with. */
export interface Occurrence {
  readonly outcome: RuleOutcome
  readonly facts: Facts
}

/**
 * The occurrences to decide one after another; the last is the present one. Before it come the changes of device after
 * the one that the alert has last begun with.
 */
export function occurrencesOf(
  outcome: RuleOutcome,
  facts: Facts,
  previous: AlertState | null,
  changes: readonly DeviceChange[],
): readonly Occurrence[] {
  const present = { outcome, facts }
  const { once, occurrence } = outcome.rule.event.params
  if (once !== 'occurrence' || occurrence !== 'deviceChange' || !outcome.met) return [present]
  const seen = Number(previous?.occurrence ?? 0)
  const missed = changes.filter(({ n }) => n > seen && n < Number(outcome.occurrence))
  return [
    ...missed.map(({ n, imei }) => ({
      outcome: { ...outcome, occurrence: String(n) },
      facts: { ...facts, imei, deviceChange: n },
    })),
    present,
  ]
}

import type { Decisions } from '../../rules/alerts/decide-all.ts'
import type { AlertState } from '../../rules/alerts/state.ts'
import { settled } from '../../rules/alerts/take-back.ts'
import { newlyUndecidable } from './note-undecidable.ts'
import type { DecidedCounts } from './options.ts'

type CountedNotices = DecidedCounts['notices']

/** Counts decisions. Pure. @param takenBack keys of the notices taken back */
export function decidedCounts(
  { evaluations, withdrawals }: Decisions,
  takenBack: ReadonlySet<string>,
): Omit<DecidedCounts, 'subjects'> {
  const decided = [
    ...evaluations.map((one) => ({
      rule: one.outcome.rule.name,
      previous: one.stored?.state ?? null,
      ...one.decision,
    })),
    ...withdrawals.map((one) => ({ rule: one.stored.rule, previous: one.stored.state, ...one.decision })),
  ]
  return {
    alerts: decided
      .filter(({ previous, next }) => isOtherPhase(previous, next))
      .map(({ rule, next: { phase } }) => ({ rule, phase })),
    notices: decided.flatMap(({ previous, next, notices, takeBack }): CountedNotices => {
      const tookBack = takeBack?.fired.filter(({ key }) => takenBack.has(key)) ?? []
      return [
        ...tookBack.map(() => ({ kind: 'fired' as const, reason: 'tookBack' as const })),
        ...settled({ next, notices, takeBack }, takenBack).notices.map(({ kind }) => ({
          kind,
          reason: 'due' as const,
        })),
        ...(tookBack.length > 0 ? [] : newlyWithheld(previous, next)).map((reason) => ({
          kind: 'fired' as const,
          reason,
        })),
      ]
    }),
    errors: newlyUndecidable(evaluations).map(({ outcome }) => ({ rule: outcome.rule.name })),
  }
}

/** Another occurrence after one fires again. */
const isOtherPhase = (previous: AlertState | null, next: AlertState): boolean =>
  (previous?.phase ?? 'inactive') !== next.phase || (previous?.episode ?? 0) !== next.episode

const newlyWithheld = (previous: AlertState | null, { withheld = [] }: AlertState) =>
  withheld.filter((reason) => previous?.withheld?.includes(reason) !== true)

import type { Evaluation } from '../../rules/alerts/decide-all.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import type { TenantTx } from '../../store/tenancy.ts'

/** Subjects fail together. After a short wait the count in the operator's mail is complete. */
const WAIT_MS = 60_000

/** The alerts whose rule could be decided before, and cannot be now. */
export const newlyUndecidable = (evaluations: readonly Evaluation[]): Evaluation[] =>
  evaluations.filter(({ stored, decision: { next } }) => next.error !== null && (stored?.state.error ?? null) === null)

/**
 * Notes for the operator that rules cannot be decided: once an hour for a rule, with a count of subjects and one error.
 */
export async function noteUndecidable(
  tx: TenantTx,
  version: number,
  evaluations: readonly Evaluation[],
): Promise<void> {
  const hour = tx.now.toISOString().slice(0, 'yyyy-mm-ddThh'.length)
  const byRule = Map.groupBy(newlyUndecidable(evaluations), ({ outcome }) => outcome.rule.name)
  await insertOperatorNotices(
    tx,
    [...byRule].map(([rule, all]) => ({
      key: `rule-undecidable/${rule}/${hour}`,
      body: {
        kind: 'ruleUndecidable',
        rule,
        version,
        error: all[0]?.decision.next.error ?? '',
      },
      count: all.length,
      waitMs: WAIT_MS,
    })),
  )
}

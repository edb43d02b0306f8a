/** Tells the operator what rules in shadow, and those of a candidate, would have logged, mailed and suspended. Tenants are told nothing of it. */
import { isOfCandidate, plainName } from '../../rules/candidate.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { insertShadowEntries, type NewShadowEntry } from '../../store/watchdog/shadow-log.ts'
import { type Decisions, type Evaluation, NOUNS } from './decisions.ts'
import type { Batch } from './evaluation.ts'
import { type Told, toldOf, withdrawnOf } from './tell.ts'

/** Writes the shadow log, once for each telling and what would have been done. */
export const tellShadow = (tx: TenantTx, batch: Batch, { evaluations, withdrawals }: Decisions): Promise<void> =>
  insertShadowEntries(tx, [
    ...evaluations.flatMap((one) =>
      one.decision.shadow.map((telling): NewShadowEntry => {
        const told = toldOf(one, telling, batch)
        return telling.does === 'suspend'
          ? {
              ...entryOf(told, one.outcome.rule.candidate, batch),
              does: 'suspend',
              message: suspensionOf(one, told.message),
            }
          : { ...entryOf(told, one.outcome.rule.candidate, batch), does: telling.does }
      }),
    ),
    ...withdrawals.flatMap((one) =>
      one.decision.shadow.map(
        (telling): NewShadowEntry => ({
          ...entryOf(
            withdrawnOf(one, telling),
            isOfCandidate(one.stored.rule) ? one.stored.ruleVersion : undefined,
            batch,
          ),
          does: telling.does,
        }),
      ),
    ),
  ])

function suspensionOf({ about: { kind, label }, outcome: { rule } }: Evaluation, because: string): string {
  const whom =
    kind === 'pool' ? `SIMs of pool ${label}, by ${rule.event.params.suspend?.target},` : `${NOUNS[kind]} ${label}`
  return `${whom} would have been suspended: ${because}`
}

/** @param candidate version whose rule it is; undefined: that in force */
const entryOf = (
  { telling, about, rule, level, message }: Told,
  candidate: number | undefined,
  { rulesVersion, moment }: Batch,
) => ({
  dedupeKey: telling.key,
  rule: plainName(rule),
  ruleVersion: candidate ?? rulesVersion,
  simId: about.kind === 'sim' ? about.id : null,
  poolId: about.poolId,
  level,
  message,
  cycleKey: moment.cycle.key,
})

/**
 * Records for the operator the log entries, mails and suspensions that rules in shadow would have caused. Tenants do
 * not see it.
 */
import type { Decisions, Evaluation } from '../../rules/alerts/decide-all.ts'
import { NOUNS } from '../../rules/alerts/subject.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { insertShadowEntries, type NewShadowEntry } from '../alerts/rows/shadow-log.ts'
import type { Batch } from './read-facts.ts'
import { type Told, toldOf, withdrawnOf } from './tell.ts'

/** Writes the shadow log: an entry for each telling and each action that would have been taken. */
export const tellShadow = (tx: TenantTx, batch: Batch, { evaluations, withdrawals }: Decisions): Promise<void> =>
  insertShadowEntries(tx, [
    ...evaluations.flatMap((one) =>
      one.decision.shadow.map((telling): NewShadowEntry => {
        const entry = { ...entryOf(toldOf(one, telling, batch), batch), does: telling.does }
        return telling.does === 'suspend' ? { ...entry, message: suspensionOf(one, entry.message) } : entry
      }),
    ),
    ...withdrawals.flatMap((one) =>
      one.decision.shadow.map(
        (telling): NewShadowEntry => ({ ...entryOf(withdrawnOf(one, telling), batch), does: telling.does }),
      ),
    ),
  ])

function suspensionOf({ about: { kind, label }, outcome: { rule } }: Evaluation, because: string): string {
  const whom =
    kind === 'pool' ? `SIMs of pool ${label}, by ${rule.event.params.suspend?.target},` : `${NOUNS[kind]} ${label}`
  return `${whom} would have been suspended: ${because}`
}

const entryOf = ({ telling, about, rule, level, message }: Told, { rulesVersion, moment }: Batch) => ({
  dedupeKey: telling.key,
  rule,
  ruleVersion: rulesVersion,
  simId: about.kind === 'sim' ? about.id : null,
  poolId: about.poolId,
  level,
  message,
  cycleKey: moment.cycle.key,
})

/** Reads what an evaluation works on: the facts of a batch of subjects at one instant, and the rules of each. */

import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import { rulesFor } from '../../rules/engine/match.ts'
import { type DueMark } from '../../store/due.ts'
import { poolsOfSims } from '../../store/estate/sims.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { currentCycle, tenantSettings } from '../../store/usage/cycles.ts'
import { NO_FIGURES, simFigures } from '../../store/usage/figures.ts'
import { sumPools } from '../../store/usage/pool-totals.ts'
import { poolFactRows, simRows, tenantFactRow } from '../../store/watchdog/facts.ts'
import { type EvaluationOptions, isWatched, type SubjectFacts, type WatchedSubject } from './evaluation.ts'
import { type Moment, poolFactsOf, SILENT_SHARE, simFactsOf, tenantFactsOf, windowsOf } from './facts.ts'

export interface Batch {
  readonly moment: Moment
  readonly tenantName: string
  readonly enforcementEnabled: boolean
  readonly rulesVersion: number
  /** This build refuses the set that should be in force. What the rules of that set asked for is not taken back. */
  readonly isRefused: boolean
  readonly ruleNames: ReadonlySet<string>
  readonly subjects: readonly WatchedSubject[]
}

/** Reads a batch. Leaves out unprovisioned SIMs and subjects that no longer exist. */
export async function readBatch(tx: TenantTx, marks: readonly DueMark[], options: EvaluationOptions): Promise<Batch> {
  const { version, rules, refused } = await options.rules(tx)
  const { billingCycle, enforcementEnabled } = await tenantSettings(tx)
  const cycle = await currentCycle(tx)
  const idsOf = (kind: SubjectKind) => marks.filter((mark) => mark.kind === kind).map(({ id }) => id)
  const [simIds, poolIds] = [idsOf('sim'), idsOf('pool')]
  await sumPools(tx, cycle.key, [...new Set([...poolIds, ...(await poolsOfSims(tx, simIds)), 0])])
  const tenant = await tenantFactRow(tx, cycle.key)
  const newestUsageAt = tenant?.newestUsageAt ?? null
  const moment: Moment = { at: tx.now.getTime(), cycle, billingCycle, newestUsageAt }
  const windows = windowsOf(moment)
  const figures = await simFigures(tx, cycle.key, simIds)
  const sims = (simIds.length === 0 ? [] : await simRows(tx, cycle.key, simIds, windows)).map((row): SubjectFacts => {
    const facts = simFactsOf({ ...row, ...(figures.get(row.simId) ?? NO_FIGURES) }, moment)
    return { kind: 'sim', id: row.simId, row, facts }
  })
  const silentBefore = new Date(moment.at - SILENT_SHARE * (cycle.endsAt - cycle.startsAt))
  const pools = (poolIds.length === 0 ? [] : await poolFactRows(tx, cycle.key, poolIds, windows, silentBefore)).map(
    (row): SubjectFacts => ({ kind: 'pool', id: row.poolId, row, facts: poolFactsOf(row, moment) }),
  )
  const whole: readonly SubjectFacts[] =
    idsOf('tenant').length > 0 && tenant !== undefined
      ? [{ kind: 'tenant', id: 0, row: tenant, facts: tenantFactsOf(tenant, moment) }]
      : []
  const withRules = (subject: SubjectFacts): WatchedSubject => ({
    ...subject,
    rules: isWatched(subject) ? rulesFor(rules, matchedOf(subject, tx.tenantId)) : [],
  })
  return {
    moment,
    tenantName: tenant?.name ?? '',
    enforcementEnabled,
    rulesVersion: version,
    isRefused: refused !== null,
    ruleNames: new Set(rules.map(({ name }) => name)),
    subjects: [...sims, ...pools, ...whole].map(withRules),
  }
}

/** What rules match a subject by. */
function matchedOf(subject: SubjectFacts, tenantId: string) {
  const { kind } = subject
  switch (kind) {
    case 'sim': {
      const { poolName, tag, tariffType } = subject.facts
      return { subject: kind, tenantId, poolName, tag, tariffType }
    }
    case 'pool':
      return {
        subject: kind,
        tenantId,
        poolName: subject.row.poolName,
        tag: null,
        tariffType: subject.facts.tariffType,
      }
    case 'tenant':
      return { subject: kind, tenantId, poolName: null, tag: null, tariffType: null }
  }
}

/** The candidate: a version that is tried beside the one in force. Its rules are decided as if in shadow. */
import type { ChangedRules, Shadowed } from '../../domain/watchdog/rule-change.ts'
import { plainName } from '../../rules/candidate.ts'
import { loadStoredRules } from '../../rules/load/load.ts'
import { noteChange } from '../../store/audit.ts'
import { insertSpread } from '../../store/rule-spreads.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import { currentCandidacy, insertCandidacy } from '../../store/watchdog/rule-candidates.ts'
import { lockRules } from '../../store/watchdog/rule-sets.ts'
import { readVersion } from './rule-versions.ts'
import { type Change, candidateBeside, readRulesInForce, rejected } from './rules-in-force.ts'

type By = Omit<Change, 'expect'>

/**
 * Makes a version the candidate, in place of any other. Tenants get no event, but all their subjects are looked at.
 *
 * @throws ServiceError `rules_version_not_found`, and `rules_rejected` if this build refuses it
 */
export function shadowVersion(store: Store, version: number, by: By): Promise<Shadowed> {
  return inPlatform(store, async (tx): Promise<Shadowed> => {
    await lockRules(tx)
    const { faults } = await loadStoredRules((await readVersion(tx, version)).files)
    if (faults.length > 0) throw rejected(faults)
    const before = (await currentCandidacy(tx))?.version ?? null
    const changed = before !== version
    if (changed) {
      await change(tx, { version, ended: false, before }, by)
      await insertSpread(tx, { version, shifts: [] })
    }
    const candidate = await candidateBeside(tx, await readRulesInForce(tx))
    return { version, changed, rules: candidate?.rules.map(({ name }) => plainName(name)) ?? [] }
  })
}

/**
 * Ends the candidacy of a version. What its alerts were is not read any more, and nobody is told.
 *
 * @throws ServiceError `rules_version_not_found`
 */
export function endCandidacy(store: Store, version: number, by: By): Promise<ChangedRules> {
  return inPlatform(store, async (tx) => {
    await lockRules(tx)
    await readVersion(tx, version)
    const before = (await currentCandidacy(tx))?.version ?? null
    if (before !== version) return { version, changed: false }
    await change(tx, { version, ended: true, before }, by)
    return { version, changed: true }
  })
}

async function change(
  tx: PlatformTx,
  { version, ended, before }: { readonly version: number; readonly ended: boolean; readonly before: number | null },
  { author, reason }: By,
): Promise<void> {
  await insertCandidacy(tx, { version, ended, author, reason: reason ?? null })
  const after = { candidate: ended ? null : version, author, ...(reason === undefined ? {} : { reason }) }
  await noteChange(tx, { subject: 'rules', id: version, before: { candidate: before }, after })
}

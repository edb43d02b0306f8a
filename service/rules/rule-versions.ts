/** Versions of the rules: brought in without being put in force, put in force, and taken back. */
import { ServiceError } from '../../domain/errors.ts'
import type { ChangedRules } from '../../domain/rules/rule-change.ts'
import type { VersionDifferences } from '../../domain/rules/rule-difference.ts'
import type { RuleSource } from '../../domain/rules/rule-source.ts'
import { diffRules } from '../../rules/diff-rules.ts'
import { loadStoredRules } from '../../rules/load/load-rule-set.ts'
import type { Rule } from '../../rules/rule.ts'
import { noteChange } from '../../store/audit.ts'
import { inPlatform, type PlatformTx, type Store } from '../../store/tenancy.ts'
import {
  authored,
  earlierRuleVersions,
  type GivenBy,
  lockRules,
  type RuleSet,
  ruleSetOf,
  storeRuleSet,
} from './rows/rule-sets.ts'
import { checkTestedRules, putInForce, type ReadRules, type RulesChange, rejected } from './rules-in-force.ts'

/** Checks a set with its examples and tests, and stores it as a version not in force. @throws ServiceError `rules_rejected` */
export async function pushRules(store: Store, given: readonly RuleSource[], by: GivenBy): Promise<{ version: number }> {
  const { files } = await checkTestedRules(given)
  return inPlatform(store, async (tx) => {
    await lockRules(tx)
    const { author, reason } = await authored(tx, by)
    const { version, isNew } = await storeRuleSet(tx, files, { author, reason })
    if (isNew)
      await noteChange(tx, { subject: 'rules', id: version, before: null, after: { author, reason: reason ?? null } })
    return { version }
  })
}

/** Reads a version. @throws ServiceError `rules_version_not_found` */
export async function readVersion(tx: PlatformTx, version: number): Promise<RuleSet> {
  const set = await ruleSetOf(tx, version)
  if (set === undefined)
    throw new ServiceError('rules_version_not_found', `There is no version ${version} of the rules.`)
  return set
}

/** The rules of a stored version. @throws ServiceError `rules_version_not_found`, `rules_rejected` by this build */
export async function checkVersion(tx: PlatformTx, version: number): Promise<readonly Rule[]> {
  const { rules, faults } = await loadStoredRules((await readVersion(tx, version)).files)
  if (faults.length > 0) throw rejected(faults, `Version ${version} of the rules`)
  return rules
}

/** Puts a stored version in force. @throws ServiceError `rules_version_not_found`, `rules_moved`, `rules_rejected` */
export async function activateRuleVersion(store: Store, version: number, by: RulesChange): Promise<ChangedRules> {
  return inPlatform(store, async (tx) => {
    await lockRules(tx)
    return putInForce(tx, { version, rules: await checkVersion(tx, version) }, by)
  })
}

/**
 * Puts the version before the present one in force, or another, in the caller's transaction.
 *
 * @param to version; undefined: the one before
 * @throws ServiceError `no_earlier_rules`, and the errors of `activateRuleVersion`
 */
export async function rollBackRules(tx: PlatformTx, to: number | undefined, by: RulesChange): Promise<ChangedRules> {
  await lockRules(tx)
  const version = to ?? (await earlierRuleVersions(tx))[0]
  if (version === undefined) throw new ServiceError('no_earlier_rules', 'No other version was in force before.')
  return putInForce(tx, { version, rules: await checkVersion(tx, version) }, by)
}

/**
 * Compares the rules of a version with those of another, by meaning.
 *
 * @param given the other; undefined: the one in force, or for the one put in force last the one before it
 * @throws ServiceError `rules_version_not_found`, `rules_rejected` if this build refuses one of them
 */
export async function compareVersions(
  tx: PlatformTx,
  version: number,
  given: number | undefined,
  readRules: ReadRules,
): Promise<VersionDifferences> {
  const inForce = await readRules(tx)
  const rulesOf = async (one: number) => (one === inForce.version ? inForce.rules : checkVersion(tx, one))
  const rules = await rulesOf(version)
  const isActive = version === (inForce.refused?.version ?? inForce.version)
  const other = isActive ? (await earlierRuleVersions(tx))[0] : inForce.version
  const since = given ?? (other || null)
  return { version, since, changes: diffRules(since === null ? [] : await rulesOf(since), rules) }
}

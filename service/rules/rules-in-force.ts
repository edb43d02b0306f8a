/** The rule set in force. Each version is loaded once. */

import { ServiceError } from '../../domain/errors.ts'
import { withoutMark } from '../../domain/files/utf8.ts'
import { counted } from '../../domain/quantity.ts'
import type { ChangedRules } from '../../domain/rules/rule-change.ts'
import { isTestName, type RuleSource } from '../../domain/rules/rule-source.ts'
import { type CompiledSet, compileSet } from '../../rules/compile/compile-set.ts'
import { faultWords, type RuleFault } from '../../rules/load/faults.ts'
import { loadRuleSet, loadStoredRules } from '../../rules/load/load-rule-set.ts'
import type { Rule } from '../../rules/rule.ts'
import { faultsOfTests } from '../../rules/timeline/run-tests.ts'
import { noteChange } from '../../store/audit.ts'
import { insertOperatorNotices } from '../../store/operator-notices.ts'
import { insertSpread } from '../../store/rule-spreads.ts'
import { inPlatform, type PlatformTx, type Store, type TenantTx } from '../../store/tenancy.ts'
import { ruleChanges, shiftsOf } from './hear-of-rules.ts'
import {
  activeRuleVersion,
  authored,
  earlierRuleVersions,
  type GivenBy,
  insertActivation,
  lockRules,
  ruleSetOf,
  storeRuleSet,
} from './rows/rule-sets.ts'

export interface RulesInForce {
  /** 0 if no set was ever activated, or if this build accepts none. */
  readonly version: number
  readonly activatedAt: Date | null
  readonly rules: readonly Rule[]
  readonly compiled: CompiledSet
  /** The set that should be in force, if this build refuses it. Then the newest set that it accepts is in force. */
  readonly refused: RefusedRules | null
}

export interface RefusedRules {
  readonly version: number
  /** The first fault, and how many there are. */
  readonly reason: string
}

/** Reads which rules are in force, in a transaction of a tenant or of the platform. */
export type ReadRules = (tx: TenantTx | PlatformTx) => Promise<RulesInForce>

/** Whether a rule in force reads facts of usage. No rule of that name: no, for its alerts are withdrawn. */
export const readsUsage =
  (rules: ReadRules) =>
  async (tx: TenantTx, name: string): Promise<boolean> =>
    (await rules(tx)).rules.find((rule) => rule.name === name)?.readsUsage ?? false

type LoadedRules = Pick<RulesInForce, 'version' | 'activatedAt' | 'rules' | 'refused'>

export const compiledRules = (set: LoadedRules): RulesInForce => ({
  ...set,
  compiled: compileSet({ rules: set.rules }),
})

const NONE: LoadedRules = { version: 0, activatedAt: null, rules: [], refused: null }

/**
 * Keeps the set in force loaded. Reads its version each time, and the set itself only if the version has changed.
 * Create one for each database.
 *
 * Another build may activate a set that this build refuses. Then the newest set formerly in force and accepted by this
 * build stays in use. It does not depend on how long the process has run.
 */
export function rulesInForce(): ReadRules {
  let loaded = { active: 0, rules: compiledRules(NONE) }
  return async (tx) => {
    const active = await activeRuleVersion(tx)
    if (active !== undefined && active !== loaded.active)
      loaded = { active, rules: compiledRules(await newestAccepted(tx, active)) }
    return loaded.rules
  }
}

async function newestAccepted(tx: TenantTx | PlatformTx, active: number): Promise<LoadedRules> {
  let refused: RefusedRules | null = null
  for (const version of [active, ...(await earlierRuleVersions(tx))]) {
    const set = await ruleSetOf(tx, version)
    if (set === undefined) continue
    const { rules, faults } = await loadStoredRules(set.files)
    if (faults.length === 0) return { version, activatedAt: set.activatedAt, rules, refused }
    refused ??= { version, reason: reasonOf(faults) }
  }
  return { ...NONE, refused }
}

function reasonOf([first, ...others]: readonly RuleFault[]): string {
  const more = others.length === 0 ? '' : `; ${others.length} more`
  return first === undefined ? '' : `${first.file}#${first.pointer}: ${faultWords(first)}${more}`
}

/** States, in words, the version in force while a set is refused. */
export const inForceInstead = ({ version }: Pick<RulesInForce, 'version'>): string =>
  version > 0 ? `version ${version} stays in force` : 'no earlier version is accepted: nothing is evaluated'

/**
 * Notes for the operator that this build refuses the set in force: once for each version and build, for any number of
 * processes. Tenants are not informed: nothing changes for them.
 *
 * @param build version of the service
 * @returns the refused set, if this call noted it
 */
export function noteRefusedRules(store: Store, read: ReadRules, build: string): Promise<RefusedRules | undefined> {
  return inPlatform(store, async (tx) => {
    const inForce = await read(tx)
    const { refused } = inForce
    if (refused === null) return undefined
    const body = { kind: 'rulesRefused' as const, ...refused, build, instead: inForceInstead(inForce) }
    const fresh = await insertOperatorNotices(tx, [{ key: `rules-refused/${refused.version}/${build}`, body }])
    return fresh.size > 0 ? refused : undefined
  })
}

/** A change of the rules: its author, its reason, and the version before it. */
export interface RulesChange extends GivenBy {
  /** Version required to be in force before it; 0: none. Default: any. */
  readonly expect?: number | undefined
}

/** A set, checked on arrival. */
export interface CheckedRules {
  readonly rules: readonly Rule[]
  /** As they are stored: without byte order marks. */
  readonly files: readonly RuleSource[]
}

/**
 * Checks a set that comes in, with its examples, but does not run its tests.
 *
 * @throws ServiceError `rules_rejected` with every fault at once
 */
export async function checkRules(given: readonly RuleSource[]): Promise<CheckedRules> {
  const files = given.map((source) => ({ ...source, text: withoutMark(source.text) }))
  const { faults, rules } = await loadRuleSet(files)
  if (faults.length > 0) throw rejected(faults)
  return { rules, files }
}

/** Checks a set that is to be stored, and runs its tests. @throws ServiceError `rules_rejected` with every fault at once */
export async function checkTestedRules(given: readonly RuleSource[]): Promise<CheckedRules> {
  const checked = await checkRules(given)
  const tests = checked.files.filter(({ file }) => isTestName(file))
  const faults = await faultsOfTests(tests, checked.rules)
  if (faults.length > 0) throw rejected(faults)
  return checked
}

/** @param set in words, at the beginning of a sentence */
export function rejected(faults: readonly RuleFault[], set = 'The rule set'): ServiceError {
  const errors = faults.map((fault) => ({ pointer: `${fault.file}#${fault.pointer}`, detail: faultWords(fault) }))
  return new ServiceError('rules_rejected', `${set} has ${counted(faults.length, 'fault')}.`, { errors })
}

/**
 * Puts a version in force, in the caller's transaction, with the rules locked. It reaches the tenants by `hearOfRules`.
 *
 * @throws ServiceError `rules_moved` if another version is in force than the change expects
 */
export async function putInForce(
  tx: PlatformTx,
  { version, rules }: { readonly version: number; readonly rules: readonly Rule[] },
  { expect, ...given }: RulesChange,
): Promise<ChangedRules> {
  const inForce = await activeRuleVersion(tx)
  if (version === inForce) return { version, changed: false }
  if (expect !== undefined && expect !== (inForce ?? 0)) {
    const found = inForce === undefined ? 'no version' : `version ${inForce}`
    const words = `expect: got ${expect}, but ${found} is in force: somebody has changed the rules meanwhile.`
    throw new ServiceError('rules_moved', words)
  }
  const was = inForce === undefined ? [] : (await newestAccepted(tx, inForce)).rules
  const { author, reason } = await authored(tx, given)
  await insertActivation(tx, version, { author, reason })
  const before = inForce === undefined ? null : { version: inForce }
  const after = { version, author, ...(reason === undefined ? {} : { reason }) }
  await noteChange(tx, { subject: 'rules', id: version, before, after })
  const changes = ruleChanges(was, rules)
  const body = { kind: 'rulesChanged' as const, version, author, actor: tx.caller?.actor ?? null, ...changes }
  await insertOperatorNotices(tx, [{ key: `rules/${version}/${tx.now.toISOString()}`, body }])
  await insertSpread(tx, { version, shifts: shiftsOf(was, rules) })
  return { version, changed: true }
}

/**
 * Puts a rule set in force, all of it or nothing. Tenants take it up in separate transactions (`hearOfRules`), and the
 * operator gets a mail with its author. Does nothing if the set is in force already.
 *
 * @param isTested its tests need not be run
 * @throws ServiceError `rules_rejected` with every fault at once, `rules_moved`; the previous set stays in force
 */
export async function activateRules(
  store: Store,
  given: readonly RuleSource[],
  author: string | undefined,
  { reason, expect, isTested = false }: Omit<RulesChange, 'author'> & { readonly isTested?: boolean } = {},
): Promise<ChangedRules> {
  const { rules, files } = await (isTested ? checkRules(given) : checkTestedRules(given))
  return inPlatform(store, async (tx) => {
    await lockRules(tx)
    const by = await authored(tx, { author, reason })
    const { version } = await storeRuleSet(tx, files, by)
    return putInForce(tx, { version, rules }, { ...by, expect })
  })
}

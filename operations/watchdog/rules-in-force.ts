/** The rule set in force, loaded once a version. */

import { createHash } from 'node:crypto'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { RuleSource } from '../../domain/watchdog/rule-source.ts'
import type { RuleFault } from '../../rules/load/faults.ts'
import { loadRuleSet } from '../../rules/load/load.ts'
import type { Rule } from '../../rules/rule.ts'
import { noteChange } from '../../store/audit.ts'
import { markAllDue } from '../../store/due.ts'
import { insertPlatformEvent } from '../../store/events.ts'
import { inPlatform, inTenant, type PlatformTx, type Store, type TenantTx } from '../../store/tenancy.ts'
import { tenantIds } from '../../store/tenants/tenants.ts'
import {
  activateRuleSet,
  activeRuleVersion,
  earlierRuleVersions,
  noteRefused,
  ruleSetOf,
} from '../../store/watchdog/rule-sets.ts'
import { recordRulesEvents } from './rule-events.ts'

export interface RulesInForce {
  /** 0 where none was ever activated, or this build accepts none. */
  readonly version: number
  readonly activatedAt: Date | null
  readonly rules: readonly Rule[]
  /** The set that should be in force, where this build refuses it; the newest that it accepts is in force then. */
  readonly refused: RefusedRules | null
}

export interface RefusedRules {
  readonly version: number
  /** The first fault, and how many there are. */
  readonly reason: string
}

/** Asks for what is in force, in a transaction of a tenant or of the platform. */
export type ReadRules = (tx: TenantTx | PlatformTx) => Promise<RulesInForce>

const NONE: RulesInForce = { version: 0, activatedAt: null, rules: [], refused: null }

/**
 * Keeps the set in force loaded: asks for its version each time, and reads it anew only when that has changed.
 * One for each database.
 *
 * A set that another build has accepted and this one refuses changes nothing here: the newest set that this build
 * accepts, of those that were in force, goes on. Which one that is does not depend on how long the process has run.
 */
export function rulesInForce(): ReadRules {
  let loaded = { active: 0, rules: NONE }
  return async (tx) => {
    const active = await activeRuleVersion(tx)
    if (active !== undefined && active !== loaded.active) loaded = { active, rules: await newestAccepted(tx, active) }
    return loaded.rules
  }
}

async function newestAccepted(tx: TenantTx | PlatformTx, active: number): Promise<RulesInForce> {
  let refused: RefusedRules | null = null
  for (const version of [active, ...(await earlierRuleVersions(tx))]) {
    const set = await ruleSetOf(tx, version)
    if (set === undefined) continue
    const { rules, faults } = await loadRuleSet(set.files)
    if (faults.length === 0) return { version, activatedAt: set.activatedAt, rules, refused }
    refused ??= { version, reason: reasonOf(faults) }
  }
  return { ...NONE, refused }
}

function reasonOf([first, ...others]: readonly RuleFault[]): string {
  const more = others.length === 0 ? '' : `; ${others.length} more`
  return first === undefined ? '' : `${first.file}#${first.pointer}: ${wordsOf(first)}${more}`
}

const wordsOf = ({ got, expected, hint }: RuleFault): string =>
  `got ${got}, expected ${expected}${hint === undefined ? '' : ` (${hint})`}`

/** Whether there is something to decide by: else subjects stay due, so that nothing stands down for want of rules. */
export const canDecide = ({ version, refused }: RulesInForce): boolean => refused === null || version > 0

/** What goes on while a set is refused. */
export const inForceInstead = ({ version }: RulesInForce): string =>
  version > 0 ? `version ${version} stays in force` : 'no earlier version is accepted: nothing is evaluated'

/**
 * Tells all tenants that the set in force is refused here, once however many processes find it; the reason is the
 * operator's, and not in the event.
 *
 * @returns the set, where this call was the one that told
 */
export async function recordRefusedRules(store: Store, rules: ReadRules): Promise<RefusedRules | undefined> {
  return inPlatform(store, async (tx) => {
    const inForce = await rules(tx)
    const { refused, version } = inForce
    if (refused === null || !(await noteRefused(tx, refused.version))) return undefined
    await insertPlatformEvent(tx, {
      type: EventType.Platform,
      severity: EventSeverity.Critical,
      title: version > 0 ? `Watchdog rules kept: version ${version}` : 'Watchdog rules kept: none is evaluated',
      description: `This version of the service does not accept version ${refused.version} of the rules: ${inForceInstead(inForce)}.`,
    })
    return refused
  })
}

const hashOf = (files: readonly RuleSource[]): string => {
  const inOrder = files.toSorted((a, b) => (a.file < b.file ? -1 : 1)).map(({ file, text }) => [file, text])
  return createHash('sha256').update(JSON.stringify(inOrder)).digest('hex')
}

/**
 * Puts a rule set in force, the whole of it or nothing; every subject is evaluated anew, and every tenant for whom
 * something changes has an event. A set that is in force already stays as it is.
 *
 * @throws ServiceError `rules_rejected` with every fault at once; the set before stays
 */
export async function activateRules(
  store: Store,
  files: readonly RuleSource[],
  author: string,
): Promise<{ version: number; changed: boolean }> {
  const { faults, rules } = await loadRuleSet(files)
  if (faults.length > 0) {
    const lines = faults.map((fault) => ({ pointer: `${fault.file}#${fault.pointer}`, detail: wordsOf(fault) }))
    throw new ServiceError('rules_rejected', `The rule set has ${faults.length} fault(s).`, { errors: lines })
  }
  const outcome = await inPlatform(store, async (tx) => {
    const before = await activeRuleVersion(tx)
    const was = before === undefined ? NONE : await newestAccepted(tx, before)
    const activated = await activateRuleSet(tx, { hash: hashOf(files), files, author })
    const { version, changed } = activated
    if (changed) {
      const earlier = before === undefined ? null : { version: before }
      await noteChange(tx, { subject: 'rules', id: version, before: earlier, after: { version, author } })
    }
    return { ...activated, was: was.rules }
  })
  const { version, changed } = outcome
  if (!changed) return { version, changed }
  for (const tenantId of await inPlatform(store, tenantIds)) {
    await inTenant(store, tenantId, async (tx) => {
      await markAllDue(tx, tx.now)
      await recordRulesEvents(tx, version, outcome.was, rules)
    })
  }
  return { version, changed }
}

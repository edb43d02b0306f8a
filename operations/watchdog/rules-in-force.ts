/** The rule set in force. Each version is loaded once. */

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
  /** 0 if no set was ever activated, or if this build accepts none. */
  readonly version: number
  readonly activatedAt: Date | null
  readonly rules: readonly Rule[]
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

const NONE: RulesInForce = { version: 0, activatedAt: null, rules: [], refused: null }

/**
 * Keeps the set in force loaded. Reads its version each time, and the set itself only if the version has changed.
 * Create one for each database.
 *
 * Another build may activate a set that this build refuses. Then the newest set that was in force and that this build
 * accepts stays in use. Which set that is does not depend on how long the process has run.
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

/**
 * Whether there are rules to decide by. If the active set is refused and no earlier one is accepted, subjects stay due.
 * So enforcement does not stand down merely because rules are missing.
 */
export const canDecide = ({ version, refused }: RulesInForce): boolean => refused === null || version > 0

/** Says, in words, which version is in force while a set is refused. */
export const inForceInstead = ({ version }: RulesInForce): string =>
  version > 0 ? `version ${version} stays in force` : 'no earlier version is accepted: nothing is evaluated'

/**
 * Records an event for all tenants that this build refuses the set in force. Only one event is recorded, however many
 * processes find it. The event leaves out the reason, which is for the operator.
 *
 * @returns the refused set, if this call recorded the event
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
 * Puts a rule set in force, all of it or nothing. Marks every subject due, and records an event for each tenant that
 * the change affects. Does nothing if the set is in force already.
 *
 * @returns the version, and whether it was put in force now
 * @throws ServiceError `rules_rejected` with every fault at once; the previous set stays in force
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

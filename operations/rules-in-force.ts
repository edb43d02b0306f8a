/** The rule set in force, loaded once a version. */
import { createHash } from 'node:crypto'
import { EventSeverity, EventType } from '../domain/codes.ts'
import { ServiceError } from '../domain/errors.ts'
import { loadRuleSet, type RuleText } from '../rules/load.ts'
import type { Rule } from '../rules/rule.ts'
import { noteChange } from '../store/audit.ts'
import { markAllDue } from '../store/due.ts'
import { insertPlatformEvent } from '../store/events.ts'
import { activateRuleSet, activeRuleSet, activeRuleVersion } from '../store/rule-sets.ts'
import { type Ground, inPlatform, inTenant, type PlatformTx, type TenantTx } from '../store/tenancy.ts'
import { tenantIds } from '../store/tenants.ts'

export interface RulesInForce {
  /** 0 where none was ever activated. */
  readonly version: number
  readonly activatedAt: Date | null
  readonly rules: readonly Rule[]
}

const NONE: RulesInForce = { version: 0, activatedAt: null, rules: [] }

/**
 * Keeps the set in force loaded: asks for its version each time, and reads it anew only when that has changed.
 * One for each database.
 */
export function rulesInForce(): (tx: TenantTx | PlatformTx) => Promise<RulesInForce> {
  let loaded = NONE
  return async (tx) => {
    const version = await activeRuleVersion(tx)
    if (version === undefined || version === loaded.version) return loaded
    const set = await activeRuleSet(tx)
    if (set === undefined) return loaded
    const { rules } = await loadRuleSet(set.files)
    loaded = { version: set.version, activatedAt: set.activatedAt, rules }
    return loaded
  }
}

const hashOf = (files: readonly RuleText[]): string => {
  const inOrder = files.toSorted((a, b) => (a.file < b.file ? -1 : 1)).map(({ file, text }) => [file, text])
  return createHash('sha256').update(JSON.stringify(inOrder)).digest('hex')
}

/**
 * Puts a rule set in force, the whole of it or nothing; every subject is evaluated anew. A set that is in force
 * already stays as it is.
 *
 * @throws ServiceError `rules_rejected` with every fault at once; the set before stays, and an event says so
 */
export async function activateRules(
  ground: Ground,
  files: readonly RuleText[],
  author: string,
): Promise<{ version: number; changed: boolean }> {
  const { faults, rules } = await loadRuleSet(files)
  if (faults.length > 0) {
    const lines = faults.map(({ file, pointer, got, expected, hint }) => ({
      pointer: `${file}#${pointer}`,
      detail: `got ${got}, expected ${expected}${hint === undefined ? '' : ` (${hint})`}`,
    }))
    await tellPlatform(ground, 'Rule set rejected', `${faults.length} fault(s); the set before stays in force.`)
    throw new ServiceError('rules_rejected', `The rule set has ${faults.length} fault(s).`, { errors: lines })
  }
  const outcome = await inPlatform(ground, async (tx) => {
    const before = await activeRuleVersion(tx)
    const activated = await activateRuleSet(tx, { hash: hashOf(files), files, author })
    const { version, changed } = activated
    if (changed) {
      const was = before === undefined ? null : { version: before }
      await noteChange(tx, { subject: 'rules', id: version, before: was, after: { version, author } })
    }
    return activated
  })
  if (!outcome.changed) return outcome
  await tellPlatform(
    ground,
    'Rule set activated',
    `Version ${outcome.version} with ${rules.length} rule(s), by ${author}.`,
  )
  for (const tenantId of await inPlatform(ground, tenantIds)) {
    await inTenant(ground, tenantId, (tx) => markAllDue(tx, tx.now))
  }
  return outcome
}

const tellPlatform = (ground: Ground, title: string, description: string): Promise<void> =>
  inPlatform(ground, (tx) =>
    insertPlatformEvent(tx, { type: EventType.Platform, severity: EventSeverity.Info, title, description }),
  )

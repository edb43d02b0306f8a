import { EventSeverity, EventType, WatchdogMode } from '../../domain/codes.ts'
import { permitted } from '../../rules/alerts/permission.ts'
import { concernsTenant } from '../../rules/engine/match.ts'
import type { Rule } from '../../rules/rule.ts'
import { insertEvent } from '../../store/events.ts'
import type { TenantTx } from '../../store/tenancy.ts'

/** How many rules an event names at most: as many as a person will read. */
const NAMED = 20

/** The parts of a rule that affect a tenant. Its file and its explanation concern only its author. */
const meaningOf = ({ subject, match, conditions, clear, ladder, event }: Rule): string =>
  JSON.stringify({ subject, match, conditions, clear, ladder, event })

/** The rules that can log something for a tenant, by name. */
const noticed = (rules: readonly Rule[], tenantId: string): Map<string, string> =>
  new Map(
    rules
      .filter((rule) => concernsTenant(rule, tenantId) && permitted(rule.event.params.stage, WatchdogMode.Enforce).log)
      .map((rule) => [rule.name, meaningOf(rule)]),
  )

/** Names of the rules that differ between two sets, by their names and meanings. Pure. */
function differing(old: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>) {
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    changed: [...now].filter(([name, meaning]) => old.has(name) && old.get(name) !== meaning).map(([name]) => name),
    removed: [...old.keys()].filter((name) => !now.has(name)),
  }
}

/** What a new rule set changes for the installation: names of rules. Pure. */
export function ruleChanges(before: readonly Rule[], after: readonly Rule[]) {
  const meanings = (rules: readonly Rule[]) => new Map(rules.map((rule) => [rule.name, meaningOf(rule)]))
  return differing(meanings(before), meanings(after))
}

/** What a new rule set changes for a tenant, in words; undefined if nothing changes. Pure. */
function rulesChangedFor(tenantId: string, before: readonly Rule[], after: readonly Rule[]): string | undefined {
  const { added, changed, removed } = differing(noticed(before, tenantId), noticed(after, tenantId))
  const words = [
    ...added.map((name) => `${name} is new`),
    ...changed.map((name) => `${name} changed`),
    ...removed.map((name) => `${name} is gone`),
  ]
  if (words.length === 0) return undefined
  const more = words.length > NAMED ? `, and ${words.length - NAMED} more` : ''
  return `${words.slice(0, NAMED).join(', ')}${more}`
}

/**
 * Records an event of what a new rule set changes for a tenant; none if nothing changes. The event names nobody: the
 * audit trail says who loaded the set.
 */
export async function recordRulesEvents(
  tx: TenantTx,
  version: number,
  before: readonly Rule[],
  after: readonly Rule[],
): Promise<void> {
  const changed = rulesChangedFor(tx.tenantId, before, after)
  if (changed === undefined) return
  await insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Info,
    title: 'Watchdog rules changed',
    description: `Version ${version} of the rules is in force: ${changed}.`,
  })
}

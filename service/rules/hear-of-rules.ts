import { EventSeverity, EventType, WatchdogMode } from '../../domain/codes.ts'
import { permitted } from '../../rules/alerts/permission.ts'
import { fitsPattern } from '../../rules/engine/match.ts'
import type { Rule } from '../../rules/rule.ts'
import { insertEvent } from '../../store/events.ts'
import { type RuleShift, takeSpreads } from '../../store/rule-spreads.ts'
import { lookAtAll } from '../../store/shards.ts'
import type { TenantTx } from '../../store/tenancy.ts'

/** How many rules an event names at most: as many as a person will read. */
const NAMED = 20

/** The parts of a rule that affect a tenant. Its file and its explanation concern only its author. */
const meaningOf = ({ subject, match, conditions, clear, ladder, event }: Rule): string =>
  JSON.stringify({ subject, match, conditions, clear, ladder, event })

/** Names the rules that a new rule set adds, changes and removes in the installation. Pure. */
export function ruleChanges(before: readonly Rule[], after: readonly Rule[]) {
  const meanings = (rules: readonly Rule[]) => new Map(rules.map((rule) => [rule.name, meaningOf(rule)]))
  const [old, now] = [meanings(before), meanings(after)]
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    changed: [...now].filter(([name, meaning]) => old.has(name) && old.get(name) !== meaning).map(([name]) => name),
    removed: [...old.keys()].filter((name) => !now.has(name)),
  }
}

/** The rules that can log something, each with the tenants that it is for: a pattern of their ids. */
const logging = (rules: readonly Rule[]): Map<string, string> =>
  new Map(
    rules
      .filter(({ event }) => permitted(event.params.stage, WatchdogMode.Enforce).log)
      .map(({ name, match }) => [name, match.tenant ?? '*']),
  )

/** Finds the changed rules that tenants get events about. Pure. */
export function shiftsOf(before: readonly Rule[], after: readonly Rule[]): RuleShift[] {
  const { added, changed, removed } = ruleChanges(before, after)
  const [was, is] = [logging(before), logging(after)]
  return [...added, ...changed, ...removed]
    .map((name) => ({ name, was: was.get(name) ?? null, is: is.get(name) ?? null }))
    .filter((shift) => shift.was !== null || shift.is !== null)
}

/** Describes a change of the rules for a tenant, in words; undefined if nothing changes. Pure. */
function rulesChangedFor(tenantId: string, shifts: readonly RuleShift[]): string | undefined {
  const isFor = (pattern: string | null) => pattern !== null && fitsPattern(pattern, tenantId)
  const named = (before: boolean, after: boolean) =>
    shifts.filter(({ was, is }) => isFor(was) === before && isFor(is) === after).map(({ name }) => name)
  const words = [
    ...named(false, true).map((name) => `${name} is new`),
    ...named(true, true).map((name) => `${name} changed`),
    ...named(true, false).map((name) => `${name} is gone`),
  ]
  if (words.length === 0) return undefined
  const more = words.length > NAMED ? `, and ${words.length - NAMED} more` : ''
  return `${words.slice(0, NAMED).join(', ')}${more}`
}

/**
 * Takes the changes of the rules that the tenant has not taken yet, each once. Records an event for each change that
 * affects the tenant, and marks every subject due. Events contain no author: the audit trail has the author.
 */
export async function hearOfRules(tx: TenantTx): Promise<void> {
  const spreads = await takeSpreads(tx)
  if (spreads.length === 0) return
  for (const { version, shifts } of spreads) {
    const changed = rulesChangedFor(tx.tenantId, shifts)
    if (changed === undefined) continue
    await insertEvent(tx, {
      type: EventType.Platform,
      severity: EventSeverity.Info,
      title: 'Watchdog rules changed',
      description: `Version ${version} of the rules is in force: ${changed}.`,
    })
  }
  await lookAtAll(tx)
}

/** Detects an edited rule: a pending alert of an edited rule waits from the start. Pure. */
import type { Rule } from '../rule.ts'

const fingerprints = new WeakMap<Rule, string>()

/**
 * A short name for the parts of a rule that decide when it fires: its conditions, its `for`, its subjects and its
 * frequency. Texts, level, stage and actions are left out, and so are the other rules of the set. Two rules share a
 * name by chance once in 10^9.
 */
export function fingerprintOf(rule: Rule): string {
  const known = fingerprints.get(rule)
  if (known !== undefined) return known
  const { subject, match, conditions, for: lasting, event } = rule
  const { once, occurrence = null } = event.params
  const fingerprint = hashOf(JSON.stringify([subject, match, conditions, lasting, once, occurrence]))
  fingerprints.set(rule, fingerprint)
  return fingerprint
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5
  for (let n = 0; n < text.length; n += 1) hash = Math.imul(hash ^ text.charCodeAt(n), 0x01000193)
  return (hash >>> 0).toString(36)
}

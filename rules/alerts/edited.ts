/** Tells a rule that was edited from one that was not: what is pending for an edited rule waits anew. Pure. */
import type { Rule } from '../rule.ts'

const fingerprints = new WeakMap<Rule, string>()

/**
 * A short name for what decides when a rule fires: its conditions, its `for`, whom it is about and how often. Texts,
 * level, stage and actions are not in it, nor is any other rule of the set. Two rules share one by chance once in 10^9.
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

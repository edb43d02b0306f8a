import { describe, expect, test } from 'vitest'
import { WatchdogMode } from '../../../../domain/codes.ts'
import { decideAlert } from '../../../../rules/alerts/decide.ts'
import { permitted } from '../../../../rules/alerts/permission.ts'
import { type AlertState, isSame } from '../../../../rules/alerts/state.ts'
import { COMPARISONS } from '../../../../rules/compile/comparisons.ts'
import { compileRule } from '../../../../rules/compile/compile-rule.ts'
import { rowOf } from '../../../../rules/compile/row.ts'
import { verdictOn } from '../../../../rules/compile/verdict.ts'
import { evaluateSubject } from '../../../../rules/engine/evaluate.ts'
import { withFirstStep } from '../../../../rules/ladder.ts'
import type { Rule } from '../../../../rules/rule.ts'
import { STAGES } from '../../../../rules/rule-file.ts'
import { cases } from '../../../setup/cases.ts'
import { type Random, randomFrom, SEED } from '../../../setup/seed.ts'
import { aRule, NOVEMBER } from '../samples.ts'
import { aGroup, NAMES, someFacts } from './cases.ts'

const RULES = cases(2000)
const STEPS = 8
const subject = { kind: 'sim', id: 7 } as const
const LADDER = {
  fact: 'overageMB',
  steps: [
    { at: 1, level: 0 },
    { at: 2, level: 1 },
    { at: 5, level: 2 },
  ],
  every: 25,
} as const

/** The sample rule with other conditions, an end of its own, and other ways to fire. */
function someRule(sample: Rule, random: Random): Rule {
  const ladder = random.chance(0.4) ? LADDER : null
  const once = random.pick(
    ladder === null ? (['cycle', 'episode', 'occurrence'] as const) : (['cycle', 'episode'] as const),
  )
  const own = aGroup(random, 2)
  const { occurrence: _, ...params } = sample.event.params
  return {
    ...sample,
    subject: 'sim',
    conditions: ladder === null ? own : withFirstStep(random.chance(0.3) ? null : own, ladder),
    ladder,
    clear: random.chance(0.4) ? aGroup(random, 1) : null,
    for: random.chance(0.4) ? { ms: 2 } : { ms: 0 },
    keepFiring: random.chance(0.3) ? { ms: 2 } : { ms: 0 },
    readsUsage: random.chance(0.5),
    event: {
      ...sample.event,
      params: {
        ...params,
        once,
        ...(once === 'occurrence' ? { occurrence: random.pick(['imei', 'tag'] as const) } : {}),
      },
    },
  }
}

describe('verdictOn', () => {
  test('says which evaluations by the engine change something', { timeout: 0 }, async () => {
    const random = randomFrom(SEED)
    const sample = await aRule({})
    const seen = { unchanged: 0, changed: 0, unknown: 0 }
    for (let n = 0; n < RULES; n += 1) {
      const rule = someRule(sample, random)
      const compiled = compileRule(rule, COMPARISONS)
      let stored: AlertState | null = null
      for (let step = 0; step < STEPS; step += 1) {
        const now = NOVEMBER.startsAt + step
        const facts = someFacts(random)
        const [outcome] = await evaluateSubject([rule], facts)
        if (outcome === undefined) throw new Error('the engine answered with no outcome')
        const permission = permitted(random.pick(STAGES), random.pick([WatchdogMode.Monitor, WatchdogMode.Enforce]))
        const escalateAfterMs = random.pick([null, 2])
        const staleSince = random.chance(0.2) ? now - random.below(3) : null
        const quiet = random.chance(0.3)
          ? { reason: 'silenced' as const, silenceId: 1, until: now + random.pick([1, 3]) }
          : null
        const { next, entries, notices, nextCheckAt } = decideAlert({
          outcome,
          subject,
          cycle: NOVEMBER,
          permission,
          quiet,
          escalateAfterMs,
          staleSince,
          previous: stored,
          now,
        })
        const changes =
          entries.length + notices.length > 0 || (stored === null ? next.phase !== 'inactive' : !isSame(stored, next))
        const known = { subject, cycle: NOVEMBER, now, permission, quiet, escalateAfterMs, staleSince, stored }

        const { verdict, checkAt } = verdictOn(compiled, rowOf(facts), known)
        const missing = random.pick(NAMES)
        const rest = Object.fromEntries(Object.entries(facts).filter(([name]) => name !== missing))
        const { verdict: narrow } = verdictOn(compiled, rowOf(rest), known)

        const shown = JSON.stringify({ rule: rule.conditions, clear: rule.clear, facts, stored, next, missing })
        expect(verdict, shown).toBe(changes ? 'changed' : 'unchanged')
        if (verdict === 'unchanged') expect(checkAt, shown).toBe(nextCheckAt)
        expect([verdict, 'unknown'], shown).toContain(narrow)
        seen[narrow] += 1
        if (next.phase !== 'inactive' || stored !== null) stored = next
      }
    }
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RULES / 2)
  })
})

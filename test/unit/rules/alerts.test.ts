import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type AlertState, decideAlert, scopeOf, type Transition } from '../../../rules/alerts/alerts.ts'
import type { RuleOutcome } from '../../../rules/engine/evaluate.ts'
import type { Rule } from '../../../rules/rule.ts'
import { aRule, DECEMBER, leaf, NOVEMBER } from './samples.ts'

const NOON = Date.UTC(2026, 10, 20, 12)
const MINUTE = 60_000
const pool7 = { kind: 'pool', id: 7 } as const

type Said = Partial<Omit<RuleOutcome, 'rule'>>
/** Decides the alert for each outcome in turn, a minute apart. */
function play(
  rule: Rule,
  said: readonly Said[],
  { cycle = NOVEMBER, start = NOON, from = null as AlertState | null } = {},
) {
  let state = from
  const steps = said.map((each, n) => {
    const outcome: RuleOutcome = { rule, met: false, occurrence: null, explanation: [], ...each }
    const decision = decideAlert({ outcome, subject: pool7, cycle, previous: state, now: start + n * MINUTE })
    state = decision.next
    return decision
  })
  return {
    steps,
    phases: steps.map(({ next }) => next.phase),
    changes: steps.flatMap(({ transitions }) => transitions).map(({ kind, key }) => `${kind} ${key}`),
    state,
  }
}
const YES = { met: true }
const NO = { met: false }

let cycle: Rule
let episode: Rule
let occurrence: Rule
let held: Rule
beforeAll(async () => {
  const renewals = { conditions: { all: [leaf('totalSimCount', 'greaterThan', 5)] } }
  const examples = [
    { fires: true, facts: { totalSimCount: 6 } },
    { fires: false, facts: { totalSimCount: 5 } },
  ]
  cycle = await aRule({ name: 'warned' })
  episode = await aRule({ name: 'grown', ...renewals, examples }, { once: 'episode' })
  occurrence = await aRule(
    { name: 'named', ...renewals, examples },
    { once: 'occurrence', occurrence: 'poolName', resolve: 'none' },
  )
  held = await aRule({ name: 'held' }, { for: 'PT2M' })
})

describe('an alert with `once: cycle`', () => {
  test('has one transition of each kind a cycle', () => {
    const { phases, changes } = play(cycle, [NO, YES, YES, NO, YES, NO])

    expect(phases).toEqual(['inactive', 'firing', 'firing', 'resolved', 'firing', 'resolved'])
    expect(changes).toEqual(['fired warned/pool/7/2026-11', 'resolved warned/pool/7/2026-11'])
  })

  test('fires again in the next cycle', () => {
    const again = play(cycle, [YES], { cycle: DECEMBER, start: DECEMBER.startsAt })

    expect(scopeOf(cycle, '2026-11')).toBe('2026-11')
    expect(again.changes).toEqual(['fired warned/pool/7/2026-12'])
  })

  test('gives level, start and resolve in its transition', () => {
    const { steps } = play(held, [YES, YES, YES])

    expect(steps[2]?.transitions).toEqual([
      { kind: 'fired', key: 'held/pool/7/2026-11', level: 1, since: NOON, resolve: 'log' },
    ])
  })
})

describe('an alert with `once: episode`', () => {
  test('counts its episodes in the key', () => {
    expect(scopeOf(episode, '2026-11')).toBe('')
    expect(play(episode, [YES, NO, YES, NO]).changes).toEqual([
      'fired grown/pool/7/episode-1',
      'resolved grown/pool/7/episode-1',
      'fired grown/pool/7/episode-2',
      'resolved grown/pool/7/episode-2',
    ])
  })

  test('resolves only when its clear conditions are met', () => {
    const { phases } = play(episode, [
      { met: true, clear: false },
      { clear: false },
      { met: true, clear: true },
      { clear: true },
    ])

    expect(phases).toEqual(['firing', 'firing', 'firing', 'resolved'])
  })

  test('has the cycle in its key for cycle facts', async () => {
    const rule = await aRule({ name: 'both' }, { once: 'episode' })

    expect(play(rule, [YES]).changes).toEqual(['fired both/pool/7/2026-11/episode-1'])
  })
})

describe('an alert with `once: occurrence`', () => {
  test('fires once for each new occurrence', () => {
    const seen = ['a', 'a', 'b', 'a', 'b', 'c'].map((name) => ({ met: true, occurrence: name }))

    const { changes, phases } = play(occurrence, [...seen, NO])

    expect(changes).toEqual(['fired named/pool/7/a', 'fired named/pool/7/b', 'fired named/pool/7/c'])
    expect(phases.at(-1)).toBe('resolved')
  })

  test('does not fire for an unknown occurrence', () => {
    expect(play(occurrence, [{ met: true, occurrence: null }]).changes).toEqual([])
  })
})

describe('an alert with `for`', () => {
  test('fires after `for`, and says when to check', () => {
    const { phases, steps } = play(held, [YES, YES, YES])

    expect(phases).toEqual(['pending', 'pending', 'firing'])
    expect(steps.map(({ nextCheckAt }) => nextCheckAt)).toEqual([NOON + 2 * MINUTE, NOON + 2 * MINUTE, undefined])
  })

  test('starts over if it is not met meanwhile', () => {
    const { phases, changes } = play(held, [YES, NO, YES, YES, NO])

    expect(phases).toEqual(['pending', 'inactive', 'pending', 'pending', 'inactive'])
    expect(changes).toEqual([])
  })

  test('accepts a share of the cycle', async () => {
    const rule = await aRule({}, { for: '10%' })

    const { steps } = play(rule, [YES])

    expect(steps[0]?.nextCheckAt).toBe(NOON + 3 * 86_400_000)
  })
})

describe('an alert that cannot be evaluated', () => {
  test('keeps its state and enforces nothing', async () => {
    const rule = await aRule(
      {},
      { actions: ['log', 'suspend'], suspend: { target: 'all', until: 'renewal' }, stage: 'enforce' },
    )

    const { phases, steps, changes } = play(rule, [YES, { error: 'Undefined fact: x' }, YES, NO])

    expect(phases).toEqual(['firing', 'firing', 'firing', 'resolved'])
    expect(steps.map(({ next }) => next.error)).toEqual([null, 'Undefined fact: x', null, null])
    expect(steps.map(({ wantsSuspend }) => wantsSuspend)).toEqual([true, false, true, false])
    expect(changes).toHaveLength(2)
  })
})

describe('an alert with any history', () => {
  const outcomes = fc.array(
    fc.record({
      met: fc.boolean(),
      clear: fc.boolean(),
      occurrence: fc.constantFrom(null, 'a', 'b', 'c'),
      error: fc.option(fc.constant('no'), { nil: undefined, freq: 10 }),
    }),
    { maxLength: 40 },
  )
  const histories = outcomes.map((all) =>
    all.map(({ error, ...rest }) => (error === undefined ? rest : { ...rest, error })),
  )
  const which = fc.constantFrom('cycle', 'episode', 'occurrence', 'held')

  test('repeats no transition, and resolves only what fired', () => {
    fc.assert(
      fc.property(which, histories, (name, history) => {
        const rule = { cycle, episode, occurrence, held }[name]

        const { changes } = play(rule, history)

        expect(new Set(changes).size).toBe(changes.length)
        const ends = changes.filter((line) => line.startsWith('resolved'))
        for (const end of ends)
          expect(changes.indexOf(end.replace('resolved', 'fired'))).toBeLessThan(changes.indexOf(end))
        for (const end of ends) expect(changes).toContain(end.replace('resolved', 'fired'))
      }),
      { numRuns: 500 },
    )
  })

  test('goes on the same from state in JSON', () => {
    fc.assert(
      fc.property(which, histories, (name, history) => {
        const rule = { cycle, episode, occurrence, held }[name]
        const half = Math.floor(history.length / 2)
        const first = play(rule, history.slice(0, half))

        const resumed: AlertState | null = first.state === null ? null : JSON.parse(JSON.stringify(first.state))
        const rest = play(rule, history.slice(half), { from: resumed, start: NOON + half * MINUTE })

        expect([...first.changes, ...rest.changes]).toEqual(play(rule, history).changes)
      }),
    )
  })

  test('gives its rule’s level to every transition', () => {
    const levels = play(cycle, [YES, NO]).steps.flatMap(({ transitions }): Transition['level'][] =>
      transitions.map((t) => t.level),
    )

    expect(levels).toEqual([1, 1])
  })
})

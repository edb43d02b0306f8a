import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { WatchdogMode } from '../../../domain/codes.ts'
import { type AlertState, scopeOf } from '../../../rules/alerts/alert-state.ts'
import { decideAlert, withdrawAlert } from '../../../rules/alerts/decide-alert.ts'
import { type Permission, permitted } from '../../../rules/alerts/permission.ts'
import type { Quiet } from '../../../rules/alerts/quiet.ts'
import type { Telling } from '../../../rules/alerts/telling.ts'
import type { RuleOutcome } from '../../../rules/engine/evaluate-subject.ts'
import type { Rule } from '../../../rules/rule.ts'
import type { Stage } from '../../../rules/rule-file.ts'
import { cases } from '../../setup/cases.ts'
import { aQuestion, aRule, DECEMBER, examplesOf, leaf, NOON, NOVEMBER, suspending } from './samples.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const allowed = (stage: Stage) => permitted(stage, WatchdogMode.Enforce)
const [DO, SHADOW, LOG] = [allowed('enforce'), allowed('shadow'), allowed('log')]

type Said = Partial<Omit<RuleOutcome, 'rule'>> & {
  readonly permission?: Permission
  readonly quiet?: Quiet | null
  readonly staleSince?: number | null
}
const changesOf = (tellings: readonly Telling[]) =>
  tellings.map(({ kind, key }) => `${kind} ${key.slice(0, -kind.length - 1)}`)
/** Decides the alert for each outcome in turn. */
function play(
  rule: Rule,
  said: readonly Said[],
  {
    cycle = NOVEMBER,
    start = NOON,
    from = null as AlertState | null,
    escalateAfterMs = null as number | null,
    every = MINUTE,
  } = {},
) {
  let state = from
  const steps = said.map((each, n) => {
    const { permission = DO, quiet = null, staleSince = null, ...found } = each
    const asked = { cycle, permission, quiet, escalateAfterMs, staleSince, previous: state, now: start + n * every }
    const decision = decideAlert(aQuestion({ rule, ...found }, asked))
    state = decision.next
    return decision
  })
  return {
    steps,
    phases: steps.map(({ next }) => next.phase),
    changes: changesOf(steps.flatMap(({ entries }) => entries)),
    mails: changesOf(steps.flatMap(({ notices }) => notices)),
    state,
  }
}
const YES = { met: true }
const NO = { met: false }

let cycle: Rule
let episode: Rule
let occurrence: Rule
let held: Rule
let mailed: Rule
beforeAll(async () => {
  const large = {
    conditions: { all: [leaf('totalSimCount', 'greaterThan', 5)] },
    examples: examplesOf({ totalSimCount: 6 }, { totalSimCount: 5 }),
  }
  cycle = await aRule({ name: 'warned' })
  episode = await aRule({ name: 'grown', ...large }, { once: 'episode' })
  occurrence = await aRule({ name: 'named', ...large }, { once: 'occurrence', occurrence: 'poolName', resolve: 'none' })
  held = await aRule({ name: 'held' }, { for: 'PT2M' })
  mailed = await aRule({ name: 'mailed' }, { actions: ['log', 'email'], resolve: 'email' })
})

describe('an alert with `once: cycle`', () => {
  test('is told once while it fires', () => {
    const { phases, changes } = play(cycle, [NO, YES, YES, NO])

    expect(phases).toEqual(['inactive', 'firing', 'firing', 'resolved'])
    expect(changes).toEqual(['fired warned/pool/7/2026-11', 'resolved warned/pool/7/2026-11'])
  })

  test('is told again when it fires after its conditions have ended', () => {
    const { steps, changes } = play(cycle, [YES, NO, YES, YES, NO, YES], { every: DAY })

    expect(changes).toEqual([
      'fired warned/pool/7/2026-11',
      'resolved warned/pool/7/2026-11',
      'fired warned/pool/7/2026-11/again-2',
      'resolved warned/pool/7/2026-11/again-2',
      'fired warned/pool/7/2026-11/again-3',
    ])
    expect(steps.flatMap(({ entries }) => entries.map(({ times }) => times))).toEqual([1, 1, 2, 2, 3])
  })

  test('is told once a cycle if its end is not told', async () => {
    const rule = await aRule({ name: 'once' }, { resolve: 'none' })

    expect(play(rule, [YES, NO, YES, NO]).changes).toEqual(['fired once/pool/7/2026-11'])
  })

  test('fires again in the next cycle', () => {
    const again = play(cycle, [YES], { cycle: DECEMBER, start: DECEMBER.startsAt })

    expect(scopeOf(cycle, '2026-11')).toBe('2026-11')
    expect(again.changes).toEqual(['fired warned/pool/7/2026-12'])
  })

  test('says since when its conditions have been met', () => {
    expect(play(held, [YES, YES, YES]).steps[2]?.entries).toEqual([
      { kind: 'fired', key: 'held/pool/7/2026-11/fired', since: NOON, times: 1 },
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

  test.each([
    ['conditions', { conditions: { any: [leaf('usagePct', 'greaterThanInclusive', 80)] } }, {}],
    ['its `for`', {}, { for: 'PT3M' }],
    ['whom it is about', { match: { pool: 'm*' } }, {}],
  ])('waits anew when its rule is edited: %s', async (_what, changes, params) => {
    const before = await aRule({}, { for: 'PT2M' })
    const after = await aRule(changes, { for: 'PT2M', ...params })
    const { state: from, phases } = play(before, [YES, YES])
    const edited = play(after, [YES, YES, YES, YES], { from, start: NOON + 2 * MINUTE })

    expect([...phases, ...edited.phases.slice(0, 2)]).toEqual(Array(4).fill('pending'))
    expect(edited.phases[3]).toBe('firing')
    expect(edited.steps.flatMap(({ entries }) => entries)).toMatchObject([{ since: NOON + 2 * MINUTE }])
  })

  test('waits on when only texts, stage or level of its rule are edited', async () => {
    const before = await aRule({}, { for: 'PT2M' })
    const after = await aRule(
      { description: 'Another text.' },
      { for: 'PT2M', message: 'Pool {{poolName}}', stage: 'log', level: 'Critical' },
    )
    const from = play(before, [YES, YES]).state

    expect(play(after, [YES], { from, start: NOON + 2 * MINUTE }).phases).toEqual(['firing'])
  })

  test('accepts a share of the cycle', async () => {
    expect(play(await aRule({}, { for: '10%' }), [YES]).steps[0]?.nextCheckAt).toBe(NOON + 3 * DAY)
  })
})

describe('an alert whose clock is set back', () => {
  test('goes on from its own time', () => {
    const from = play(cycle, [YES]).state
    const { steps } = play(cycle, [NO, YES], { from, start: NOON - HOUR })

    expect(steps.map(({ next }) => [next.phase, next.since])).toEqual([
      ['resolved', NOON],
      ['firing', NOON],
    ])
  })
})

describe('an alert that cannot be evaluated', () => {
  test('keeps its state, and what enforcement does', async () => {
    const rule = await aRule({}, { ...suspending('all', 'renewal'), stage: 'enforce' })

    const { phases, steps, changes } = play(rule, [YES, { error: 'Undefined fact: x' }, YES, NO])

    expect(phases).toEqual(['firing', 'firing', 'firing', 'resolved'])
    expect(steps.map(({ next }) => next.error)).toEqual([null, 'Undefined fact: x', null, null])
    expect(steps.map(({ wish }) => wish)).toEqual(['over', 'keep', 'over', 'clear'])
    expect(changes).toHaveLength(2)
  })

  test('has its `for` stand still', () => {
    const failed = { error: 'Undefined fact: x' }

    expect(play(held, [YES, failed, failed, YES, YES]).phases).toEqual([...Array(4).fill('pending'), 'firing'])
  })
})

describe('an alert of a rule that reads usage, while the feed is stale', () => {
  const stale = { staleSince: NOON + MINUTE }

  test('neither fires nor ends, nor asks for anything', () => {
    const [begins, goesOn] = [play(mailed, [NO, { met: true, ...stale }]), play(cycle, [YES, { met: false, ...stale }])]

    expect([begins.phases, begins.changes]).toEqual([['inactive', 'inactive'], []])
    expect([goesOn.phases, goesOn.changes]).toEqual([['firing', 'firing'], ['fired warned/pool/7/2026-11']])
    expect(goesOn.steps[1]).toMatchObject({ wish: 'keep', reasons: ['told', 'nodata'] })
  })

  test('goes on when usage is received: its `for` has stood still', () => {
    const still = { met: true, ...stale }
    const { phases, steps } = play(held, [YES, still, still, still, YES, YES])

    expect(phases).toEqual([...Array(5).fill('pending'), 'firing'])
    expect(steps.map(({ nextCheckAt }) => nextCheckAt !== undefined)).toEqual([true, false, false, false, true, false])
    expect(steps[5]?.entries).toMatchObject([{ since: NOON }])
  })

  test('tells what it fired on, and waits with it where it is so no longer', () => {
    const quiet: Quiet = { reason: 'silenced', silenceId: 1, until: NOON + 2 * MINUTE }
    const silenced = { ...YES, quiet }
    const { mails } = play(mailed, [silenced, silenced, { ...YES, ...stale }])
    const waits = play(mailed, [silenced, silenced, { ...NO, ...stale }, { ...NO, ...stale }, YES])

    expect([mails, waits.mails]).toEqual([['fired mailed/pool/7/2026-11'], ['fired mailed/pool/7/2026-11']])
    expect(waits.steps[3]?.notices).toEqual([])
  })

  test('is decided as ever where its rule reads none', () => {
    const said = [true, false].map((met) => ({ met, ...stale }))

    expect(play(episode, said).phases).toEqual(['firing', 'resolved'])
  })
})

describe('an alert of a cycle that has ended', () => {
  test('is told, and asks for nothing', async () => {
    const rule = await aRule({}, { ...suspending('all', 'renewal'), stage: 'enforce' })

    const { steps, changes } = play(rule, [YES, NO], { start: NOVEMBER.endsAt })

    expect(steps.map(({ wish }) => wish)).toEqual(['keep', 'keep'])
    expect(changes).toEqual(['fired some-rule/pool/7/2026-11', 'resolved some-rule/pool/7/2026-11'])
  })
})

describe('an alert with any history', () => {
  const outcomes = fc.array(
    fc.record({
      met: fc.boolean(),
      clear: fc.boolean(),
      occurrence: fc.constantFrom(null, 'a', 'b', 'c'),
      error: fc.option(fc.constant('no'), { nil: undefined, freq: 10 }),
      permission: fc.constantFrom(DO, DO, SHADOW, LOG),
    }),
    { maxLength: 40 },
  )
  const histories = outcomes.map((all) =>
    all.map(({ error, ...rest }) => (error === undefined ? rest : { ...rest, error })),
  )
  const which = fc.constantFrom('cycle', 'episode', 'occurrence', 'held')

  test('repeats no telling, and tells the end only of what was told', () => {
    fc.assert(
      fc.property(which, histories, (name, history) => {
        const rule = { cycle, episode, occurrence, held }[name]

        const { changes, mails } = play(rule, history)

        for (const channel of [changes, mails]) {
          expect(new Set(channel).size).toBe(channel.length)
          for (const end of channel.filter((line) => line.startsWith('resolved'))) {
            const fired = channel.indexOf(end.replace('resolved', 'fired'))
            expect(fired).toBeGreaterThanOrEqual(0)
            expect(fired).toBeLessThan(channel.indexOf(end))
          }
        }
      }),
      { numRuns: cases(500) },
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
})

describe('an alert of a rule that may do more than before', () => {
  test('is told on each channel when the rule first may, once', () => {
    const said = [SHADOW, LOG, LOG, DO, DO].map((permission) => ({ ...YES, permission }))
    const { steps } = play(mailed, said)

    expect(steps.map(({ entries, notices }) => [entries.length, notices.length])).toEqual([
      [0, 0],
      [1, 0],
      [0, 0],
      [0, 1],
      [0, 0],
    ])
    expect(steps.map(({ reasons }) => reasons)).toEqual([['told', 'stage'], ['stage'], ['told', 'stage'], [], ['told']])
    expect(steps[3]?.notices[0]).toMatchObject({ kind: 'fired', since: NOON })
  })

  test('does not tell the end of what was not told', () => {
    const { changes, mails } = play(mailed, [{ ...YES, permission: LOG }, NO])

    expect(changes).toEqual(['fired mailed/pool/7/2026-11', 'resolved mailed/pool/7/2026-11'])
    expect(mails).toEqual([])
  })
})

describe('an alert with `keepFiring`', () => {
  test('recovers before it resolves, and fires on if its conditions come back', async () => {
    const rule = await aRule({ name: 'kept' }, { keepFiring: 'PT2M' })
    const { phases, changes, steps } = play(rule, [YES, NO, YES, NO, NO, NO])

    expect(phases).toEqual(['firing', 'recovering', 'firing', 'recovering', 'recovering', 'resolved'])
    expect(changes).toEqual(['fired kept/pool/7/2026-11', 'resolved kept/pool/7/2026-11'])
    expect(steps[3]?.nextCheckAt).toBe(NOON + 5 * MINUTE)
  })

  test('leaves suspensions as they are while it recovers', async () => {
    const rule = await aRule({}, { keepFiring: '50%', ...suspending('all', 'renewal'), stage: 'enforce' })

    expect(play(rule, [YES, NO, NO]).steps.map(({ wish }) => wish)).toEqual(['over', 'keep', 'keep'])
  })
})

describe('an alert that another inhibits', () => {
  const INHIBITED: Quiet = { reason: 'inhibited', by: 'other' }

  test('is logged and not mailed, and mailed once nothing inhibits it', () => {
    const quiet = { ...YES, quiet: INHIBITED }
    const { changes, mails, steps } = play(mailed, [quiet, quiet, YES, YES])

    expect(changes).toEqual(['fired mailed/pool/7/2026-11'])
    expect(mails).toEqual(['fired mailed/pool/7/2026-11'])
    expect(steps.map(({ next }) => next.withheld)).toEqual([['inhibited'], ['inhibited'], undefined, undefined])
  })

  test('takes back its notice that waits', () => {
    const { steps } = play(mailed, [YES, { ...YES, quiet: INHIBITED }, { ...YES, quiet: INHIBITED }])

    expect(steps.map(({ takeBack }) => takeBack?.fired[0]?.key ?? null)).toEqual([
      null,
      'mailed/pool/7/2026-11/fired',
      null,
    ])
  })

  test('has its end mailed where its beginning was', () => {
    expect(play(mailed, [YES, { ...NO, quiet: INHIBITED }]).mails).toEqual([
      'fired mailed/pool/7/2026-11',
      'resolved mailed/pool/7/2026-11',
    ])
  })
})

describe('an alert that nobody acknowledges', () => {
  const critical = () => aRule({ name: 'grave' }, { level: 'Critical', actions: ['log', 'email'] })
  const kinds = (lines: readonly string[]) => lines.map((line) => line.split(' ')[0])

  test('is escalated once, if it is Critical', async () => {
    const { mails, steps } = play(await critical(), [YES, YES, YES, YES], { escalateAfterMs: 2 * MINUTE })

    expect(kinds(mails)).toEqual(['fired', 'escalated'])
    expect(steps[0]?.nextCheckAt).toBe(NOON + 2 * MINUTE)
    expect(kinds(play(mailed, [YES, YES, YES], { escalateAfterMs: MINUTE }).mails)).toEqual(['fired'])
  })

  test('is not once somebody has, until it ends and fires again', async () => {
    const rule = await critical()
    const { state } = play(rule, [YES], { escalateAfterMs: MINUTE })
    if (state === null) throw new Error('there is no alert')
    const from: AlertState = { ...state, acknowledged: { at: NOON, by: 'key:1' } }
    const options = { escalateAfterMs: MINUTE, start: NOON + MINUTE, from }

    expect(play(rule, [YES, YES], options).mails).toEqual([])
    expect(kinds(play(rule, [NO, YES, YES], options).mails)).toEqual(['fired', 'escalated'])
  })
})

describe('an alert whose rule no longer covers its subject', () => {
  const withdrawn = (rule: Rule, previous: AlertState | null, now: number) => {
    if (previous === null) throw new Error('there is no alert')
    const { subject } = aQuestion({ rule })
    const name = { rule: rule.name, subject, scope: scopeOf(rule, NOVEMBER.key) }
    return withdrawAlert({ name, previous, now })
  }

  test('ends, is logged as withdrawn, and stands enforcement down', () => {
    const { state } = play(mailed, [YES])

    const decision = withdrawn(mailed, state, NOON + MINUTE)

    expect(decision).toMatchObject({
      next: { phase: 'resolved' },
      notices: [],
      wish: 'standDown',
      reasons: ['withdrawn'],
    })
    expect(changesOf(decision.entries)).toEqual(['withdrawn mailed/pool/7/2026-11'])
  })

  test.each(['cycle', 'episode'] as const)(
    'goes on untold when the rule covers the subject again (once: %s)',
    (once) => {
      const rule = { cycle: mailed, episode }[once]
      const { next } = withdrawn(rule, play(rule, [YES]).state, NOON + MINUTE)

      const { changes, mails, steps } = play(rule, [YES, NO, YES], { from: next, start: NOON + 2 * MINUTE })

      expect(steps[0]).toMatchObject({ entries: [], notices: [] })
      expect(changes.map((line) => line.split(' ')[0])).toEqual(['resolved', 'fired'])
      expect(new Set([...changes, ...mails]).size).toBeGreaterThan(1)
    },
  )

  test('is not logged if the log knows nothing of it', () => {
    const { state } = play(mailed, [{ ...YES, permission: SHADOW }])

    expect(withdrawn(mailed, state, NOON + MINUTE).entries).toEqual([])
  })
})

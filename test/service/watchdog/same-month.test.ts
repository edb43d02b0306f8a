/** The same month in Enforce, Monitor and shadow: what is decided is the same, whatever may be done about it. */

import { describe, expect, test } from 'vitest'
import { WatchdogMode } from '../../../domain/codes.ts'
import { randomFrom } from '../../setup/seed.ts'

import { asShipped, aWorld, inStage, only } from './alert-world.ts'

const HOUR = 3_600_000
const NAMES = ['sim-overage', 'sim-usage-warning', 'pool-usage-warning'] as const
const SEEDS = [1, 2, 3]
const STEPS = 30

const rulesIn = (stage: string | null) =>
  only(Object.fromEntries(NAMES.map((name) => [name, stage === null ? asShipped : inStage(stage)])))

/** Lives through some weeks of usage, gaps and corrections, the same for the same seed. */
async function lived(seed: number, mode: WatchdogMode, stage: string | null = null) {
  const world = await aWorld({ rules: rulesIn(stage), mode, sims: 3 })
  const random = randomFrom(seed)
  const used = new Map<number, number>()
  for (let step = 0; step < STEPS; step += 1) {
    const sim = random.pick(world.sims)
    const soFar = used.get(sim) ?? 0
    const megabytes = soFar >= 30 && random.chance(0.3) ? -random.pick([10, 30]) : random.pick([5, 20, 40])
    used.set(sim, soFar + megabytes)
    world.store.now += random.pick([0, 1, 7]) * HOUR
    await world.use(sim, megabytes)
  }
  await world.evaluate()
  const alerts = await world.alerts()
  const ofSim = (key: string) => key.replace(/\/wouldSuspend.*/, '')
  const log = await world.log()
  return {
    states: alerts.map(({ rule, scope, state: { phase, since, began } }) => [rule, scope, phase, since, began]),
    entries: log.map(({ key }) => key).filter((key) => !key.includes('/wouldSuspend')),
    would: [...new Set(log.filter(({ key }) => key.includes('/wouldSuspend')).map(({ key }) => ofSim(key)))].toSorted(),
    notices: (await world.notices()).map(({ key }) => key),
    wished: log
      .filter(({ key }) => /^sim-overage.*fired$/.test(key))
      .map(({ key }) => key.split('/').slice(0, 4).join('/')),
    signals: await world.signals(),
    withheld: alerts.flatMap(({ state }) => state.withheld ?? []),
  }
}

describe.each(SEEDS)('a month (seed %i)', (seed) => {
  test('is decided, logged and mailed the same in Enforce and in Monitor; who would have been suspended is logged', async () => {
    const enforce = await lived(seed, WatchdogMode.Enforce)
    const monitor = await lived(seed, WatchdogMode.Monitor)

    expect(monitor.states).toEqual(enforce.states)
    expect(monitor.entries).toEqual(enforce.entries)
    expect(monitor.notices).toEqual(enforce.notices)
    expect(enforce.entries.length).toBeGreaterThan(5)
    expect(enforce.signals).toContain('overLimit')
    expect(monitor.signals).toEqual([])
    expect(monitor.would).toEqual([...new Set(enforce.wished)].toSorted())
    expect(enforce.would).toEqual([])
    expect(new Set(monitor.withheld.filter((why) => why !== 'inhibited'))).toEqual(
      new Set([
        ...enforce.withheld.filter((why) => why !== 'inhibited'),
        ...(monitor.withheld.includes('mode') ? ['mode'] : []),
      ]),
    )
  })

  test('moves through the same phases in shadow, and tells nobody', async () => {
    const enforce = await lived(seed, WatchdogMode.Enforce)
    const shadow = await lived(seed, WatchdogMode.Enforce, 'shadow')
    const fires = (states: typeof shadow.states) => states.filter(([, , phase]) => phase === 'firing')

    expect(fires(shadow.states)).toEqual(fires(enforce.states))
    expect([shadow.entries, shadow.notices, shadow.signals, shadow.would]).toEqual([[], [], [], []])
  })
})

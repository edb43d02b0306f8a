/** A rule with a ladder: what its steps write, and when. */
import { describe, expect, test } from 'vitest'
import { MB } from '../../../domain/units.ts'
import { lookAt } from '../../../service/watchdog/look-at.ts'
import { aWorld, climbing, only } from './alert-world.ts'

const part = (key: string) => key.slice('sim-usage-warning/sim/2026-11/'.length)

describe('a rule with a ladder', () => {
  test('logs each step once, with its level and message', async () => {
    const world = await aWorld({ rules: only({ 'sim-usage-warning': climbing }) })
    for (const mb of [55, 1, 30, 60]) await world.use(world.sim, mb)

    expect((await world.logged()).map(part)).toEqual(['fired', 'at-80/fired', 'at-125/fired'])
    expect((await world.notices()).map(({ level, message }) => [level, message.replace(/^SIM \S+ /, '')])).toEqual([
      [2, 'has passed 125 %: 146 of 100 MB.'],
    ])
    expect(await world.alerts()).toMatchObject([{ firing: true, state: { step: 125, part: '/at-125' } }])
  })

  test('is silenced by the level of its step', async () => {
    const world = await aWorld({ rules: only({ 'sim-usage-warning': climbing }) })
    await world.silence({ level: 0 }, 'cycle')
    await world.use(world.sim, 55)
    const before = await world.mailed()
    await world.use(world.sim, 30)

    expect([before, (await world.mailed()).map(part)]).toEqual([[], ['at-80/fired']])
  })

  test('wants no evaluation between its steps', async () => {
    const world = await aWorld({ rules: only({ 'sim-usage-warning': climbing }) })
    const looked = async (megabytes: number) => {
      const bytesDown = Math.round(megabytes * MB)
      await world.record([world.usage(world.sim, { bytesDown })])
      world.store.now += 60_000
      const { suspects } = await world.asTenant((tx) => lookAt(tx, [{ kind: 'sim', id: world.sim }], world.options))
      await world.evaluate()
      return suspects.length
    }

    expect([await looked(40), await looked(15), await looked(10), await looked(20)]).toEqual([0, 1, 0, 1])
  })
})

/** Which changes of device are told: each, also those that came and went in one delivery. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { asShipped, aWorld, only, withParams } from './alert-world.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
const RULES = only({ 'sim-imei-change': asShipped })
const [A, B, C] = ['356938035643809', '490154203237518', '353918058246342']

async function aDevicesWorld(rules = RULES, sims = 1) {
  const world = await aWorld({ rules, sims })
  const seen = (imei: string | undefined, minutesAgo: number, simId = world.sim) =>
    world.usage(simId, { at: new Date(world.store.now - minutesAgo * MINUTE).toISOString(), imei })
  return {
    ...world,
    seen,
    /** Records devices of the SIM, a minute apart, in one chunk. */
    chunk: async (...imeis: readonly (string | undefined)[]) => {
      world.store.now += HOUR
      const { accepted } = await world.record(imeis.map((imei, i) => seen(imei, imeis.length - i)))
      if (accepted !== imeis.length) throw new Error('records were not accepted')
    },
    changes: () => world.rows(sql<{ n: number; imei: string }>`select n, imei from device_changes order by sim_id, n`),
    told: async () =>
      (await world.log()).map(({ key, message }) => [key.split('/').at(-2), /IMEI (\d+)/.exec(message)?.[1]]),
  }
}

describe('a change of device', () => {
  test('is told of each device that came and went in a chunk', async () => {
    const world = await aDevicesWorld()
    await world.chunk(A)
    await world.evaluate()
    await world.chunk(A, B, undefined, A)
    await world.evaluate()
    await world.evaluate()

    expect(await world.changes()).toEqual([
      { n: 1, imei: B },
      { n: 2, imei: A },
    ])
    expect(await world.told()).toEqual([
      ['1', B],
      ['2', A],
    ])
    expect((await world.notices()).map(({ message }) => /IMEI (\d+)/.exec(message)?.[1])).toEqual([B, A])
  })

  test('is told of each device over several chunks, evaluated late', async () => {
    const world = await aDevicesWorld()
    await world.chunk(A)
    await world.chunk(B)
    await world.evaluate()
    await world.chunk(C)
    await world.chunk(A, B)
    await world.evaluate()

    expect(await world.told()).toEqual([
      ['1', B],
      ['2', C],
      ['3', A],
      ['4', B],
    ])
  })

  test('follows the time of records, and leaves out what is older than is known', async () => {
    const world = await aDevicesWorld()
    await world.chunk(A)
    world.store.now += HOUR
    await world.record([world.seen(A, 1), world.seen(B, 3), world.seen(A, 5)])
    await world.record([world.seen(C, 2)])
    await world.evaluate()

    expect(await world.changes()).toEqual([
      { n: 1, imei: B },
      { n: 2, imei: A },
    ])
  })

  test('is none where a SIM is first seen, or seen again in the same device', async () => {
    const world = await aDevicesWorld()
    await world.chunk(A)
    await world.chunk(A, undefined, A)
    await world.evaluate()

    expect(await world.changes()).toEqual([])
    expect(await world.told()).toEqual([])
  })

  test('counts all of a chunk, and keeps the latest', async () => {
    const world = await aDevicesWorld()
    await world.chunk(A, ...Array.from({ length: 51 }, (_, i) => (i % 2 === 0 ? B : A)))
    await world.evaluate()
    const kept = (await world.changes()).map(({ n }) => n)

    expect([kept.length, kept[0], kept.at(-1)]).toEqual([20, 32, 51])
    expect((await world.told()).map(([n]) => n)).toEqual(kept.map(String))
  })

  test('is over after a thirtieth of the cycle', async () => {
    const world = await aDevicesWorld()
    await world.chunk(A, B)
    await world.evaluate()
    const firing = (await world.alerts()).map(({ state }) => state.phase)
    world.store.now += DAY
    await world.chunk(undefined)
    await world.evaluate()

    expect([firing, (await world.alerts()).map(({ state }) => state.phase)]).toEqual([['firing'], ['resolved']])
    expect(await world.told()).toEqual([['1', B]])
  })

  test('is told once by rules that name the device', async () => {
    const world = await aDevicesWorld(only({ 'sim-imei-change': withParams({ occurrence: 'imei' }) }))
    await world.chunk(A)
    await world.chunk(B)
    await world.evaluate()
    await world.chunk(A)
    await world.evaluate()
    await world.chunk(B)
    await world.evaluate()

    expect(await world.told()).toEqual([
      [B, B],
      [A, A],
    ])
  })

  test('is each SIM’s own', async () => {
    const world = await aDevicesWorld(RULES, 2)
    const [one = 0, other = 0] = world.sims
    await world.record([world.seen(A, 9, one), world.seen(B, 9, other)])
    await world.record([world.seen(B, 5, one), world.seen(B, 4, other), world.seen(C, 3, other)])
    await world.evaluate()

    expect(await world.changes()).toEqual([
      { n: 1, imei: B },
      { n: 1, imei: C },
    ])
    expect(await world.told()).toEqual([
      ['1', B],
      ['1', C],
    ])
  })
})

/** What changes between two sweeps is looked at in time. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { SUBJECT_CODES } from '../../../domain/watchdog/subject.ts'
import { claimShard, lookBy, settleShard } from '../../../store/shards.ts'
import { asShipped, aWorld, OVERAGE, only } from './alert-world.ts'

const DAY = 86_400_000

test('a SIM that becomes Active after the sweep is found never seen', async () => {
  const world = await aWorld({ rules: only({ 'sim-never-seen': asShipped, 'sim-overage': asShipped }) })
  await world.use(world.sim, 1)
  // A sweep finds nothing that time alone may change. Usage comes meanwhile: a feed that returns has all looked at.
  for (let day = 0; day < 4; day += 1) {
    world.store.now += DAY
    await world.use(world.sim, 1)
  }
  await world.activeSims(1, { poolId: world.poolId })
  await world.evaluate()
  for (let day = 0; day < 7; day += 1) {
    world.store.now += DAY
    await world.use(world.sim, 1)
  }

  expect(await world.logged()).toEqual(['sim-never-seen/sim/episode-1/fired'])
})

test('an instant that is asked for while a shard is looked at is not put off by its end', async () => {
  const world = await aWorld({ rules: OVERAGE })
  const later = (days: number) => new Date(world.store.now + days * DAY)
  world.store.now += 30 * DAY
  const next = await world.asTenant(async (tx) => {
    const shard = await claimShard(tx, later(0.001))
    if (shard === undefined) throw new Error('no shard is due')
    await lookBy(tx, [{ kind: shard.kind, id: shard.fromId, at: later(2) }])
    await settleShard(tx, shard, later(5))
    await lookBy(tx, [{ kind: shard.kind, id: shard.fromId, at: later(9) }])
    return shard
  })
  const rows = await world.rows(sql<{ kind: number; at: Date }>`
    select subject_kind as kind, next_at as at from watch_shards where brought_at is null`)

  expect(rows).toContainEqual({ kind: SUBJECT_CODES[next.kind], at: later(2) })
})

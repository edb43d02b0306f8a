import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { freePort } from '../../stack/ports.ts'
import { startRedis } from '../../stack/redis.ts'
import { freshDatabase } from '../setup/database.ts'
import { requireRedis } from '../setup/requirements.ts'
import { houseAt, until } from './house.ts'

const redisUrl = requireRedis('queues on a Redis that is lost')

describe('a backend that is away', () => {
  test.each([
    ['PostgreSQL', (port: number) => ({ redisUrl: '', databaseUrl: `postgres://nobody@127.0.0.1:${port}/x` })],
    ['Redis', (port: number) => ({ redisUrl: `redis://127.0.0.1:${port}`, databaseUrl: '' })],
  ])('%s: a bell is lost without a throw, and told', async (_name, where) => {
    const house = houseAt(where(await freePort()))

    expect(() => house.queues.ring([house.sim(1), house.sim(2)])).not.toThrow()
    await until('the fault to be told', () => house.lost.length > 0)
  })
})

describe('a backend that is lost and comes back', () => {
  test('PostgreSQL: bells are heard again by the same queues and consumers', async () => {
    const { url, drop } = await freshDatabase()
    onTestFinished(drop)
    const house = houseAt({ redisUrl: '', databaseUrl: url })
    let runs = 0
    house.consume(async () => void runs++)
    await house.queues.add([house.sim(1)])
    await until('the first run', () => runs === 1)

    const admin = new pg.Client({ connectionString: inject('postgresUrl') })
    await admin.connect()
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      new URL(url).pathname.slice(1),
    ])
    await admin.end()
    // A bell may be lost with the connection; the next sweep rings again.
    await until('a run after the loss', async () => {
      house.queues.ring([house.sim(2)])
      return runs > 1
    })
  })

  test.skipIf(redisUrl === undefined)('Redis: bells are heard again by the same queues and consumers', async () => {
    const port = await freePort()
    const first = await startRedis({ port })
    onTestFinished(async () => first?.stop())
    const house = houseAt({ redisUrl: `redis://127.0.0.1:${port}`, databaseUrl: '' })
    let runs = 0
    const consumers = house.consume(async () => void runs++)
    await house.queues.add([house.sim(1)])
    await until('the first run', () => runs === 1)

    await first?.stop()
    expect(() => house.queues.ring([house.sim(2)])).not.toThrow()
    const second = await startRedis({ port })
    onTestFinished(async () => second?.stop())
    await until('a run after the loss', async () => {
      house.queues.ring([house.sim(2)])
      return runs > 1
    })
    // While their Redis is there: without it consumers do not end.
    await consumers.close()
    await house.queues.close()
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkRedis } from '../../adapters/queues/check-redis.ts'
import { freePort } from '../../stack/free-port.ts'
import { startPostgres } from '../../stack/postgres/postgres.ts'
import { startRedis } from '../../stack/redis.ts'
import { cutLine } from '../setup/cut-line.ts'
import { administrate, freshDatabase } from '../setup/database.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { requireRedis } from '../setup/requirements.ts'
import { until } from '../setup/soon.ts'
import { harnessAt, type Where } from './harness.ts'

const redisUrl = requireRedis('queues on a Redis that is lost')

describe('queues without their backend', () => {
  test.each([
    ['PostgreSQL', (port: number) => ({ redisUrl: '', databaseUrl: `postgres://nobody@127.0.0.1:${port}/x` })],
    ['Redis', (port: number) => ({ redisUrl: `redis://127.0.0.1:${port}`, databaseUrl: '' })],
  ])('report a lost job without throwing: %s', async (_name, where) => {
    const harness = harnessAt(where(await freePort()))

    expect(() => harness.queues.enqueue([harness.job(1), harness.job(2)])).not.toThrow()
    await until('a reported error', () => harness.lost.length > 0)
  })
})

/** Ends all connections to a database, as a stopping server does. */
const breakConnections = (url: string) =>
  administrate(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${new URL(url).pathname.slice(1)}'`,
  )

/** Queues whose consumer counts its runs. */
function counting(where: Where) {
  const harness = harnessAt(where)
  let runs = 0
  const consumers = harness.consume(async () => void runs++)
  return {
    ...harness,
    consumers,
    /** Runs a first job. */
    begin: async () => {
      await harness.queues.add([harness.job(1)])
      await until('the first run', () => runs === 1)
    },
    /** Waits for a run from now on. Enqueues until then, because a job may be lost with its connection. */
    run: () => {
      runs = 0
      return until('a run', async () => {
        harness.queues.enqueue([harness.job(2)])
        return runs > 0
      })
    },
  }
}

/** A database of its own. @returns its url */
async function aDatabase() {
  const { url, drop } = await freshDatabase()
  onTestFinished(drop)
  return url
}

describe('queues opened before their backend', () => {
  test('run jobs once PostgreSQL is there', async () => {
    const dataDir = await temporaryFolder()
    const before = await startPostgres({ dataDir, durable: false })
    await before.stop()
    const harness = counting({ redisUrl: '', databaseUrl: before.url })
    harness.queues.enqueue([harness.job(1)])
    await until('a reported error', () => harness.lost.length > 0)

    const server = await startPostgres({ dataDir, durable: false })
    onTestFinished(() => server.stop())

    await harness.run()
  })

  test('run jobs after PostgreSQL drops connections while opening', async () => {
    const url = await aDatabase()
    const harness = counting({ redisUrl: '', databaseUrl: url })

    for (let round = 0; round < 40; round++) {
      await breakConnections(url)
      await sleep(10)
    }

    await harness.run()
  })
})

describe('queues whose backend was lost', () => {
  test('run jobs again once PostgreSQL is back', async () => {
    const url = await aDatabase()
    const harness = counting({ redisUrl: '', databaseUrl: url })
    await harness.begin()

    await breakConnections(url)
    await harness.run()
  })

  test('close while PostgreSQL drops their connections', async () => {
    const url = await aDatabase()
    for (let round = 0; round < 5; round++) {
      const harness = counting({ redisUrl: '', databaseUrl: url })
      await harness.run()

      await Promise.all([harness.consumers.close(), harness.queues.close(), breakConnections(url)])
    }
  })

  test.skipIf(redisUrl === undefined)('run jobs again once Redis is back', async () => {
    const port = await freePort()
    const first = await startRedis({ port })
    onTestFinished(async () => first?.stop())
    const harness = counting({ redisUrl: `redis://127.0.0.1:${port}`, databaseUrl: '' })
    await harness.begin()

    await first?.stop()
    expect(() => harness.queues.enqueue([harness.job(2)])).not.toThrow()
    const second = await startRedis({ port })
    onTestFinished(async () => second?.stop())
    await harness.run()
    // Closed while their Redis is there: without it consumers do not end.
    await harness.consumers.close()
    await harness.queues.close()
  })

  test.each([
    ['PostgreSQL', 5000, () => freshDatabase().then(({ url, drop }) => ({ url, stop: drop }))],
    // Redis: longer than the 5 s that a consumer without jobs blocks for.
    ['Redis', 6000, () => (redisUrl === undefined ? undefined : startRedis())],
  ])('run jobs again on other connections when theirs fall silent: %s', async (name, answerMs, start) => {
    const server = await start()
    if (server === undefined) return
    onTestFinished(() => server.stop())
    const line = await cutLine(server.url)
    onTestFinished(line.close)
    const url = { redisUrl: '', databaseUrl: '', [name === 'Redis' ? 'redisUrl' : 'databaseUrl']: line.url }
    const harness = counting({ ...url, answerMs })
    await harness.begin()

    line.silence()
    line.mend()
    await harness.run()
  })

  test.skipIf(redisUrl === undefined)('names a Redis that refuses our login', async () => {
    const server = await startRedis()
    onTestFinished(async () => server?.stop())
    const url = server?.url ?? ''
    const open = new Redis(url)
    await open.config('SET', 'requirepass', 'secret')
    open.disconnect()

    await expect(checkRedis(url, 30_000)).rejects.toThrow('NOAUTH')
    await expect(checkRedis(url.replace('//', '//:wrong@'), 30_000)).rejects.toThrow('WRONGPASS')
    await expect(checkRedis(url.replace('//', '//:secret@'), 30_000)).resolves.toBeUndefined()
  })
})

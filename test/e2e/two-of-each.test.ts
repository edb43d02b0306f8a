/** The main job with all queues in Redis, on two APIs and two workers: each effect once, whichever process does it. */
import { afterAll, describe, expect, test } from 'vitest'
import { startRedis } from '../../stack/redis.ts'
import { requireRedis } from '../setup/requirements.ts'
import { startService } from '../setup/service.ts'
import { playMainJob } from './main-job.ts'
import { expectOutcome } from './outcome.ts'

/** The queues' schema in PostgreSQL (adapters/queues/open-postgres.ts). */
const QUEUES = 'simherd_queues'

const redis = requireRedis('the main job on Redis, on two APIs and two workers')

describe.skipIf(redis === undefined)('two APIs and two workers on Redis', async () => {
  if (redis === undefined) return
  const server = await startRedis()
  const service = await startService({ REDIS_URL: server?.url ?? 'none' }, undefined, 2)
  afterAll(async () => {
    await service.stop()
    await server?.stop()
  })

  test('play the main job with each effect once', async () => {
    const { player, cycle } = await playMainJob(service)

    await expectOutcome(service, player, cycle.key)
    expect(service.lines.filter((line) => line.includes('ended unasked'))).toEqual([])
    const kinds = await service.rows('select kind, count(*)::integer as count from processes group by 1 order by 1')
    expect(kinds).toEqual(['api', 'worker'].map((kind) => ({ kind, count: 2 })))
    // No job went through PostgreSQL: its schema for queues was never created.
    expect(await service.rows(`select nspname from pg_namespace where nspname = '${QUEUES}'`)).toEqual([])
  })
})

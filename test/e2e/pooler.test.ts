/** The service behind a pooler in transaction mode. */
import { access } from 'node:fs/promises'
import { sql } from 'kysely'
import { afterAll, describe, expect, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { inPlatform } from '../../store/tenancy.ts'
import { startPooler } from '../setup/pooler.ts'
import { requireProgram } from '../setup/requirements.ts'
import { startService } from '../setup/service.ts'
import { playMainJob } from './main-job.ts'
import { expectOutcome } from './outcome.ts'

const PROGRAM = '/usr/sbin/pgbouncer'
const isThere = await access(PROGRAM).then(
  () => true,
  () => false,
)

describe.runIf(requireProgram(isThere, 'pgbouncer', 'the service behind a pooler'))('behind PgBouncer', async () => {
  let pooler: Awaited<ReturnType<typeof startPooler>> | undefined
  const service = await startService(async (direct) => {
    pooler = await startPooler(PROGRAM, direct)
    return { DATABASE_URL: pooler.url, DATABASE_DIRECT_URL: direct }
  })
  afterAll(async () => {
    await service.stop()
    await pooler?.stop()
  })

  test('the main job has each effect once', async () => {
    const { player, cycle } = await playMainJob(service)

    await expectOutcome(service, player, cycle.key)
  })

  test('a statement that takes too long is ended by the server', async () => {
    const { db, close } = connect(pooler?.url ?? '', { max: 1 })
    const store = { db, clock: Date.now, enqueue: () => undefined }

    await expect(inPlatform(store, ({ q }) => sql`select pg_sleep(35)`.execute(q))).rejects.toThrow(
      'canceling statement due to statement timeout',
    )
    await close()
  })
})

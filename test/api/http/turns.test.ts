/** One tenant's requests do not take every connection of a process. */
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { lockWaiters } from '../../setup/lock-waits.ts'
import { until } from '../../setup/soon.ts'
import { aSim, useHarness } from '../harness.ts'

const harness = useHarness()

/** Holds the row of a SIM, as a transaction does that takes long. @returns lets it go */
async function holdSim(id: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const done = harness.root.transaction().execute(async (q) => {
    await sql`select 1 from sims where id = ${id} for update`.execute(q)
    held.resolve()
    await promise
  })
  await held.promise
  return async () => {
    resolve()
    await done
  }
}

test('another tenant is answered while 300 requests of one wait for a row', async () => {
  const { tenant, other, root } = harness
  const { id } = await aSim(tenant)
  const letGo = await holdSim(id)
  onTestFinished(letGo)

  const asked = Array.from({ length: 300 }, (_, n) => tenant.ask('PATCH', `/api/sims/${id}/tag`, { tag: `tag ${n}` }))
  await until('the two transactions that may wait for the row', async () => (await lockWaiters({ db: root })) === 2)
  for (let n = 0; n < 5; n++) expect(await other.ask('GET', '/api/tenant')).toMatchObject({ status: 200 })
  expect(await lockWaiters({ db: root })).toBe(2)

  await letGo()
  const answers = await Promise.all(asked)
  const refused = answers.filter(({ status }) => status !== 200)
  expect(refused.length).toBe(98)
  for (const answer of refused) {
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '1' }, body: { code: 'quota_exceeded' } })
  }
})

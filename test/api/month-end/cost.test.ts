import { sql } from 'kysely'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { statementsIn } from '../../setup/count-statements.ts'
import { holding } from '../../setup/lock-waits.ts'
import { soon, until } from '../../setup/soon.ts'
import { aPool, aSim, provisioned, startedApi, useHarness } from '../harness.ts'
import { used } from '../specification/estate.ts'

const lines: string[] = []
const failures = () => lines.filter((line) => line.includes('was not renewed'))
const harness = useHarness({ logger: pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }) })
const CYCLE = '2026-11'
const URL_PATH = `/internal/cycles/${CYCLE}/cost`
const cost = async () => (await harness.tenant.inside('GET', URL_PATH)).body
const now = () => new Date(harness.now).toISOString()
/** Whoever adds up the lines of a cycle waits. */
const heldUp = () => holding(harness.databaseUrl, 'lock table usage_ledger in access exclusive mode')
const asOfKept = async () => {
  const { rows } = await sql<{ asOf: Date }>`
    select as_of as "asOf" from cycle_costs where tenant_id = ${harness.tenant.id}`.execute(harness.root)
  return rows[0]?.asOf.toISOString()
}

beforeEach(async () => {
  const poolId = await aPool(harness.tenant)
  const { id } = await aSim(harness.tenant)
  await provisioned(harness, harness.tenant, id, { poolId })
  await used(harness, harness.tenant, id, { bytesDown: 1000 })
})
afterEach(async () => {
  await sql`delete from cycle_costs`.execute(harness.root)
})

describe('GET /internal/cycles/{key}/cost', () => {
  test('computes once for two at once', async () => {
    const answers: unknown[] = []
    const sent = await statementsIn(async () => void answers.push(...(await Promise.all([cost(), cost()]))))

    expect(sent.filter(({ text }) => text === 'savepoint taken_back')).toHaveLength(1)
    expect(answers[0]).toMatchObject({ asOf: now(), lines: expect.any(Number) })
    expect(answers[1]).toEqual(answers[0])
  })

  test('answers the kept one while its renewal is slow, and keeps that', async () => {
    const first = await cost()
    harness.now += 60_000
    const release = await heldUp()

    expect(await cost()).toEqual(first)
    expect(await cost(), 'another, meanwhile').toEqual(first)
    await release()
    await soon(async () => expect(await asOfKept()).toBe(now()))
    harness.now += 60_000
    expect(await cost(), 'quick').toMatchObject({ asOf: now() })
  })

  test('answers the kept one if its renewal fails, and logs that once', async () => {
    const first = await cost()
    harness.now += 60_000
    await sql`alter table cycle_costs add constraint full_disk check (cycle_key = '') not valid`.execute(harness.root)
    const answer = await cost()
    await sql`alter table cycle_costs drop constraint full_disk`.execute(harness.root)

    expect([answer, await asOfKept()]).toEqual([first, first.asOf])
    expect(failures()).toEqual([expect.stringContaining('full_disk')])
    expect(await cost()).toMatchObject({ asOf: now() })
  })

  test('has its renewal finished by a process that ends', async () => {
    await cost()
    harness.now += 60_000
    const release = await heldUp()
    const api = await startedApi(harness)
    const headers = { authorization: `Bearer ${harness.operatorKey}`, 'x-tenant-id': harness.tenant.id }
    const ask = () => fetch(`${api.internalUrl}${URL_PATH}`, { headers })
    const { status } = await ask()
    let hasEnded = false
    const ending = api.close().then(() => {
      hasEnded = true
    })
    await until('the listener is gone', () =>
      fetch(api.internalUrl)
        .then(() => false)
        .catch(() => true),
    )
    await cost()

    expect({ status, hasEnded }).toEqual({ status: 200, hasEnded: false })
    await release()
    await ending
    expect(await asOfKept()).toBe(now())
  })

  test('is of no cycle that there is not', async () => {
    expect(await harness.tenant.inside('GET', '/internal/cycles/2026-13/cost')).toMatchObject({
      status: 404,
      body: { code: 'cycle_not_found' },
    })
  })
})

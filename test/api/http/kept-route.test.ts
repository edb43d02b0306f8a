import { sql } from 'kysely'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { statementsIn } from '../../setup/count-statements.ts'
import { holding } from '../../setup/lock-waits.ts'
import { soon, until } from '../../setup/soon.ts'
import { aPool, aSim, provisioned, startedApi, useHarness } from '../harness.ts'
import { used } from '../specification/estate.ts'

const lines: string[] = []
const failures = () => lines.filter((line) => line.includes('was not renewed'))
const harness = useHarness({ logger: pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }) })
const CYCLE = '2026-11'
const now = () => new Date(harness.now).toISOString()
/** By kind: the path, the member of the answer that has its time, and the table that it is added up from. */
const KEPT = {
  cost: [`/internal/cycles/${CYCLE}/cost`, 'asOf', 'usage_ledger'],
  plan: [`/internal/cycles/${CYCLE}/plan`, 'at', 'usage_ledger'],
  coverage: ['/internal/rules/coverage', 'at', 'pools'],
} as const
let simId: number

beforeEach(async () => {
  const poolId = await aPool(harness.tenant)
  simId = (await aSim(harness.tenant)).id
  await provisioned(harness, harness.tenant, simId, { poolId })
  await used(harness, harness.tenant, simId, { bytesDown: 1000 })
})
afterEach(async () => {
  await sql`truncate kept_answers`.execute(harness.root)
  lines.length = 0
})

describe.each(['cost', 'plan', 'coverage'] as const)('the kept answer: %s', (kind) => {
  const [path, time, source] = KEPT[kind]
  /** Whoever adds it up waits. */
  const heldUp = () => holding(harness.databaseUrl, `lock table ${source} in access exclusive mode`)
  const answer = async () => (await harness.tenant.inside('GET', path)).body
  const asOfKept = async () => {
    const { rows } = await sql<{ asOf: Date }>`
      select as_of as "asOf" from kept_answers where tenant_id = ${harness.tenant.id}`.execute(harness.root)
    return rows[0]?.asOf.toISOString()
  }

  test('computes once for two at once', async () => {
    const answers: unknown[] = []
    const sent = await statementsIn(async () => void answers.push(...(await Promise.all([answer(), answer()]))))

    expect(sent.filter(({ text }) => text.includes('insert into kept_answers'))).toHaveLength(1)
    expect(answers[0]).toMatchObject({ [time]: now() })
    expect(answers[1]).toEqual(answers[0])
  })

  test('answers the kept one while its renewal is slow, and keeps that', async () => {
    const first = await answer()
    harness.now += 60_000
    const release = await heldUp()

    expect(await answer()).toEqual(first)
    expect(await answer(), 'another, meanwhile').toEqual(first)
    await release()
    await soon(async () => expect(await asOfKept()).toBe(now()))
    harness.now += 60_000
    expect(await answer(), 'quick').toMatchObject({ [time]: now() })
  })

  test('answers the kept one if its renewal fails, and logs that once', async () => {
    const first = await answer()
    harness.now += 60_000
    await sql`alter table kept_answers add constraint full_disk check (kind = '') not valid`.execute(harness.root)
    const second = await answer()
    await sql`alter table kept_answers drop constraint full_disk`.execute(harness.root)

    expect([second, await asOfKept()]).toEqual([first, first[time]])
    expect(failures()).toEqual([expect.stringContaining('full_disk')])
    expect(await answer()).toMatchObject({ [time]: now() })
  })

  test('has its renewal finished by a process that ends', async () => {
    await answer()
    harness.now += 60_000
    const release = await heldUp()
    const api = await startedApi(harness)
    const headers = { authorization: `Bearer ${harness.operatorKey}`, 'x-tenant-id': harness.tenant.id }
    const { status } = await fetch(`${api.internalUrl}${path}`, { headers })
    let hasEnded = false
    const ending = api.close().then(() => {
      hasEnded = true
    })
    await until('the listener is gone', () =>
      fetch(api.internalUrl)
        .then(() => false)
        .catch(() => true),
    )
    await answer()

    expect({ status, hasEnded }).toEqual({ status: 200, hasEnded: false })
    await release()
    await ending
    expect(await asOfKept()).toBe(now())
  })
})

test.each(['cost', 'plan'])('there is no %s of a cycle that there is not', async (name) => {
  expect(await harness.tenant.inside('GET', `/internal/cycles/2026-13/${name}`)).toMatchObject({
    status: 404,
    body: { code: 'cycle_not_found' },
  })
})

test('GET /internal/rules/coverage is of the rules in force, and added up at once if it has to be fresh', async () => {
  const coverage = async (query = '') => (await harness.tenant.inside('GET', `/internal/rules/coverage${query}`)).body
  const simsIn = ({ subjects }: { subjects: { kind: string; total: number }[] }) =>
    subjects.find(({ kind }) => kind === 'sim')?.total ?? 0
  const before = await coverage()
  await aSim(harness.tenant)

  expect(await coverage()).toEqual(before)
  expect(simsIn(await coverage('?days=30'))).toBe(simsIn(before) + 1)
  expect(await coverage()).toEqual(before)
  expect(simsIn(await coverage('?fresh=true'))).toBe(simsIn(before) + 1)
  await harness.operate('POST', '/internal/rules', { files: await readRuleFiles(''), author: 'the tests' })
  expect((await coverage()).rules.length).toBeGreaterThan(10)
})

test('GET /internal/cycles/{key}/plan is added up at once if it has to be fresh, and that is kept', async () => {
  const plan = async (query = '') => (await harness.tenant.inside('GET', `/internal/cycles/${CYCLE}/plan${query}`)).body
  const before = (await plan()).totals.usageBytes
  await used(harness, harness.tenant, simId, { bytesDown: 1000 })

  expect((await plan()).totals.usageBytes).toBe(before)
  expect((await plan('?fresh=true')).totals.usageBytes).toBe(before + 1000)
  expect((await plan()).totals.usageBytes).toBe(before + 1000)
})

import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { doctor } from '../../cli/doctor/doctor.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import { startHealth } from '../../process/health.ts'
import { createMetrics } from '../../process/metrics.ts'
import { readRuleFiles } from '../../process/rule-files.ts'
import { readSettings } from '../../process/settings.ts'
import { activateRules } from '../../service/rules/rules-in-force.ts'
import { noteRefusedCredentials } from '../../service/tickets/note-credentials.ts'
import { openCycle } from '../../service/usage/rows/open-cycle.ts'
import { lockPools } from '../../service/usage/rows/pool-totals.ts'
import { answerJson, serve } from '../../stack/http.ts'
import { inTenant } from '../../store/tenancy.ts'
import { aCarrier } from '../setup/carrier.ts'
import { aStore, aTenant, someSims } from '../setup/estate.ts'
import { putForeignRules } from '../setup/foreign-rules.ts'

const store = await aStore()
const shipped = await readRuleFiles('')

/** What `simherd doctor -o json` says of one thing; undefined if it does not look at it. */
async function lookedAt(
  thing: string,
  figures: boolean,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ state: string; detail: string; advice: string } | undefined> {
  const said: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => said.push(line))
  onTestFinished(() => log.mockRestore())
  // Servers that are not running do not matter here.
  await doctor(readSettings({ DATABASE_URL: store.databaseUrl, DATA_DIR: '/nowhere', ...settings }), {
    output: 'json',
    figures,
  }).catch(() => undefined)
  log.mockRestore()
  const findings: { what: string; state: string; detail: string; advice: string }[] = JSON.parse(said.join('\n'))
  return findings.find(({ what }) => what === thing)
}

describe('simherd doctor --figures', () => {
  test('names each count that differs from the SIMs', async () => {
    const tenantId = await aTenant(store)
    await inTenant(store, tenantId, (tx) => someSims(tx, 3))
    const change = (by: number) =>
      sql`update sim_blocks set sims = sims + ${by} where tenant_id = ${tenantId}`.execute(store.db)

    const right = await lookedAt('figures', true)
    await change(2)
    const wrong = await lookedAt('figures', true)
    await change(-2)

    expect(right).toMatchObject({
      state: 'ok',
      detail: 'the counts of SIMs and the sums of pools of 1 tenant are right',
    })
    expect(wrong).toMatchObject({
      state: 'missing',
      detail: `${tenantId}: SIMs 0 to 4095 of status 0: kept 5, counted 3`,
    })
  })

  test('names each sum of a pool that differs from its rows', async () => {
    const tenantId = await aTenant(store)
    const key = await inTenant(store, tenantId, async (tx) => {
      const cycle = cycleAt('P1M', Date.now())
      await openCycle(tx, cycle)
      await lockPools(tx, cycle.key, [0])
      return cycle.key
    })
    const change = (by: number) =>
      sql`update pool_cycles set bytes = bytes + ${by} where tenant_id = ${tenantId}`.execute(store.db)

    await change(7)
    const wrong = await lookedAt('figures', true)
    await change(-7)

    expect(wrong?.detail).toBe(`${tenantId}: bytes of pool 0 in cycle ${key}: kept 7, counted 0`)
  })

  test('is left out unless it is asked for', async () => {
    expect(await lookedAt('figures', false)).toBeUndefined()
  })
})

describe('simherd doctor', () => {
  test('tells whether this build takes the rules in force', async () => {
    const none = await lookedAt('rules', false)
    const { version } = await activateRules(store, shipped, 'the tests')
    const taken = await lookedAt('rules', false)
    const foreign = shipped.map(({ file, text }) => ({ file, text: text.replace('"usagePct"', '"usageShareToday"') }))
    await putForeignRules(store.db, foreign, new Date(store.now + 1000))
    const refused = await lookedAt('rules', false)

    expect(none).toMatchObject({ state: 'absent', detail: 'none was loaded yet' })
    expect(taken).toMatchObject({ state: 'ok', detail: `version ${version} is in force` })
    expect(refused).toMatchObject({ state: 'missing', advice: expect.stringContaining('load the rules again') })
    expect(refused?.detail).toMatch(
      new RegExp(
        `version ${version + 1} is refused by this build .*usageShareToday.*: version ${version} stays in force`,
      ),
    )
  })

  test('tells by how much this clock differs from the database’s', async () => {
    const right = await lookedAt('clock', false)
    const real = Date.now
    const late = vi.spyOn(Date, 'now').mockImplementation(() => real() - 90_000)
    onTestFinished(() => late.mockRestore())
    const wrong = await lookedAt('clock', false)

    expect(right).toMatchObject({ state: 'ok', detail: expect.stringContaining('clock') })
    expect(wrong).toMatchObject({ state: 'missing', advice: expect.stringContaining('NTP') })
    expect(wrong?.detail).toMatch(/^this machine's clock is [89]\d\.\d s behind the database's$/)
  })

  test('tells a process that is not ready from a program of others', async () => {
    const other = await serve(0, 'another program', (_, response) => answerJson(response, 503, {}))
    const app = Fastify()
    const check = () => Promise.reject(new Error('connect ECONNREFUSED'))
    const dependencies = [{ name: 'postgresql', isRequired: true, check }]
    const worker = await startHealth({ app, host: '127.0.0.1', port: 0, metrics: createMetrics(), dependencies })
    onTestFinished(() => Promise.all([other.stop(), worker.stop()]).then(() => undefined))
    const at = (port: string) => lookedAt('worker', false, { WORKER_PORT: port })
    const { port } = app.server.address() as AddressInfo

    expect(await at(String(port))).toMatchObject({
      state: 'missing',
      detail: `not ready at http://127.0.0.1:${port}; away: postgresql: connect ECONNREFUSED`,
    })
    expect(await at(new URL(other.url).port)).toMatchObject({
      state: 'missing',
      advice: 'stop the program that listens there, or set WORKER_PORT to another port',
    })
  })
})

test('simherd doctor says since when the carrier refuses the secret', async () => {
  const carrier = await aCarrier()
  const look = () => lookedAt('carrier', false, { CARRIER_URL: carrier.url, CARRIER_SECRET: carrier.secret })
  const before = await look()
  const refused = { tickets: 2, isProbe: false, answer: 'no' }
  await noteRefusedCredentials(store, carrier.network.credential, refused)
  const since = new Date(store.now).toISOString()

  expect(before).toMatchObject({ state: 'ok', detail: 'reachable' })
  expect(await look()).toMatchObject({
    state: 'missing',
    detail: `reachable, but refuses CARRIER_SECRET since ${since}: tickets wait`,
  })
})

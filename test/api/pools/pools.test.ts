/** Pools: what a change triggers, what prevents deletion, and that their SIMs, which may be many, are read page by page. */
import { sql } from 'kysely'
import pg from 'pg'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { listPoolSims } from '../../../service/sims/rows/sim-reads.ts'
import { KEYSET_PAGE } from '../../../store/keyset-pages.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { byHand } from '../../setup/estate.ts'
import { anIccid, aPool, aSim, aTariff, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const whole = { name: 'Fleet', watchdogMode: 2, warningThresholdPct: 80, enableBurnRateAlerts: true }

/** Changes that were noted, oldest first. */
const changes = () =>
  inTenant(harness.store, harness.tenant.id, async (tx) => {
    const { rows } = await sql<{ simIds: number[]; poolIds: number[] }>`
      delete from changed_subjects returning sim_ids as "simIds", pool_ids as "poolIds"`.execute(tx.q)
    return rows.map(({ simIds, poolIds }) => ({ simIds: simIds.map(Number), poolIds }))
  })

describe('PUT /api/pools/{id}', () => {
  test('has the watchdog look at pool and SIMs after each change, and tells of watchdog changes only', async () => {
    const { tenant } = harness
    const id = await aPool(tenant)
    const sim = await aSim(tenant)
    await provisioned(harness, tenant, sim.id, { poolId: id })

    await changes()
    expect((await tenant.ask('PUT', `/api/pools/${id}`, whole)).body).toEqual({ id })
    expect(await changes()).toEqual([{ simIds: [sim.id], poolIds: [id] }])
    expect((await tenant.ask('PUT', `/api/pools/${id}`, { ...whole, name: 'Fleet 2' })).status).toBe(200)
    expect((await tenant.ask('PUT', `/api/pools/${id}`, { ...whole, name: 'Fleet 2' })).status).toBe(200)
    expect(await changes()).toEqual([{ simIds: [sim.id], poolIds: [id] }])

    const { data } = (await tenant.ask('GET', '/api/events?searchTerm=watchdog changed: pool')).body
    expect(data.map((event: { description: string }) => event.description)).toEqual([
      `Watchdog of pool Fleet (${id}): mode Enforce, threshold 80 %, burn rate alerts; before: mode Monitor, no threshold, no burn rate alerts.`,
    ])
  })
})

describe('DELETE /api/pools/{id}', () => {
  test('races with a provision ticket: one is refused', async () => {
    const { tenant } = harness
    const tariffId = await aTariff(tenant)
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const id = await aPool(tenant, { tariffId })
        const { id: simId } = await aSim(tenant)
        const [deleted, opened] = await Promise.all([
          tenant.ask('DELETE', `/api/pools/${id}`),
          tenant.ask('POST', '/api/tickets/provision', { simId, poolId: id }),
        ])
        return `${deleted.status}/${opened.status} ${deleted.body.code ?? opened.body.code}`
      }),
    )

    expect(new Set([...outcomes, '204/404 pool_not_found', '409/200 pool_in_use'])).toEqual(
      new Set(['204/404 pool_not_found', '409/200 pool_in_use']),
    )
  })
})

describe('the SIMs of a pool', () => {
  let poolId: number
  let otherPool: number
  let simIds: number[]
  beforeAll(async () => {
    poolId = await aPool(harness.tenant)
    otherPool = await aPool(harness.tenant)
    const of = { status: 1, poolId, activatedAt: '2026-03-01T00:00:00Z' }
    const sims = Array.from({ length: 2 * KEYSET_PAGE + 1 }, () => ({ iccid: anIccid(), ...of }))
    const { body } = await harness.tenant.inside('POST', '/internal/sims', { sims })
    simIds = body.created.map(({ id }: { id: number }) => id)
  })

  const move = (ids: readonly number[], to: number) =>
    inTenant(harness.store, harness.tenant.id, async (tx) => {
      await byHand(tx)
      await sql`update sims set pool_id = ${to} where id = any(${[...ids]}::bigint[])`.execute(tx.q)
    })

  test('GET /api/pools/{id}/sims reads a page of them at a time', async () => {
    const query = vi.spyOn(pg.Client.prototype, 'query')
    onTestFinished(() => query.mockRestore())

    const { body } = await harness.tenant.ask('GET', `/api/pools/${poolId}/sims`)

    const read = await Promise.all(query.mock.results.map(({ value }) => value as Promise<pg.QueryResult>))
    expect(Math.max(...read.map(({ rowCount }) => rowCount ?? 0))).toBeLessThanOrEqual(KEYSET_PAGE)
    expect(body.map(({ id }: { id: number }) => id)).toEqual(simIds)
  })

  test('listPoolSims has each SIM that stays once, by id, while others are moved', async () => {
    // After the first page SIMs come and leave that it has, or that are in front of its last one or after it.
    const at = (place: number) => simIds[place] ?? 0
    const outside = [at(1), at(KEYSET_PAGE + 3), at(2 * KEYSET_PAGE)]
    await move(outside, otherPool)
    const leaves = [at(0), at(KEYSET_PAGE), at(KEYSET_PAGE + 1), at(2 * KEYSET_PAGE - 1)]

    const seen: number[] = []
    for await (const page of listPoolSims(harness.store, harness.tenant.id, poolId)) {
      expect(page.length).toBeLessThanOrEqual(KEYSET_PAGE)
      seen.push(...page.map(({ id }) => id))
      await move(outside, poolId)
      await move(leaves, otherPool)
    }

    const stays = simIds.filter((id) => !outside.includes(id) && !leaves.includes(id))
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b))
    expect(seen).toEqual(expect.arrayContaining(stays))
    expect(seen.filter((id) => !stays.includes(id))).toEqual([0, KEYSET_PAGE, KEYSET_PAGE + 3, 2 * KEYSET_PAGE].map(at))
  })
})

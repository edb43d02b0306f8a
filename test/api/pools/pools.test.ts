/** Pools: what a change triggers, and what prevents deletion. */

import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { inTenant } from '../../../store/tenancy.ts'
import { aPool, aSim, aTariff, provisioned, useHarness } from '../harness.ts'

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

import { expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { complete } from '../../service/harness.ts'
import { anActiveSim, aPool, aTariff, NOON, useHarness } from '../harness.ts'

const harness = useHarness()
const HOUR = 3_600_000
const hour = (n: number) => new Date(NOON + n * HOUR).toISOString()
const historyOf = (id: number, of = harness.tenant) => of.inside('GET', `/internal/sims/${id}/history`)

test('has assignments with names and suspensions with causes, newest first', async () => {
  const { tenant, store } = harness
  const tariffId = await aTariff(tenant)
  const [north, south] = [await aPool(tenant, { name: 'North' }), await aPool(tenant, { name: 'South' })]
  const { id } = await anActiveSim(harness, tenant, { poolId: north })
  const later = (n: number, work: () => Promise<unknown>) => harness.at(NOON + n * HOUR, work)
  const cause = { by: 'watchdog', rule: 'sim-overage', cycle: '2026-11', until: 'renewal', workflowId: 'w' } as const
  await later(1, () => inTenant(store, tenant.id, (tx) => complete(tx, { simId: id, type: TicketType.Suspend, cause })))
  await later(2, () => inTenant(store, tenant.id, (tx) => complete(tx, { simId: id, type: TicketType.Activate })))
  await later(3, () =>
    inTenant(store, tenant.id, (tx) =>
      complete(tx, {
        simId: id,
        type: TicketType.Provision,
        poolId: south,
        tariffId,
        cause: { by: 'month-end' } as never,
      }),
    ),
  )
  await later(4, () => inTenant(store, tenant.id, (tx) => complete(tx, { simId: id, type: TicketType.Suspend })))
  const { body } = await historyOf(id)

  const nothing = {
    poolId: null,
    poolName: null,
    tariffId: null,
    tariffName: null,
    cause: null,
    rule: null,
    closedBecause: null,
  }
  expect(body).toEqual({
    isWhole: true,
    spans: [
      { ...nothing, kind: 'suspension', from: hour(4), to: null, cause: 'user' },
      {
        ...nothing,
        kind: 'assignment',
        from: hour(3),
        to: null,
        poolId: south,
        poolName: 'South',
        tariffId,
        tariffName: 'Tariff of type 0',
      },
      {
        ...nothing,
        kind: 'suspension',
        from: hour(1),
        to: hour(2),
        cause: 'watchdog',
        rule: 'sim-overage',
        closedBecause: 'user',
      },
      { ...nothing, kind: 'assignment', from: hour(0), to: hour(3), poolId: north, poolName: 'North' },
    ],
  })
  expect((await historyOf(id, harness.other)).body).toMatchObject({ status: 404, code: 'sim_not_found' })
})

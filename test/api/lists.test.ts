import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { insertEvent } from '../../store/events.ts'
import { inTenant } from '../../store/tenancy.ts'
import { aPool, aSim, aTariff, NOON, type Tenant, useHouse } from './house.ts'

const house = useHouse()

describe('pages', () => {
  let tariffId: number
  beforeAll(async () => {
    tariffId = await aTariff(house.other)
    for (let i = 0; i < 5; i++) await aPool(house.other, { tariffId, name: `Page ${i}` })
  })

  test.each([
    ['the first', 'pageSize=2', 2, { page: 1, totalPages: 3, hasNextPage: true, hasPreviousPage: false }],
    ['the last', 'pageSize=2&page=3', 1, { page: 3, totalPages: 3, hasNextPage: false, hasPreviousPage: true }],
    ['one past the end', 'pageSize=2&page=9', 0, { page: 9, totalPages: 3, hasNextPage: false, hasPreviousPage: true }],
    ['with empty values', 'pageSize=&page=', 5, { page: 1, pageSize: 100, totalPages: 1, hasNextPage: false }],
  ])('%s has right totals', async (_which, query, items, pagination) => {
    const { body } = await house.other.ask('GET', `/api/pools?${query}`)

    expect(body.data).toHaveLength(items)
    expect(body.pagination).toMatchObject({ totalItems: 5, ...pagination })
    expect(Object.keys(body)).toEqual(['data', 'pagination'])
    expect(Object.keys(body.pagination)).toEqual([
      'page',
      'pageSize',
      'totalItems',
      'totalPages',
      'hasNextPage',
      'hasPreviousPage',
    ])
  })

  test('an empty list has no pages', async () => {
    const { body } = await house.tenant.ask('GET', '/api/pools')

    expect(body).toEqual({
      data: [],
      pagination: { page: 1, pageSize: 100, totalItems: 0, totalPages: 0, hasNextPage: false, hasPreviousPage: false },
    })
  })

  test('pools come by id', async () => {
    const { body } = await house.other.ask('GET', '/api/pools')

    const ids = body.data.map(({ id }: { id: number }) => id)
    expect(ids).toEqual(ids.toSorted((a: number, b: number) => a - b))
  })
})

describe('SIMs', () => {
  beforeAll(async () => {
    await aSim(house.tenant, { tag: '100%_sure\\' })
    await aSim(house.tenant, { tag: 'Pump', imsi: '262015550001' })
    await aSim(house.tenant, { tag: 'pumping', msisdn: '+49170999' })
  })
  const tags = async (query: string) => {
    const { body } = await house.tenant.ask('GET', `/api/sims?${query}`)
    return body.data.map(({ tag }: { tag: string }) => tag)
  }

  test.each([
    ['PUMP', ['Pump', 'pumping']],
    ['%', ['100%_sure\\']],
    ['_', ['100%_sure\\']],
    ['\\', ['100%_sure\\']],
    ['5550001', ['Pump']],
    ['49170', ['pumping']],
    ['', ['100%_sure\\', 'Pump', 'pumping']],
    ['nothing', []],
  ])('search %j finds %j', async (search, found) => {
    expect(await tags(`search=${encodeURIComponent(search)}`)).toEqual(found)
  })

  test('search does not run on from one field into the next', async () => {
    expect(await tags('search=%20Pump')).toEqual([])
  })

  test('status and pool narrow the list', async () => {
    expect(await tags('status=1')).toEqual([])
    expect(await tags('status=0')).toHaveLength(3)
    expect(await tags('poolId=99999999999')).toEqual([])
  })
})

describe('events and the watchdog log', () => {
  const logs = (
    tenant: Tenant,
    rows: readonly [sim: number | null, pool: number | null, message: string, at: string][],
  ) =>
    inTenant(house.ground, tenant.id, async (tx) => {
      for (const [sim, pool, message, at] of rows) {
        await sql`insert into watchdog_log (dedupe_key, sim_id, pool_id, level, message, at)
          values (${message}, ${sim}, ${pool}, 1, ${message}, ${at}::timestamptz)`.execute(tx.q)
      }
    })
  let simId: number
  let poolId: number
  beforeAll(async () => {
    simId = (await aSim(house.tenant)).id
    poolId = await aPool(house.tenant)
    await logs(house.tenant, [
      [simId, null, 'SIM at 80 %', '2026-11-19T23:59:59.999Z'],
      [null, poolId, 'Pool at 80 %', '2026-11-20T00:00:00Z'],
      [simId, poolId, 'Both', '2026-11-21T00:00:00Z'],
    ])
    await logs(house.other, [[null, null, 'Theirs', '2026-11-20T00:00:00Z']])
    for (const severity of [0, 1, 2] as const) {
      const at = { ground: house.ground, id: house.tenant.id }
      house.now = NOON + severity * 60_000
      await inTenant(at.ground, at.id, (tx) =>
        insertEvent(tx, { type: 2, severity, title: `E${severity}`, description: 'told' }),
      )
    }
  })
  const messages = async (url: string) => {
    const { body } = await house.tenant.ask('GET', url)
    return body.data.map((entry: { message?: string; title?: string }) => entry.message ?? entry.title)
  }

  test('entries have exactly their fields, the newest first', async () => {
    const { body } = await house.tenant.ask('GET', '/api/watchdog/logs')

    expect(body.data.map(({ message }: { message: string }) => message)).toEqual([
      'Both',
      'Pool at 80 %',
      'SIM at 80 %',
    ])
    expect(body.data[1]).toEqual({
      id: expect.any(Number),
      simId: null,
      poolId,
      level: 1,
      message: 'Pool at 80 %',
      date: '2026-11-20T00:00:00.000Z',
    })
    expect(Object.keys(body.data[0])).toEqual(['id', 'simId', 'poolId', 'level', 'message', 'date'])
  })

  test('a bare date is that day in UTC, a date-time everything from then on', async () => {
    expect(await messages('/api/watchdog/logs?date=2026-11-20')).toEqual(['Pool at 80 %'])
    expect(await messages('/api/watchdog/logs?date=2026-11-20T00:00:00Z')).toEqual(['Both', 'Pool at 80 %'])
    expect(await messages('/api/watchdog/logs?date=2026-11-20T01:00:00%2B02:00')).toEqual([
      'Both',
      'Pool at 80 %',
      'SIM at 80 %',
    ])
  })

  test('the log can be read of one SIM, of one pool, and by words', async () => {
    expect(await messages(`/api/watchdog/logs?simId=${simId}`)).toEqual(['Both', 'SIM at 80 %'])
    expect(await messages(`/api/sims/${simId}/watchdog-logs`)).toEqual(['Both', 'SIM at 80 %'])
    expect(await messages(`/api/pools/${poolId}/watchdog-logs`)).toEqual(['Both', 'Pool at 80 %'])
    expect(await messages(`/api/pools/${poolId}/watchdog-logs?searchTerm=%25`)).toEqual(['Pool at 80 %'])
    expect(await messages('/api/watchdog/logs?level=2')).toEqual([])
  })

  test('events have exactly their fields, the newest first', async () => {
    const { body } = await house.tenant.ask('GET', '/api/events')

    expect(body.data.map(({ title }: { title: string }) => title)).toEqual(['E2', 'E1', 'E0'])
    expect(body.data[2]).toEqual({
      id: expect.any(Number),
      type: 2,
      severity: 0,
      title: 'E0',
      description: 'told',
      date: new Date(NOON).toISOString(),
    })
    expect(await messages('/api/events?severity=1')).toEqual(['E1'])
    expect(await messages('/api/events?searchTerm=TOLD&type=2&pageSize=1')).toEqual(['E2'])
    expect(await messages('/api/events?type=0')).toEqual([])
  })
})

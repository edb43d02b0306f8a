/** A walk by cursors returns each SIM that exists all the time exactly once, whatever comes and goes meanwhile. */
import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { cases } from '../../setup/cases.ts'
import { aPool, aSim, aTenant, type Tenant, times, useHarness } from '../harness.ts'
import { ids } from '../specification/estate.ts'

const harness = useHarness()
const TAGS = ['pump', 'meter', '', 'pump 2']

interface Row {
  readonly id: number
  readonly status: number
  readonly poolId: number | null
  readonly tag: string
}

let pools: number[]
beforeAll(async () => {
  pools = [await aPool(harness.tenant), await aPool(harness.tenant)]
  await sql`select setval(pg_get_serial_sequence('sims', 'id'), 100000)`.execute(harness.root)
})

/** Inserts SIMs with these ids, in any order, by SQL. */
async function insert(ids: readonly number[]): Promise<void> {
  await sql`
    insert into sims (id, tenant_id, iccid, tag, type, status, status_since, pool_id, created_at, updated_at)
    overriding system value
    select id, ${harness.tenant.id}, (8944000000000000000 + id)::text, (${TAGS}::text[])[1 + id % 4], 0, id % 3, now(),
           case when id % 3 > 0 and id % 5 > 0 then (${pools}::integer[])[1 + id % 2] end, now(), now()
      from unnest(${[...ids]}::bigint[]) as i(id)`.execute(harness.root)
  await countPools()
}

async function remove(which: readonly number[] | 'all'): Promise<void> {
  const ids = which === 'all' ? [] : [...which]
  await sql`delete from sims where ${which === 'all'} or id = any(${ids}::bigint[])`.execute(harness.root)
  await countPools()
}

/** No operation removes SIMs, so nothing counts that in pools. */
const countPools = () =>
  sql`update pools p set total_sim_count = c.total, active_sim_count = c.active
        from (select id, (select count(*) from sims where pool_id = o.id) as total,
                     (select count(*) from sims where pool_id = o.id and status = 1) as active from pools o) c
       where c.id = p.id`.execute(harness.root)

const rows = async (): Promise<Row[]> => {
  const all = sql<Row>`
    select id, status, pool_id as "poolId", tag from sims where tenant_id = ${harness.tenant.id} order by id`
  return (await all.execute(harness.root)).rows
}

const linksOf = (headers: Record<string, string>) =>
  Object.fromEntries(
    [...(headers.link ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, url = '', rel = '']) => [rel, url]),
  )

/** Follows `next` from a list's first page on. */
async function walk(tenant: Tenant, url: string, between: (part: number) => Promise<unknown> = async () => undefined) {
  const parts: { readonly ids: number[]; readonly pagination: Record<string, unknown> }[] = []
  for (let next: string | undefined = url; next !== undefined; ) {
    const { status, headers, body } = await tenant.ask('GET', next)
    expect([next, status]).toEqual([next, 200])
    parts.push({ ids: ids(body), pagination: body.pagination })
    next = linksOf(headers).next
    expect(body.pagination.hasNextPage).toBe(next !== undefined)
    await between(parts.length)
  }
  return parts
}

const FILTERS: readonly (readonly [string, (row: Row) => boolean])[] = [
  ['', () => true],
  ['&status=1', ({ status }) => status === 1],
  ['&poolId=POOL', ({ poolId }) => poolId === pools[0]],
  ['&poolId=POOL&status=2', ({ poolId, status }) => poolId === pools[0] && status === 2],
  ['&search=pump', ({ tag }) => tag.startsWith('pump')],
  ['&search=PUMP&status=0', ({ tag, status }) => tag.startsWith('pump') && status === 0],
  ['&search=pu', ({ tag }) => tag.startsWith('pump')],
]

describe('a walk by cursors', () => {
  test('returns each lasting SIM exactly once, in order, for any page size and filter', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 400 }), { minLength: 5, maxLength: 60 }),
        fc.constantFrom(...FILTERS),
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 })), { maxLength: 12 }),
        async (ids, [query, fits], pageSize, changes) => {
          await remove('all')
          const [going, later] = [0, 1].map((kind) => ids.filter((id) => id % 7 === kind)) as [number[], number[]]
          const lasting = ids.filter((id) => id % 7 > 1)
          await insert([...going, ...lasting])
          const url = `/api/sims?pageSize=${pageSize}${query.replace('POOL', String(pools[0]))}`
          const seen = await walk(harness.tenant, url, async (part) => {
            const [gone = 0, come = 0] = changes[part - 1] ?? []
            await remove(going.splice(0, gone))
            await insert(later.splice(0, come))
          })
          const all = seen.flatMap((part) => part.ids)
          const expected = (await rows()).filter((row) => lasting.includes(row.id) && fits(row)).map(({ id }) => id)

          expect(all).toEqual(all.toSorted((a, b) => a - b))
          expect(new Set(all).size).toBe(all.length)
          expect(all.filter((id) => lasting.includes(id))).toEqual(expected)
          expect(seen.slice(0, -1).every((part) => part.ids.length === pageSize)).toBe(true)
        },
      ),
      { numRuns: cases(60) },
    )
  })

  test('continues the numbers of the page that it began with', async () => {
    await remove('all')
    await insert(Array.from({ length: 10 }, (_, n) => n + 1))

    const parts = await walk(harness.tenant, '/api/sims?page=2&pageSize=3', (part) => insert([100 + part, 200 + part]))

    expect(parts.map(({ ids }) => ids)).toEqual([
      [4, 5, 6],
      [7, 8, 9],
      [10, 101, 102],
      [103, 201, 202],
      [203, 204],
    ])
    const always = { pageSize: 3, totalItems: 10, totalPages: 4, hasPreviousPage: true }
    expect(parts.map(({ pagination }) => pagination)).toEqual(
      [2, 3, 4, 5, 6].map((page) => ({ page, ...always, hasNextPage: page < 6 })),
    )
  })

  test('counts nothing: neither blocks nor pools, nor what a search finds', async () => {
    const first = await harness.tenant.ask('GET', '/api/sims?pageSize=3')
    await sql`revoke select on sim_blocks from simherd_tenant`.execute(harness.root)
    try {
      const { next = '' } = linksOf(first.headers)
      expect((await harness.tenant.ask('GET', next)).status).toBe(200)
      expect((await harness.tenant.ask('GET', `${next}&search=894`)).status).toBe(200)
      expect((await harness.tenant.ask('GET', '/api/sims')).status).toBe(500)
    } finally {
      await sql`grant select on sim_blocks to simherd_tenant`.execute(harness.root)
    }
  })
})

/** Lists with several items, of which some have the same instant. */
async function fullLists(): Promise<{ readonly tenant: Tenant; readonly lists: readonly string[] }> {
  const tenant = await aTenant(harness, 'Walked')
  const { id: simId } = await aSim(tenant)
  const [poolId = 0] = await times(5, () => aPool(tenant))
  await sql`
    insert into watchdog_log (tenant_id, sim_id, pool_id, level, message, at, dedupe_key)
    select ${tenant.id}, ${simId}, ${poolId}, 1, 'entry ' || n, timestamptz '2026-11-20T12:00:00.000001Z' + n / 3 * interval '1 microsecond', 'k' || n
      from generate_series(1, 11) n`.execute(harness.root)
  await sql`
    insert into events (tenant_id, type, severity, title, description, at)
    select case when n % 2 = 0 then ${tenant.id} end, 0, 0, 'event', 'entry ' || n, timestamptz '2026-11-20T12:00:00.999999Z' + n / 4 * interval '1 microsecond'
      from generate_series(1, 12) n`.execute(harness.root)
  await times(5, () => tenant.ask('POST', '/api/orders', { type: 1, quantity: 1 }))
  return {
    tenant,
    lists: [
      '/api/pools',
      '/api/orders',
      '/api/events',
      '/api/events?searchTerm=entry',
      '/api/watchdog/logs',
      '/api/watchdog/logs?level=1&date=2026-11-20',
      `/api/sims/${simId}/watchdog-logs`,
      `/api/pools/${poolId}/watchdog-logs`,
    ],
  }
}

test('a search that began with very many hits goes on alike', async () => {
  await remove('all')
  await insert(Array.from({ length: 40 }, (_, n) => n + 1))
  const found = async (total: string) => {
    const cursor = `s${'0'.repeat(14)}${'5'.padStart(14, '0')}${'0'.repeat(8)}${total}`
    const { body } = await harness.tenant.ask('GET', `/api/sims?search=PUMP&pageSize=9&cursor=${cursor}`)
    return ids(body)
  }

  expect(await found('00000028')).toEqual([7, 8, 11, 12, 15, 16, 19, 20, 23])
  expect(await found('00010000')).toEqual([7, 8, 11, 12, 15, 16, 19, 20, 23])
})

describe('cursors', () => {
  test('walk every list of pages as its pages show it', async () => {
    const { tenant, lists } = await fullLists()
    for (const list of lists) {
      const joint = list.includes('?') ? '&' : '?'
      const whole = ids((await tenant.ask('GET', `${list}${joint}pageSize=100`)).body)
      expect([list, whole.length > 4]).toEqual([list, true])
      for (const pageSize of [1, 2, 3, 5]) {
        const parts = await walk(tenant, `${list}${joint}pageSize=${pageSize}`)
        expect([list, parts.flatMap(({ ids }) => ids)]).toEqual([list, whole])
      }
    }
  })

  test('keep filters and page size in their links, and lead back to the first page', async () => {
    await remove('all')
    await insert([4, 8, 12, 16, 20])
    const { headers } = await harness.tenant.ask('GET', '/api/sims?search=pump%3E%22%26&x=1&page=1')
    const first = await harness.tenant.ask('GET', '/api/sims?pageSize=2&search=pump&other=%3E&page=1&cursor=')
    const { next = '' } = linksOf(first.headers)
    const second = await harness.tenant.ask('GET', next)

    expect(headers.link).toBeUndefined()
    expect(next).toMatch(/^\/api\/sims\?pageSize=2&search=pump&cursor=s[0-9a-f]{44}$/)
    expect(linksOf(first.headers).first).toBeUndefined()
    expect(linksOf(second.headers).first).toBe('/api/sims?pageSize=2&search=pump')
  })

  const wrong = (parameter: string, detail: string) => ({
    code: 'invalid_request',
    errors: [{ parameter, detail: expect.stringContaining(detail) }],
  })
  test.each(['abc', 's', '0', 's'.padEnd(45, 'g'), `s2${'0'.repeat(43)}`, `p${'0'.repeat(44)}`, `S${'0'.repeat(44)}`])(
    'refuse %s on a list of SIMs, with what was got and expected',
    async (cursor) => {
      const { status, body } = await harness.tenant.ask('GET', `/api/sims?cursor=${cursor}`)

      expect([status, body]).toMatchObject([400, wrong('cursor', `must be the cursor of a link of this list`)])
      expect(body.detail).toContain(`got '${cursor}'`)
    },
  )

  test('refuse a page beside them, whichever', async () => {
    const cursor = `s${'0'.repeat(44)}`
    for (const page of ['1', '2', 'x']) {
      const { status, body } = await harness.tenant.ask('GET', `/api/sims?page=${page}&cursor=${cursor}`)
      expect([status, body]).toMatchObject([400, wrong('cursor', `goes without page`)])
    }
    expect((await harness.tenant.ask('GET', `/api/sims?cursor=${cursor}&cursor=${cursor}`)).status).toBe(400)
  })

  test('are taken as far as their form goes', async () => {
    for (const digits of ['0'.repeat(44), `1${'f'.repeat(13)}1${'f'.repeat(13)}7${'f'.repeat(7)}7${'f'.repeat(7)}`]) {
      for (const [letter, list] of [
        ['s', '/api/sims'],
        ['p', '/api/pools'],
        ['o', '/api/orders'],
        ['e', '/api/events'],
        ['l', '/api/watchdog/logs'],
      ]) {
        const { status } = await harness.tenant.ask('GET', `${list}?cursor=${letter}${digits}`)
        expect([list, digits, status]).toEqual([list, digits, 200])
      }
    }
  })
})

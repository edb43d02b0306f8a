/** A search over SIMs finds the same with its index as without it. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { listSims, pageOfSims } from '../../../service/sims/rows/sim-reads.ts'
import { findMatchingSims } from '../../../service/tickets/rows/bulk.ts'
import { textsOf } from '../../../store/paging.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { useHarness } from '../harness.ts'
import { ids } from '../specification/estate.ts'

const harness = useHarness()
const TAGS = ['Pump 100%', 'pump_house', 'PÜMP', 'a\\b', 'two\nlines', 'ab', '', 'Straße 7', "o'pump", 'pump\tpump']

beforeAll(async () => {
  for (const tenant of [harness.tenant, harness.other]) {
    const mark = tenant === harness.tenant ? '1' : '2'
    const sims = Array.from({ length: 60 }, (_, n) => ({
      iccid: `89445001${mark}${String(n).padStart(9, '0')}`,
      imsi: `26201${mark}${String(n * 7919).padStart(9, '0')}`,
      msisdn: n % 3 === 0 ? `49170${mark}${String(n * 104_729).padStart(7, '0')}` : '',
      tag: TAGS[n % TAGS.length] ?? '',
    }))
    await tenant.inside('POST', '/internal/sims', { sims })
  }
  await sql`update sims set status = id % 3`.execute(harness.root)
})

/** What the search finds without an index: the four texts one by one. */
async function expected(search: string, status?: number): Promise<number[]> {
  const patterns = textsOf(search).map((text) => `%${text.replace(/[\\%_]/g, '\\$&')}%`)
  const { rows } = await sql<{ id: number }>`
    select id from sims
     where tenant_id = ${harness.tenant.id} and (${status ?? null}::smallint is null or status = ${status ?? null})
       and exists (
         select from unnest(array[iccid, imsi, msisdn, tag]) as t(text) where text ilike any(${patterns}))
     order by id`.execute(harness.root)
  return rows.map(({ id }) => id)
}

const SEARCHES = [
  ['pump', 'PUMP', 'pümp', 'PÜMP', ' pump ', 'pump\tpump', 'straße', 'STRASSE', 'ab', "o'p", 'none of these'],
  ['100%', 'p_h', '%', '_', '\\', 'a\\b', 'two', 'lines', 'two\nlines', '\n', '0\n2', '   ', '---'],
  ['8944500110', '894450011000000007', '894450012', '26201', '49170', '4491'],
  ['8944 5001 1000 0000 07', '8944-5001-1', '894450011000000007F'],
].flat()

describe('a search', () => {
  test.each(SEARCHES.map((search) => [JSON.stringify(search), search]))(
    'finds by %s what the texts have',
    async (_, search) => {
      for (const status of [undefined, 1 as const]) {
        const all = await expected(search, status)
        const filter = { search, ...(status === undefined ? {} : { status }) }

        const page = (page: number) =>
          inTenant(harness.store, harness.tenant.id, (tx) => pageOfSims(tx, { ...filter, page, pageSize: 7 }))
        const pages = [await page(1), await page(2), await page(99)]
        const exported: number[] = []
        for await (const sims of listSims(harness.store, harness.tenant.id, filter))
          exported.push(...sims.map(({ id }) => id))
        const after = all[3] ?? 0
        const bulk = await inTenant(harness.store, harness.tenant.id, (tx) => findMatchingSims(tx, filter, after, 5))

        expect(pages.map(({ data }) => data.map(({ id }) => id))).toEqual([all.slice(0, 7), all.slice(7, 14), []])
        expect(pages.map(({ pagination }) => pagination.totalItems)).toEqual([all.length, all.length, all.length])
        expect(exported).toEqual(all)
        expect(bulk.map(({ simId }) => simId)).toEqual(all.filter((id) => id > after).slice(0, 5))
      }
    },
  )

  test('finds what more SIMs have than the index is asked for', async () => {
    const sims = (from: number) =>
      Array.from({ length: 600 }, (_, n) => ({
        iccid: String(8_944_590_000_000_000_000n + BigInt(from + n)),
        tag: 'Crowd',
      }))
    for (const from of [0, 600]) await harness.tenant.inside('POST', '/internal/sims', { sims: sims(from) })
    const all = await expected('crowd')

    const { body } = await harness.tenant.ask('GET', '/api/sims?search=CROWD&page=11')

    expect(body.pagination.totalItems).toBe(1200)
    expect(ids(body)).toEqual(all.slice(1000, 1100))
  })

  test('is served by the index for the role of the search, and by none for a tenant', async () => {
    const planAs = (role: string) =>
      harness.root.transaction().execute(async (q) => {
        await sql`
          select set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true),
                 set_config('role', ${role}, true), set_config('app.tenant', ${harness.tenant.id}, true)`.execute(q)
        const { rows } = await sql<{ 'QUERY PLAN': string }>`
          explain select id from sims where ${sql.raw(TEXTS)} like '%pump%'`.execute(q)
        return rows.map((row) => row['QUERY PLAN']).join('\n')
      })
    const { rows } = await sql<{ body: string }>`
      select replace(prosrc, '''''', '''') as body from pg_proc where proname = 'search_sims'`.execute(harness.root)

    expect(rows[0]?.body).toContain(TEXTS)
    expect(await planAs('simherd_search')).toContain('Bitmap Index Scan on sims_search')
    expect(await planAs('simherd_tenant')).not.toContain('sims_search')
  })
})

/** The texts of a SIM as the index has them, in the function `search_sims`. */
const TEXTS = String.raw`lower(iccid || e'\n' || imsi || e'\n' || msisdn || e'\n' || tag)`

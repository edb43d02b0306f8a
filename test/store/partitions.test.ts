import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { monthsAhead, partitionsAhead, partitionsFor } from '../../service/usage/rows/partitions.ts'
import { inTenant } from '../../store/tenancy.ts'
import { recordUsage } from '../service/record-usage.ts'
import { aStore, aTenant, someSims } from '../setup/estate.ts'

const NOW = '2026-12-10T12:00:00Z'
const store = await aStore(NOW)

const storedIn = async () => {
  const { rows } = await sql<{ part: string }>`
    select tableoid::regclass::text as part from usage_records order by at`.execute(store.db)
  return rows.map(({ part }) => part)
}
async function aRecorder() {
  const tenantId = await aTenant(store)
  const [sim] = await inTenant(store, tenantId, (tx) => someSims(tx, 1))
  return (...instants: readonly string[]) =>
    recordUsage(
      store,
      tenantId,
      instants.map((at) => ({ recordId: at, simId: sim?.id, at, bytesUp: 1 })),
    )
}

describe('partitions of usage records', () => {
  test('are made ahead once, by concurrent callers', async () => {
    expect(await monthsAhead(store)).toBe(0)

    const [first, atOnce] = await Promise.all([partitionsAhead(store), partitionsAhead(store)])

    expect([...first, ...atOnce].toSorted()).toEqual([
      'usage_records_2026_11',
      'usage_records_2026_12',
      'usage_records_2027_01',
      'usage_records_2027_02',
      'usage_records_2027_03',
    ])
    expect(await partitionsAhead(store)).toEqual([])
    expect(await monthsAhead(store)).toBe(3)
    await sql`drop table usage_records_2027_02`.execute(store.db)
    expect(await monthsAhead(store)).toBe(1)
  })

  test('hold each record by its month, made if missing', async () => {
    const record = await aRecorder()

    const answer = await record('2026-10-01T00:00:00Z', '2026-11-30T23:59:59.999Z', '2026-12-01T00:00:00Z')

    expect(answer).toMatchObject({ accepted: 3, rejected: [] })
    expect(await storedIn()).toEqual(['usage_records_2026_10', 'usage_records_2026_11', 'usage_records_2026_12'])
  })

  test('are made while usage is counted, without waiting', async () => {
    const record = await aRecorder()
    await record(NOW)
    const counting = new pg.Client({ connectionString: store.databaseUrl })
    await counting.connect()
    try {
      await counting.query('begin')
      // As a chunk does: it writes to one month, and reads all.
      await counting.query(`update usage_records set correction = correction`)
      await counting.query('select count(*) from usage_records')

      expect(await partitionsFor(store, [Date.parse('2027-06-01T00:00:00Z')])).toEqual(['usage_records_2027_06'])
    } finally {
      await counting.end()
    }
  })
})

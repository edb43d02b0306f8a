import { parse } from 'csv-parse/sync'
import { beforeAll, describe, expect, test } from 'vitest'
import { aPool, aSim, aTariff, NOON, provisioned, useHarness } from '../harness.ts'
import { used } from '../specification/estate.ts'

const harness = useHarness()
const CLOSED = Date.UTC(2026, 11, 2)
/** Eight messages, and six megabytes of SIMs that were never active and so have neither allowance nor fee. */
const TOTAL = 8 * 50_000 + 6 * 2250
const get = (what: string, key = '2026-11') => harness.tenant.inside('GET', `/internal/cycles/${key}/${what}`)
/** Kind, pool, SIM and adjusted cycle identify a line. */
const names = (lines: { kind: string; poolId: number; simId: number | null; adjusts: string | null }[]) =>
  lines.map(({ kind, poolId, simId, adjusts }) => [kind, poolId, simId, adjusts])

let pools: number[]
let sims: number[]
let outside: number
beforeAll(async () => {
  const { tenant } = harness
  pools = [await aPool(tenant, { name: 'North' }), await aPool(tenant, { name: '=South' })]
  sims = []
  for (const poolId of pools) {
    for (let n = 0; n < 3; n++) {
      const { id } = await aSim(tenant, { tag: `meter ${n}` })
      await provisioned(harness, tenant, id, { poolId })
      await used(harness, tenant, id, { bytesDown: 1_000_000, smsCount: 1 })
      sims.push(id)
    }
  }
  outside = (await aSim(tenant)).id
  await provisioned(harness, tenant, outside, { tariffId: await aTariff(tenant) })
  await used(harness, tenant, outside, { smsCount: 2 })
  harness.now = CLOSED
  await tenant.inside('POST', '/internal/cycles/2026-11/close')
  // This usage comes a month late.
  await tenant.inside('POST', '/internal/usage', {
    records: [{ recordId: 'late', simId: sims[0], at: new Date(NOON).toISOString(), smsCount: 3 }],
  })
  harness.now = Date.UTC(2027, 0, 2)
  await tenant.inside('POST', '/internal/cycles/2026-12/close', { moved: 7 })
})

describe('GET /internal/cycles/{key}/statement', () => {
  test('pages its lines, each pool before its SIMs', async () => {
    const pages: Parameters<typeof names>[0][] = []
    for (let after: number | null = 0; after !== null; ) {
      const { body }: Awaited<ReturnType<typeof get>> = await get(`statement?limit=4&afterLine=${after}`)
      expect(body).toMatchObject({ cycle: '2026-11', lineCount: 9, totalMicro: TOTAL })
      pages.push(body.lines)
      after = body.nextAfterLine
    }
    expect(pages.map((page) => page.length)).toEqual([4, 4, 1])
    expect(names(pages.flat())).toEqual([
      ['sim', 0, outside, null],
      ['pool', pools[0], null, null],
      ...sims.slice(0, 3).map((id) => ['sim', pools[0], id, null]),
      ['pool', pools[1], null, null],
      ...sims.slice(3).map((id) => ['sim', pools[1], id, null]),
    ])
    const { body } = await get('statement', '2026-12')
    expect(body).toMatchObject({ lineCount: 2, totalMicro: 3 * 50_000, nextAfterLine: null })
    expect(names(body.lines)).toEqual([
      ['adjustment', pools[0], null, '2026-11'],
      ['adjustment', pools[0], sims[0], '2026-11'],
    ])
    expect(body.lines[1]).toMatchObject({ smsCount: 3, smsMicro: 150_000, feeMicro: 0, poolName: 'North' })
  })

  test('filters lines by pool or SIM, not the total', async () => {
    const ofPool = (await get(`statement?poolId=${pools[1]}`)).body
    expect(names(ofPool.lines)).toEqual([
      ['pool', pools[1], null, null],
      ...sims.slice(3).map((id) => ['sim', pools[1], id, null]),
    ])
    expect(ofPool.totalMicro).toBe(TOTAL)
    expect(names((await get('statement?poolId=0')).body.lines)).toEqual([['sim', 0, outside, null]])
    expect(names((await get(`statement?simId=${sims[4]}`)).body.lines)).toEqual([['sim', pools[1], sims[4], null]])
    expect((await get(`statement?simId=${sims[0]}`, '2026-12')).body.lines).toHaveLength(1)
    expect((await get('statement?poolId=9007199254740991&simId=9007199254740991')).body.lines).toEqual([])
  })

  test('is empty before the close, 404 for no cycle', async () => {
    const empty = { cycle: '2027-01', currency: 'EUR', totalMicro: 0, lineCount: 0, lines: [], nextAfterLine: null }
    expect((await get('statement', '2027-01')).body).toEqual(empty)
    expect((await get('statement', '2027-13')).body).toMatchObject({ status: 404, code: 'cycle_not_found' })
    expect((await get('statement?limit=10001')).status).toBe(400)
  })
})

describe('GET /internal/cycles/{key}/statement.csv', () => {
  const rows = (csv: string): Record<string, string>[] =>
    parse(csv, { columns: true, record_delimiter: '\r\n', bom: true })

  test('has every line, with formulas escaped', async () => {
    const { status, headers, body } = await get('statement.csv')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="statement-2026-11.csv"',
    })
    expect(rows(body)).toHaveLength(9)
    expect(rows(body)[2]).toMatchObject({ line: 'sim', tag: 'meter 0', tariff: 'Tariff of type 0', currency: 'EUR' })
    expect(rows(body)[5]).toMatchObject({ line: 'pool', pool: "'=South", usageMB: '3', total: '0.000000', adjusts: '' })
    expect(rows((await get('statement.csv', '2026-12')).body)).toMatchObject([
      { line: 'adjustment', pool: 'North', iccid: '', smsCount: '3', adjusts: '2026-11' },
      { line: 'adjustment', tag: 'meter 0', sms: '0.150000', total: '0.150000', adjusts: '2026-11', currency: 'EUR' },
    ])
    expect(rows((await get(`statement.csv?simId=${sims[4]}`)).body)).toHaveLength(1)
    const [first] = rows((await get('statement.csv?spreadsheet=true')).body)
    expect(first?.iccid).toMatch(/^="\d+"$/)
  })

  test('is a header before the close, 404 for no cycle', async () => {
    expect((await get('statement.csv', '2027-01')).body).toBe(
      'line,pool,iccid,usageMB,limitMB,overageMB,voiceMins,smsCount,fee,sms,voice,overage,total,adjusts,tag,tariff,currency\r\n',
    )
    expect((await get('statement.csv', 'x')).body).toMatchObject({ status: 404, code: 'cycle_not_found' })
  })
})

test('GET /internal/cycles/{key}/plan totals open and closed cycles', async () => {
  const planned = (await get('plan', '2027-01')).body
  expect(planned).toMatchObject({ cycle: '2027-01', closedAt: null, statement: false, totals: { lines: 0 } })
  expect((await get('plan', '2026-12')).body).toMatchObject({
    closedAt: '2027-01-02T00:00:00.000Z',
    totals: { lines: 2, adjustmentsMicro: 150_000, totalMicro: 150_000 },
    adjustments: { count: 1, first: [{ cycle: '2026-11', lines: 2, totalMicro: 150_000 }] },
  })
  expect((await get('plan', '2026-13')).body).toMatchObject({ status: 404, code: 'cycle_not_found' })
})

test('POST /internal/cycles/{key}/close reads no counts', async () => {
  const { data } = (await harness.tenant.ask('GET', '/api/events?searchTerm=Billing cycle 2026-12')).body
  expect(data).toHaveLength(1)
  expect(data[0].description).toContain('; 0 SIMs moved, 0 unassigned, 0 brought back')
})

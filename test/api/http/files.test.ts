/** Files as people send them, at each route that takes some: a row is read as it was meant, or it is rejected. */
import { describe, expect, test } from 'vitest'
import { aPool, aSim, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const CSV = { 'content-type': 'text/csv' }
const NDJSON = { 'content-type': 'application/x-ndjson' }
const AT = '2026-11-20T10:00:00Z'
let serial = 0

const send = (url: string, body: string | Buffer, type = CSV) => harness.tenant.inside('POST', url, body, type)
const USAGE = '/internal/usage'
const SIMS = '/internal/sims'
const BULK = '/internal/bulk-tickets?type=suspend'
const BATCH = '/internal/workflows/provision-in-bulk'
const SHIP = '/internal/orders/1/ship?shippingCarrier=x&trackingNumber=1'

const usageOf = async (simId: number) => (await harness.tenant.ask('GET', `/api/sims/${simId}`)).body.usageMB
const aRecordId = () => `files-${++serial}`

describe('a row with more values than columns', () => {
  test('suspends nobody', async () => {
    const [one, two] = [await aSim(harness.tenant), await aSim(harness.tenant)]

    const { status, body } = await send(BULK, `tag,simId\nmeter, ${one.id},${two.id}\nmeter,${two.id},,\n`)
    const items = await harness.tenant.inside('GET', `/internal/bulk-tickets/${body.id}/items`)

    expect(status).toBe(202)
    expect(items.body.data).toMatchObject([
      {
        index: 0,
        simId: null,
        outcome: 'refused',
        detail: expect.stringMatching(`^line 2: got a value in cell 3, "${two.id}"; expected 2 cells`),
      },
      { index: 1, simId: two.id },
    ])
  })

  test('provisions nothing', async () => {
    const { iccid } = await aSim(harness.tenant)
    const poolId = await aPool(harness.tenant)
    const csv = `iccid,tag,poolId\n${iccid},Main St, ${poolId},8\n`

    const whole = await send(BATCH, csv)
    const rest = await send(`${BATCH}?skipInvalid=true`, csv)

    const detail = expect.stringMatching(/^line 2: got a value in cell 4, "8"; expected 3 cells/)
    expect(whole).toMatchObject({
      status: 422,
      body: { code: 'batch_refused', errors: [{ pointer: '/sims/0', code: 'invalid_request', detail }] },
    })
    expect(rest.body).toMatchObject({ total: 1, refused: 1 })
  })
})

test('a usage row that was cut off counts nothing, and all of it when it is sent whole', async () => {
  const { iccid, id } = await aSim(harness.tenant)
  const recordId = aRecordId()
  const row = `recordId,iccid,at,bytesUp,bytesDown\n${recordId},${iccid},${AT}`

  const cut = await send(USAGE, row)
  const whole = await send(USAGE, `${row},1000000,2000000\n`)
  const nothing = await send(USAGE, `{"recordId":"${aRecordId()}","simId":${id},"at":"${AT}","bytesUp":0}`, NDJSON)

  expect(cut.body.rejected).toMatchObject([
    { code: 'invalid_record', detail: expect.stringMatching(/^states no amount: expected one of bytesUp, bytesDown,/) },
  ])
  expect(whole.body).toMatchObject({ accepted: 1, rejectedCount: 0 })
  expect(nothing.body).toMatchObject({ accepted: 1, rejectedCount: 0 })
  expect(await usageOf(id)).toBe(3)
})

describe.each([
  ['usage', USAGE, 'iccid,recordId,at,bytesUp', 'bytesUp'],
  ['an import', SIMS, 'iccid,tag,imsi,type', 'tag'],
  ['a bulk run', BULK, 'iccid,simId,tag,imsi', 'simId'],
  ['a batch', BATCH, 'iccid,tag,poolId,simId', 'tag'],
  ['a shipment', SHIP, 'iccid,tag,imsi,imei', 'tag'],
])('the first line of %s', (_, url, header, column) => {
  test('is read as that of any table', async () => {
    const detail = async (file: string | Buffer) => {
      const { status, body } = await send(url, file)
      return [status, body.detail]
    }

    expect(await detail(`${header},${column}\n1,2,3,4,5\n`)).toEqual([
      400,
      expect.stringContaining(`column ${column} is there twice`),
    ])
    expect(await detail(`${header},ic_cid\n1,2,3,4,5\n`)).toEqual([
      400,
      expect.stringContaining('"ic_cid": did you mean iccid?'),
    ])
    const bytes = Buffer.from(`\uFEFF${header}\r\n`, 'utf16le')
    for (const utf16 of [bytes, Buffer.from(bytes).swap16()]) {
      expect(await detail(utf16)).toEqual([400, expect.stringMatching(/looks like UTF-16: save it as UTF-8/)])
    }
  })
})

test('the pool of a batch is not left out for a misspelled column', async () => {
  const { iccid } = await aSim(harness.tenant)

  const { status, body } = await send(BATCH, `iccid,pool_id\n${iccid},1\n`)

  expect([status, body.detail]).toEqual([400, expect.stringContaining('"pool_id": did you mean poolId?')])
})

test('an exported list is taken by bulk runs and batches', async () => {
  const { iccid, id } = await aSim(harness.tenant)
  await provisioned(harness, harness.tenant, id, { poolId: await aPool(harness.tenant) })
  const exported = await harness.tenant.inside('GET', `/internal/exports/sims.csv?search=${iccid}&spreadsheet=true`)

  const bulk = await send('/internal/bulk-tickets?type=activate&dryRun=true', exported.body)
  const batch = await send(`${BATCH}?skipInvalid=true`, exported.body)

  expect(bulk).toMatchObject({ status: 200, body: { touched: { sims: [{ simId: id }] } } })
  expect(batch).toMatchObject({ status: 202, body: { total: 1 } })
})

test('usage counts nothing under an id that is not UTF-8', async () => {
  const { iccid } = await aSim(harness.tenant)
  const rows = ['Zürich-1', 'Zörich-1'].map((recordId) => `${recordId},${iccid},${AT},1`)
  const lines = ['Zürich-2', 'Zörich-2'].map((recordId) => JSON.stringify({ recordId, iccid, at: AT, bytesUp: 1 }))

  const csv = await send(USAGE, Buffer.from(['recordId,iccid,at,bytesUp', ...rows].join('\n'), 'latin1'))
  const ndjson = await send(USAGE, Buffer.from(lines.join('\n'), 'latin1'), NDJSON)
  const json = await harness.tenant.inside('POST', USAGE, Buffer.from(`{"records":[\n${lines.join(',')}]}`, 'latin1'), {
    'content-type': 'application/json',
  })

  for (const { body } of [csv, ndjson]) {
    expect(body).toMatchObject({ accepted: 0, duplicates: 0, rejectedCount: 2 })
    expect(body.rejected[0].detail).toMatch(/^line \d: has bytes that are not UTF-8/)
  }
  expect([json.status, json.body.detail]).toEqual([400, expect.stringContaining('line 2 is the first that is not')])
})

/** Files as people send them, at each route that takes some: a row is read as it was meant, or it is rejected. */
import { describe, expect, test } from 'vitest'
import { anIccid, aPool, aSim, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const CSV = { 'content-type': 'text/csv' }
const NDJSON = { 'content-type': 'application/x-ndjson' }
const JSON_TYPE = { 'content-type': 'application/json' }
const AT = '2026-11-20T10:00:00Z'

const send = (url: string, body: string | Buffer, type = CSV) => harness.tenant.inside('POST', url, body, type)
const USAGE = '/internal/usage'
const SIMS = '/internal/sims'
const BULK = '/internal/bulk-tickets?type=suspend'
const BATCH = '/internal/workflows/provision-in-bulk'
const SHIP = '/internal/orders/1/ship?shippingCarrier=x&trackingNumber=1'

const usageOf = async (simId: number) => (await harness.tenant.ask('GET', `/api/sims/${simId}`)).body.usageMB

describe('a row with more values than columns', () => {
  test('suspends nobody', async () => {
    const [one, two] = [await aSim(harness.tenant), await aSim(harness.tenant)]
    const detail = expect.stringMatching(`^line 2: got a value in cell 3, "${two.id}"; expected 2 cells`)

    const { status, body } = await send(BULK, `tag,simId\nmeter, ${one.id},${two.id}\nmeter,${two.id},,\n`)
    const items = await harness.tenant.inside('GET', `/internal/bulk-tickets/${body.id}/items`)

    expect(status).toBe(202)
    expect(items.body.data).toMatchObject([
      { index: 0, simId: null, outcome: 'refused', detail },
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
    const errors = [{ pointer: '/sims/0', code: 'invalid_request', detail }]
    expect(whole).toMatchObject({ status: 422, body: { code: 'batch_refused', errors } })
    expect(rest.body).toMatchObject({ total: 1, refused: 1 })
  })
})

test('a usage row that was cut off counts nothing, and all of it when it is sent whole', async () => {
  const { iccid, id } = await aSim(harness.tenant)
  const row = `recordId,iccid,at,bytesUp,bytesDown\nfiles-1,${iccid},${AT}`

  const cut = await send(USAGE, row)
  const whole = await send(USAGE, `${row},1000000,2000000\n`)
  const nothing = await send(USAGE, `{"recordId":"files-2","simId":${id},"at":"${AT}","bytesUp":0}`, NDJSON)

  expect(cut.body.rejected).toMatchObject([
    { code: 'invalid_record', detail: expect.stringMatching(/^states no amount: expected one of bytesUp, bytesDown,/) },
  ])
  expect(whole.body).toMatchObject({ accepted: 1, rejectedCount: 0 })
  expect(nothing.body).toMatchObject({ accepted: 1, rejectedCount: 0 })
  expect(await usageOf(id)).toBe(3)
})

test('usage with unknown fields is refused, or counted without them on request', async () => {
  const { iccid, id } = await aSim(harness.tenant)
  const csv = (n: number) => `recordId,iccid,at,bytesUp,Apn,cell_id\nunknown-${n},${iccid},${AT},1000000,iot,4711\n`
  const json = (n: number) =>
    `{"recordId":"unknown-${n}","simId":${id},"at":"${AT}","bytesUp":1000000,"apn":"iot","cell":{"tac":1}}`
  const onRequest = `${USAGE}?ignoreUnknown=true`

  const refused = await send(USAGE, csv(1))
  const rejected = await send(USAGE, json(2), NDJSON)
  const counted = [
    await send(onRequest, csv(3)),
    await send(onRequest, json(4), NDJSON),
    await send(onRequest, `{"records":[${json(5)},7]}`, JSON_TYPE),
  ]

  expect(refused).toMatchObject({ status: 400, body: { errors: [{ pointer: '' }] } })
  expect(refused.body.detail).toContain('unknown column "Apn", "cell_id"')
  expect(refused.body.detail).toContain('or ignoreUnknown=true to pass it over')
  expect(rejected.body).toMatchObject({ accepted: 0, ignored: [] })
  expect(rejected.body.rejected[0].detail).toMatch(/^apn is not a field of this record: ignoreUnknown=true passes/)
  expect(counted.map(({ body }) => [body.accepted, body.rejectedCount, body.ignored])).toEqual([
    [1, 0, ['Apn', 'cell_id']],
    [1, 0, ['apn', 'cell']],
    [1, 1, ['apn', 'cell']],
  ])
  expect(await usageOf(id)).toBe(3)
})

test.each([
  ['CSV', (iccid: string) => `iccid,ICC type,country\n${iccid},M2M,DE\n`, CSV, ['ICC type', 'country']],
  ['NDJSON', (iccid: string) => `{"iccid":"${iccid}","country":"DE"}`, NDJSON, ['country']],
  ['JSON', (iccid: string) => `{"sims":[{"iccid":"${iccid}","country":"DE"}]}`, JSON_TYPE, ['country']],
] as const)('SIMs with unknown fields in %s are imported on request', async (_, file, type, ignored) => {
  const iccid = anIccid()
  const url = `${SIMS}?ignoreUnknown=true`

  const refused = await send(SIMS, file(iccid), type)
  const tried = await send(`${url}&dryRun=true`, file(iccid), type)
  const imported = await send(url, file(iccid), type)

  expect(JSON.stringify(refused.body)).toContain('or ignoreUnknown=true to pass it over')
  for (const { status, body } of [tried, imported]) {
    expect({ status, ...body }).toMatchObject({ status: 200, created: [{ iccid }], rejected: [], ignored })
  }
})

describe.each([
  ['usage', USAGE, 'iccid,recordId,at,bytesUp', 'bytesUp'],
  ['an import', SIMS, 'iccid,tag,imsi,type', 'tag'],
  ['a bulk run', BULK, 'iccid,simId,tag,imsi', 'simId'],
  ['a batch', BATCH, 'iccid,tag,poolId,simId', 'tag'],
  ['a shipment', SHIP, 'iccid,tag,imsi,imei', 'tag'],
])('the first line of %s', (_, url, header, column) => {
  test('is read as that of any table', async () => {
    const bytes = Buffer.from(`\uFEFF${header}\r\n`, 'utf16le')

    for (const [file, detail] of [
      [`${header},${column}\n1,2,3,4,5\n`, `column ${column} is there twice`],
      [`${header},ic_cid\n1,2,3,4,5\n`, '"ic_cid": did you mean iccid?'],
      [bytes, 'looks like UTF-16: save it as UTF-8'],
      [Buffer.from(bytes).swap16(), 'looks like UTF-16: save it as UTF-8'],
    ] as const) {
      const { status, body } = await send(url, file)
      expect([status, body.detail]).toEqual([400, expect.stringContaining(detail)])
    }
  })
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

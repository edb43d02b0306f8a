/** Names, tags and other short texts that callers give: without control characters, wherever they come in. */
import { parse } from 'csv-parse/sync'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { internalOpenapiDocument, openapiDocument } from '../../../api/openapi.ts'
import { LABEL_PATTERN } from '../../../domain/text.ts'
import { anIccid, aPool, aSim, aTariff, NOON, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
const CSV = { 'content-type': 'text/csv' }
const NDJSON = { 'content-type': 'application/x-ndjson' }

let simId: number
let poolId: number
let tariffId: number
beforeAll(async () => {
  tariffId = await aTariff(harness.tenant)
  poolId = await aPool(harness.tenant, { tariffId, name: 'meters' })
  simId = (await aSim(harness.tenant)).id
})

const standardTariff = { simMonthlyFee: 1, smsFee: 1, voiceFee: 1, overageFeePerGb: 1, baseTariffGb: 1 }
const tariff = { type: 0, standardTariff }
const pool = () => ({ type: 0, tariffId, watchdogMode: 1 })

describe('a name with a control character is refused, and named', () => {
  type Door = readonly [method: string, url: () => string, pointer: string, body: (text: string) => object]
  const ship = () => '/internal/orders/1/ship'
  const doors: Door[] = [
    ['PATCH', () => `/api/sims/${simId}/tag`, '/tag', (tag) => ({ tag })],
    ['POST', () => '/api/pools', '/name', (name) => ({ ...pool(), name })],
    ['PUT', () => `/api/pools/${poolId}`, '/name', (name) => ({ name, watchdogMode: 1 })],
    ['PATCH', () => '/api/tenant/name', '/name', (name) => ({ name })],
    ['POST', () => '/internal/tenants', '/name', (name) => ({ name, billingEmail: 'billing@meadow.example' })],
    ['POST', () => '/internal/tickets/provision', '/tag', (tag) => ({ simId, tag })],
    ['POST', () => '/internal/bulk-tickets', '/tag', (tag) => ({ type: 'provision', sims: { ids: [simId] }, tag })],
    ['POST', () => '/internal/workflows/provision-and-activate', '/tag', (tag) => ({ simId, tag })],
    ['POST', () => '/internal/tariffs', '/displayName', (displayName) => ({ ...tariff, displayName })],
    ['POST', () => '/internal/keys', '/name', (name) => ({ name, scopes: ['read'] })],
    ['POST', () => '/internal/webhooks', '/description', (description) => ({ url: 'https://a.example/', description })],
    ['POST', ship, '/shippingCarrier', (shippingCarrier) => ({ shippingCarrier, trackingNumber: '1' })],
    ['POST', ship, '/trackingNumber', (trackingNumber) => ({ shippingCarrier: 'a', trackingNumber })],
    ['PATCH', () => '/internal/orders/1', '/paymentInvoiceId', (text) => ({ paymentInvoiceId: text })],
  ]

  test.each(doors)('%s %s: %s', async (method, url, pointer, body) => {
    const ask = url().startsWith('/api/') ? harness.tenant.ask : harness.tenant.inside
    for (const [text, said] of [
      ['a\tb', 'U+0009 at character 2'],
      ['c\nd', 'U+000A at character 2'],
      ['a\rb', 'U+000D at character 2'],
      ['abc\n', 'U+000A at character 4'],
      ['a\u007Fb', 'U+007F at character 2'],
      ['a\u0085b', 'U+0085 at character 2'],
      ['a\u2028b', 'U+2028 at character 2'],
    ] as const) {
      const answer = await ask(method, url(), body(text))

      const detail = `has the control character ${said}; expected none`
      expect([answer.status, answer.body.errors]).toEqual([400, [{ pointer, detail }]])
      expect(answer.body.detail).toBe(`${pointer} ${detail}.`)
    }
  })

  test.each([
    ['JSON', () => ({ sims: [{ iccid: anIccid(), tag: 'c\nd' }] }), {}],
    ['NDJSON', () => JSON.stringify({ iccid: anIccid(), tag: 'c\nd' }), NDJSON],
    ['CSV', () => `iccid,tag\n${anIccid()},"c\nd"\n`, CSV],
  ])('POST /internal/sims as %s: tag', async (_, file, headers) => {
    const { status, body } = await harness.tenant.inside('POST', '/internal/sims', file(), headers)

    expect([status, body.created, body.rejected.length]).toEqual([200, [], 1])
    const why = 'tag: got "c\\nd"; expected text of at most 128 characters, without control'
    expect(body.rejected[0].detail).toContain(why)
  })

  test.each([
    ['JSON', () => ({ sims: [{ simId, tag: 'c\nd' }] }), {}],
    ['CSV', () => `simId,tag\n${simId},"c\nd"\n`, CSV],
  ])('POST /internal/workflows/provision-in-bulk as %s: tag', async (_, file, headers) => {
    const url = '/internal/workflows/provision-in-bulk'
    const { status, body } = await harness.tenant.inside('POST', url, file(), headers)

    expect(status).toBe(422)
    expect(JSON.stringify(body)).toContain('tag has the control character U+000A at character 2; expected none')
  })

  test('POST /internal/bulk-tickets as CSV: the tag of its query', async () => {
    const url = '/internal/bulk-tickets?type=provision&tag=c%0Ad'
    const { status, body } = await harness.tenant.inside('POST', url, `simId\n${simId}\n`, CSV)

    const detail = 'has the control character U+000A at character 2; expected none'
    expect([status, body.errors]).toEqual([400, [{ parameter: 'tag', detail }]])
  })
})

test.each(['Zähler "Nord"; Süd, 東京 🐑', ' =1+1', '\u00A0', '', 'a\u200Bb'])('a tag may be %j', async (tag) => {
  expect((await harness.tenant.ask('PATCH', `/api/sims/${simId}/tag`, { tag })).status).toBe(200)
  expect((await harness.tenant.ask('GET', `/api/sims/${simId}`)).body.tag).toBe(tag)
})

/** Text fields of requests that are a name or a tag by their own name, and how they are restricted. */
function labelsOf(document: object, value: unknown, path: string): { path: string; pattern: unknown }[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    if (key === '$ref') {
      const name = String(inner).split('/').at(-1) ?? ''
      return labelsOf(document, Object(document).components.schemas[name], `${path}/${name}`)
    }
    const isLabel = /^(tag|name|displayName|author|shippingCarrier|trackingNumber|paymentInvoiceId)$/.test(key)
    const isText = typeof inner === 'object' && inner !== null && [inner.type].flat().includes('string')
    return [
      ...(isLabel && isText ? [{ path: `${path}/${key}`, pattern: inner.pattern }] : []),
      ...labelsOf(document, inner, `${path}/${key}`),
    ]
  })
}

test('every name and tag of a request body has the same pattern', async () => {
  const documents = [await openapiDocument(), await internalOpenapiDocument()]
  const labels = documents.flatMap((document) =>
    Object.entries(Object(document).paths).flatMap(([path, operations]) =>
      Object.entries(operations ?? {}).flatMap(([method, operation]) =>
        labelsOf(document, Object(operation).requestBody, `${method} ${path}`),
      ),
    ),
  )

  expect(labels.length).toBeGreaterThan(15)
  // A silence is compared with tags, old ones too. A pool that is sent back has its tariff in it, which is ignored.
  const others = labels.filter(({ path, pattern }) => pattern !== LABEL_PATTERN && !/silences|TariffSummary/.test(path))
  expect(others).toEqual([])
})

describe('names and tags from before', () => {
  const OLD = { tag: 'c\nd', other: 'a\rb', name: 'x\ny' }
  let other: number
  beforeAll(async () => {
    other = (await aSim(harness.tenant, { tag: 'old' })).id
    await provisioned(harness, harness.tenant, simId, { poolId })
    await sql`update sims set tag = ${OLD.tag} where id = ${simId}`.execute(harness.root)
    await sql`update sims set tag = ${OLD.other} where id = ${other}`.execute(harness.root)
    await sql`update pools set name = ${OLD.name} where id = ${poolId}`.execute(harness.root)
  })

  test('are read', async () => {
    const sim = await harness.tenant.ask('GET', `/api/sims/${simId}`)
    const list = await harness.tenant.ask('GET', '/api/sims?search=c')
    const shown = await harness.tenant.ask('GET', `/api/pools/${poolId}`)

    expect([sim.body.tag, list.status, shown.body.name]).toEqual([OLD.tag, 200, OLD.name])
  })

  test('are exported in rows of as many cells as the first line has', async () => {
    for (const what of ['sims', 'pools', 'tariffs', 'tickets', 'events', 'watchdog-logs']) {
      const { body } = await harness.tenant.inside('GET', `/internal/exports/${what}.csv`)

      // Throws if a row has another number of cells.
      const rows: string[][] = parse(body, { record_delimiter: ['\r\n', '\n', '\r'] })
      if (what === 'sims') expect(rows.flat()).toEqual(expect.arrayContaining([OLD.tag, OLD.other]))
      if (what === 'pools') expect(rows.flat()).toContain(OLD.name)
    }
  })

  test('are stated in rows of as many cells', async () => {
    const at = new Date(NOON).toISOString()
    await harness.tenant.inside('POST', '/internal/usage', { records: [{ recordId: 'a', simId, at, bytesUp: 1e6 }] })
    const { body } = await harness.at(Date.UTC(2026, 11, 2), async () => {
      await harness.tenant.inside('POST', '/internal/cycles/2026-11/close')
      return harness.tenant.inside('GET', '/internal/cycles/2026-11/statement.csv')
    })

    expect(parse(body, { record_delimiter: ['\r\n', '\n', '\r'] }).flat()).toContain(OLD.name)
  })

  test('may be changed', async () => {
    const { body } = await harness.tenant.ask('GET', `/api/pools/${poolId}`)

    expect((await harness.tenant.ask('PUT', `/api/pools/${poolId}`, { ...body, name: 'meters' })).status).toBe(200)
    expect((await harness.tenant.ask('PATCH', `/api/sims/${other}/tag`, { tag: 'new' })).status).toBe(200)
  })
})

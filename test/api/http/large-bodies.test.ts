/** Bodies that are large, deep or wrong in very many places: they cost little and delay no other request. */
import { describe, expect, test } from 'vitest'
import { SLOWEST, timed } from '../../setup/timed.ts'
import { useHarness } from '../harness.ts'

const harness = useHarness()
const MIB = 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json' }
const NDJSON = { 'content-type': 'application/x-ndjson' }

/** An object of unknown fields, as JSON of about this length. */
function unknownFields(length: number): string {
  const fields: string[] = []
  for (let used = 2; used < length - 20; used += (fields.at(-1)?.length ?? 0) + 1) fields.push(`"f${fields.length}":1`)
  return `{${fields.join(',')}}`
}
const wide = (fields: number) => Object.fromEntries(Array.from({ length: fields }, (_, n) => [`f${n}`, n]))
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

const listeners = [
  { listener: 'public', ask: (body: string) => harness.tenant.ask('PATCH', '/api/tenant/name', body, JSON_TYPE) },
  { listener: 'internal', ask: (body: string) => harness.operate('POST', '/internal/tenants', body, JSON_TYPE) },
]

describe.each(listeners)('the $listener listener', ({ ask }) => {
  test('refuses 1 MiB of unknown fields within 100 ms', async () => {
    const body = unknownFields(MIB)

    const [answer, waited] = await timed(() => ask(body))

    const detail = 'has more fields than the 200 an object may have'
    const errors = [{ pointer: '', detail }]
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'invalid_request', detail: `body ${detail}.`, errors })
    expect(waited).toBeLessThan(100 * SLOWEST)
  })

  test('lists 100 faults and counts the others', async () => {
    const { status, body } = await ask(JSON.stringify(wide(150)))

    const faults = new Set(body.errors.map(({ pointer }: { pointer: string }) => pointer))
    expect(status).toBe(400)
    expect([body.errors.length, faults.size]).toEqual([100, 100])
    expect(body.detail).toMatch(/; and 5\d more\.$/)
  })

  test('refuses more than 64 levels, naming the place', async () => {
    const answers = [await ask(`{"name": {"a/b": [0, ${deep(62)}]}}`), await ask(deep(500_000))]

    expect(answers.map(({ status, body }) => [status, body.errors[0].pointer])).toEqual([
      [400, `/name/a~1b/1${'/0'.repeat(61)}`],
      [400, '/0'.repeat(64)],
    ])
    expect(answers[0]?.body.errors[0].detail).toBe('is nested deeper than the 64 levels there may be')
  })

  test('reads 64 levels and 200 fields', async () => {
    const answers = [await ask(`{"name": ${deep(63)}}`), await ask(JSON.stringify({ name: wide(200) }))]

    for (const { status, body } of answers) {
      expect([status, body.errors.some(({ pointer }: { pointer: string }) => pointer === '/name')]).toEqual([400, true])
      expect(body.errors[0].detail).not.toMatch(/may (be|have)/)
    }
  })
})

describe('a list', () => {
  test('with 100,000 faults is refused for the first', async () => {
    const body = `{"shippingCarrier":"a","trackingNumber":"1","iccids":[${'{},'.repeat(MIB / 3 - 50)}1]}`

    const [answer, waited] = await timed(() =>
      harness.tenant.inside('POST', '/internal/orders/1/ship', body, JSON_TYPE),
    )

    expect(answer.status).toBe(400)
    expect(answer.body.errors).toEqual([
      { pointer: '/iccids', detail: 'got 349,476 items, expected at most 10,000 items' },
    ])
    expect(waited).toBeLessThan(1000 * SLOWEST)
  })

  test('of SIMs rejects only lines too deep or wide', async () => {
    const lines = ['{"iccid":"8944500102999999991"}', deep(10_000), JSON.stringify(wide(5000))]
    const { status, body } = await harness.tenant.inside('POST', '/internal/sims', lines.join('\n'), NDJSON)

    expect(status).toBe(200)
    expect(body.created.length).toBe(1)
    expect(body.rejected.map(({ detail }: { detail: string }) => detail)).toEqual([
      expect.stringContaining('is nested deeper than the 64 levels there may be'),
      expect.stringContaining('has more fields than the 200 an object may have'),
    ])
  })

  test('of usage records rejects too deep or wide records', async () => {
    const record = { recordId: 'x', iccid: '8944500102999999991', at: '2026-11-20T10:00:00Z' }
    const lines = [deep(10_000), JSON.stringify({ ...record, ...wide(1000) })].join('\n')
    const ndjson = await harness.tenant.inside('POST', '/internal/usage', lines, NDJSON)
    const json = await harness.tenant.inside('POST', '/internal/usage', { records: [record, wide(201)] })

    expect(ndjson.body).toMatchObject({ accepted: 0, rejectedCount: 2 })
    expect(ndjson.body.rejected.map(({ detail }: { detail: string }) => detail)).toEqual([
      expect.stringMatching(/^line 1: \S+ is nested deeper than the 64 levels there may be$/),
      'line 2: has more fields than the 200 an object may have',
    ])
    expect([json.status, json.body.errors?.[0].pointer]).toEqual([400, '/records/1'])
  })
})

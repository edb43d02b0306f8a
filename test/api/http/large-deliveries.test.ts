/** Usage deliveries of more than one chunk (1,000 records, one transaction), over HTTP as mediation sends them. */
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { aSim, useHarness } from '../harness.ts'

const harness = useHarness()
const AT = '2026-11-20T10:00:00Z'
const NDJSON = 'application/x-ndjson'
const MIB = 1024 * 1024

let url: string
let iccid: string
beforeAll(async () => {
  url = await harness.inside.listen({ host: '127.0.0.1', port: 0 })
  iccid = (await aSim(harness.tenant)).iccid
})

async function send(type: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  const sender = { authorization: `Bearer ${harness.operatorKey}`, 'x-tenant-id': harness.tenant.id }
  const all = { ...sender, 'content-type': type, ...headers }
  const answer = await fetch(`${url}/internal/usage`, { method: 'POST', headers: all, body, duplex: 'half' })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it
  return { status: answer.status, body: (await answer.json()) as any }
}
const usageOf = async () => (await harness.tenant.ask('GET', `/api/sims/${iccid}`)).body.usageMB

/** Records of 1,000 bytes each; those at `bad` have an invalid time. */
const records = (name: string, count: number, bad: readonly number[] = []) =>
  Array.from({ length: count }, (_, i) => {
    const at = bad.includes(i) ? 'yesterday' : AT
    return { recordId: `${name}-${i}`, iccid, at, bytesUp: 1000 }
  })
const asLines = (all: readonly object[]) => all.map((record) => JSON.stringify(record)).join('\n')
const asCsv = (all: readonly object[]) =>
  ['recordId,iccid,at,bytesUp', ...all.map((record) => Object.values(record).join())].join('\n')

describe.each([
  ['JSON', 'application/json', (all: readonly object[]) => JSON.stringify({ records: all })],
  ['NDJSON', NDJSON, asLines],
  ['CSV', 'text/csv', asCsv],
])('POST /internal/usage with 2,500 records as %s', (name, type, text) => {
  test('counts each once, rejects bad ones by index', async () => {
    const before = await usageOf()
    const bad = [0, 999, 1000, 1001, 2499]
    const body = gzipSync(text(records(name, 2500, bad)))

    const first = await send(type, body, { 'content-encoding': 'gzip' })
    const again = await send(type, body, { 'content-encoding': 'gzip' })

    expect(first).toMatchObject({ status: 200, body: { accepted: 2495, duplicates: 0, rejectedCount: 5 } })
    expect(first.body.rejected.map(({ index }: { index: number }) => index)).toEqual(bad)
    expect(again.body).toMatchObject({ accepted: 0, duplicates: 2495, rejectedCount: 5 })
    expect((await usageOf()) - before).toBeCloseTo(2.495, 6)
  })
})

test('POST /internal/usage lists 1,000 rejected records, counts 2,100', async () => {
  const bad = Array.from({ length: 2100 }, (_, i) => i + 1200)

  const { body } = await send(NDJSON, asLines(records('cap', 3500, bad)))

  expect([body.accepted, body.rejectedCount, body.rejected.length]).toEqual([1400, 2100, 1000])
  expect([body.rejected[0].index, body.rejected.at(-1).index]).toEqual([1200, 2199])
})

describe('POST /internal/usage over 32 MiB', () => {
  const padded = (i: number) =>
    `${JSON.stringify(records('long', 1)[0]).replace('long-0', `long-${i}`)}${' '.repeat(30_000)}`

  test('streams NDJSON of any length', async () => {
    const body = Array.from({ length: 1200 }, (_, i) => padded(i)).join('\n')
    expect(body.length).toBeGreaterThan(34 * MIB)

    const answer = await send(NDJSON, body)

    expect([answer.status, answer.body.accepted, answer.body.rejectedCount]).toEqual([200, 1200, 0])
  })

  test('answers 413 to JSON and counts nothing', async () => {
    const before = await usageOf()
    const body = `{"records":[${Array.from({ length: 1200 }, (_, i) => padded(i + 5000)).join()}]}`

    const plain = await send('application/json', body)
    const packed = await send('application/json', gzipSync(body), { 'content-encoding': 'gzip' })

    for (const { status, body: problem } of [plain, packed]) {
      expect([status, problem.code]).toEqual([413, 'payload_too_large'])
      expect(problem.detail).toContain('send NDJSON or CSV')
    }
    expect(await usageOf()).toBe(before)
    // The unread rest of the bodies blocks no later request on their connections.
    expect((await send(NDJSON, asLines(records('after', 1)))).body).toMatchObject({ accepted: 1 })
  })

  test('measures JSON in bytes, not in letters', async () => {
    const body = `{"records":[],"comment":"${'ü'.repeat(17 * MIB)}"}`

    expect((await send('application/json', body)).status).toBe(413)
  })
})

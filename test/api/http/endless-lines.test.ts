/** Usage deliveries with endless lines: read in bounded memory, plain and gzipped. */
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { aSim, useHarness } from '../harness.ts'

const harness = useHarness()
const MIB = 1024 * 1024
const NDJSON = 'application/x-ndjson'
const CSV = 'text/csv'

/** Gzip streams may follow one another, so an endless line is cheap to make. */
const endless = (text: string, mebibytes: number) => {
  const one = gzipSync(text.repeat(MIB / text.length))
  return Buffer.concat(Array.from({ length: mebibytes }, () => one))
}

/** A mebibyte of letters with so much noise that it packs as records do: 1 to 60. */
const NOISY = randomBytes(MIB / 128)
  .toString('hex')
  .padEnd(MIB, 'x')

/** Sends a delivery. @returns the response, and the most bytes the process grew by while reading it */
async function send(body: Buffer | string, type: string, more = {}, url = '/internal/usage') {
  globalThis.gc?.()
  const before = process.memoryUsage.rss()
  let most = before
  const look = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 5)
  try {
    const answer = await harness.tenant.inside('POST', url, body, { 'content-type': type, ...more })
    return { ...answer, grown: Math.max(most, process.memoryUsage.rss()) - before }
  } finally {
    clearInterval(look)
  }
}
const GZIP = { 'content-encoding': 'gzip' }
/** The most a process may grow by while it reads a delivery of any length. */
const BOUND = 120 * MIB

describe('an endless line', () => {
  test('is rejected alone in NDJSON; its neighbours count', async () => {
    const { iccid } = await aSim(harness.tenant)
    const record = (recordId: string) =>
      JSON.stringify({ recordId, iccid, at: '2026-11-20T10:00:00Z', bytesUp: 1, imei: '' })
    const body = Buffer.concat([
      gzipSync(`${record('before')}\n`),
      endless(NOISY, 200),
      gzipSync(`\n\r\n${record('after')}\r\n${record('last')}`),
    ])

    const { status, body: answer, grown } = await send(body, NDJSON, GZIP)

    expect(status).toBe(200)
    const rejected = [{ index: 1, code: 'invalid_record', detail: 'line 2: is longer than 65536 bytes' }]
    expect(answer).toMatchObject({ accepted: 3, duplicates: 0, rejectedCount: 1, rejected })
    expect(grown).toBeLessThan(BOUND)
  })

  test('of quoted cells with newlines breaks a CSV off, naming the line', async () => {
    const text = '"\n",,,,,'
    const { iccid } = await aSim(harness.tenant)
    const head = `recordId,iccid,at\r\na,${iccid},2026-11-20T10:00:00Z\r\n`

    const answer = await send(Buffer.concat([gzipSync(head), endless(text, 64)]), CSV, GZIP)
    const plain = await send(`${head}${text.repeat(100_000)}`, CSV)

    const detail = 'The CSV cannot be read: the record in line 3 is longer than 65536 bytes'
    for (const { status, body } of [answer, plain]) expect([status, body.detail]).toEqual([400, detail])
    expect(answer.grown).toBeLessThan(BOUND)
  })

  test('is refused at 32 MiB in JSON', async () => {
    const body = Buffer.concat([gzipSync('{"records":["'), endless('x', 200)])

    const { status, grown } = await send(body, 'application/json', GZIP)

    expect(status).toBe(413)
    expect(grown).toBeLessThan(3 * BOUND)
  })
})

test('POST /internal/usage reads lines of at most 65,536 bytes', async () => {
  const { iccid } = await aSim(harness.tenant)
  const record = JSON.stringify({ recordId: 'ü', iccid, at: '2026-11-20T10:00:00Z', bytesUp: 1 })
  const lines = [record.padEnd(65_536 - 1, ' '), record.padEnd(65_536, ' '), 'ü'.repeat(40_000)]

  const { body } = await send(lines.join('\n'), NDJSON)

  expect([body.accepted, body.duplicates, body.rejectedCount]).toEqual([1, 0, 2])
})

describe('a list of SIMs', () => {
  test.each([
    ['/internal/sims', CSV, 'iccid\n'],
    ['/internal/bulk-tickets?type=2', CSV, 'iccid\n'],
    ['/internal/workflows/provision-in-bulk', CSV, 'iccid\n'],
    ['/internal/sims', NDJSON, ''],
  ])('at %s as %s rejects a 6 MiB line', async (url, type, head) => {
    const { status, body } = await send(head + ','.repeat(6 * MIB), type, {}, url)

    const said = JSON.stringify([body.detail, body.rejected])
    expect([200, 400]).toContain(status)
    expect(said).toMatch(/line [12]\b.*longer than 65536 bytes/)
  })
})

/** Files of blank lines, of faults, or of what unpacks to too much: refused at a small cost, at every route that takes files. */
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { lockWaiters } from '../../setup/lock-waits.ts'
import { soon } from '../../setup/soon.ts'
import { SLOWEST, timed } from '../../setup/timed.ts'
import { anIccid, aSim, openConnections, useHarness } from '../harness.ts'

const harness = useHarness()
const MIB = 1024 * 1024
const [JSON_TYPE, NDJSON, CSV] = ['application/json', 'application/x-ndjson', 'text/csv']

/** Several gzip streams make one: a large one is cheap to make. */
const packed = (head: string, text: string, mebibytes: number) => {
  const one = gzipSync(text.repeat(MIB / text.length))
  return Buffer.concat([gzipSync(head), ...Array.from({ length: mebibytes }, () => one)])
}

/** Answer to a file, and CPU time of the thread that serves all requests, in milliseconds. */
async function send(url: string, type: string, body: Buffer | string, headers: Record<string, string> = {}) {
  const [answer, cost] = await timed(() =>
    harness.tenant.inside('POST', url, body, { 'content-type': type, ...headers }),
  )
  return { ...answer, cost }
}

const record = (recordId: string) => `{"recordId":"${recordId}","simId":1,"at":"2026-11-20T10:00:00Z","smsCount":1}\n`
const BLANK = /^The file was not read to its end: got \d+ blank lines beside \d+ others; expected at most 1000 more/
const FAULTY = /^The file was not read to its end: got \d+ faulty records beside \d+ others; .*the last: \w+/
const UNPACKED =
  /^The body unpacks to \d+ bytes and more, of \d+ that arrived: expected at most 100 times as many; send/

describe('POST /internal/usage refuses a gzip', () => {
  test.each([
    ['of blank lines', NDJSON, '', '\n', 400, BLANK],
    ['of white space', NDJSON, '', ' \r\n', 400, BLANK],
    ['of blank lines behind a record', NDJSON, record('before'), '\r\n', 400, BLANK],
    ['of lines x', NDJSON, '', 'x\n', 400, FAULTY],
    ['of open objects', NDJSON, '', '{"\n', 400, FAULTY],
    ['of empty objects', NDJSON, '', '{}\n', 400, FAULTY],
    ['of one record', NDJSON, '', record('again'), 413, UNPACKED],
    ['of blank lines', CSV, 'recordId,simId,at\n', '\n', 400, BLANK],
    ['of blank lines before the columns', CSV, '', '\r\n', 400, BLANK],
    ['of white space', CSV, 'recordId,simId,at\n', '\u00A0\n', 400, BLANK],
    ['of empty rows', CSV, 'recordId,simId,at\n', ',"",\n', 400, BLANK],
    ['of rows x', CSV, 'recordId,simId,at\n', 'x\n', 400, FAULTY],
  ])('%s, as %s', async (_, type, head, text, status, detail) => {
    const answer = await send('/internal/usage', type, packed(head, text, 16), { 'content-encoding': 'gzip' })

    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringMatching(detail)])
    expect(answer.cost).toBeLessThan(2000 * SLOWEST)
  })
})

describe('POST /internal/usage', () => {
  test.each([
    ['NDJSON', NDJSON, 'x\n'.repeat(20_000)],
    ['CSV', CSV, `recordId,simId,at\n${'x\n'.repeat(20_000)}`],
    ['JSON', JSON_TYPE, `{"records":[${'1,'.repeat(20_000)}1]}`],
  ])('breaks %s off at the 1,001st fault', async (_, type, text) => {
    const { status, body } = await send('/internal/usage', type, text)

    expect([status, body.detail]).toEqual([400, expect.stringContaining('got 1001 faulty records beside 0 others')])
  })

  test('takes as many faults as good records, and 1,000 more', async () => {
    const lines = Array.from({ length: 2000 }, (_, n) => `${n < 1000 ? record(`good-${n}`) : ''}x\n\n`)

    const { status, body } = await send('/internal/usage', NDJSON, lines.join(''))

    // The SIM is not there, so the good ones are rejected too.
    expect([status, body.rejectedCount]).toEqual([200, 3000])
  })
})

describe('a route that takes files', () => {
  const ROUTES = [
    ['/internal/sims', CSV, 'iccid\n'],
    ['/internal/sims', NDJSON, ''],
    ['/internal/orders/1/ship?shippingCarrier=a&trackingNumber=1', CSV, 'iccid\n'],
    ['/internal/orders/1/ship?shippingCarrier=a&trackingNumber=1', NDJSON, ''],
    ['/internal/bulk-tickets?type=activate', CSV, 'iccid\n'],
    ['/internal/workflows/provision-in-bulk', CSV, 'iccid\n'],
  ] as const

  describe.each(ROUTES)('%s, as %s', (url, type, head) => {
    test.each([
      ['blank lines', '\n'],
      ['white space', type === CSV ? ' ,\n' : ' \r\n'],
    ])('refuses 6 MiB of %s', async (_, text) => {
      const { status, body, cost } = await send(url, type, head + text.repeat((6 * MIB) / text.length))

      expect([status, body.detail]).toEqual([400, expect.stringMatching(BLANK)])
      expect(cost).toBeLessThan(500 * SLOWEST)
    })

    test('refuses 6 MiB of faulty rows', async () => {
      const { status, body, cost } = await send(url, type, head + 'x\n'.repeat(3 * MIB))

      expect(status).toBe(400)
      expect(body.detail).toMatch(/has more than 100000 SIMs: send it in parts|faulty records/)
      expect(cost).toBeLessThan(4000 * SLOWEST)
    })
  })

  test('/internal/sims breaks off at the 1,001st fault, as JSON too', async () => {
    const { status, body } = await send('/internal/sims', JSON_TYPE, JSON.stringify({ sims: Array(20_000).fill(1) }))

    expect([status, body.detail]).toEqual([400, expect.stringMatching(/got 1001 faulty records beside 0 others/)])
  })

  test('refuses more SIMs than any takes, and leaves none out', async () => {
    const rows = Array.from({ length: 100_002 }, (_, n) => `${n + 1}\n`).join('')

    const { status, body } = await send('/internal/bulk-tickets?type=activate', CSV, `simId\n${rows}`)

    expect([status, body.detail]).toEqual([400, 'The file has more than 100000 SIMs: send it in parts.'])
  })
})

describe('a sender that leaves', () => {
  let port: number
  beforeAll(async () => {
    port = Number(new URL(await harness.inside.listen({ host: '127.0.0.1', port: 0 })).port)
  })

  /** Sends a whole request. */
  function sent(url: string, type: string, body: string) {
    const socket = connect(port, '127.0.0.1')
    const headers = [
      `POST ${url} HTTP/1.1`,
      'host: x',
      `authorization: Bearer ${harness.operatorKey}`,
      `x-tenant-id: ${harness.tenant.id}`,
      `content-type: ${type}`,
      `content-length: ${Buffer.byteLength(body)}`,
    ]
    socket.write(`${headers.join('\r\n')}\r\n\r\n${body}`)
    return socket
  }

  /** Sends a request, and leaves while its transaction waits for what `lock` holds. Waits until the transaction has ended. */
  async function leaveBehind(lock: ReturnType<typeof sql>, url: string, type: string, body: string) {
    await harness.root.transaction().execute(async (tx) => {
      await lock.execute(tx)
      const socket = sent(url, type, body)
      await soon(async () => expect(await lockWaiters({ db: harness.root })).toBe(1))
      socket.destroy()
      await soon(async () => expect(await openConnections(harness.inside)).toBe(0))
    })
    await soon(async () => {
      const { rows } = await sql`
        select 1 from pg_stat_activity
         where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`.execute(harness.root)
      expect(rows).toEqual([])
    })
  }

  test('has none of the usage counted that waits', async () => {
    const { iccid } = await aSim(harness.tenant)
    const line = JSON.stringify({ recordId: 'left', iccid, at: '2026-11-20T10:00:00Z', bytesUp: 5_000_000 })
    const merge = sql`select pg_advisory_xact_lock(hashtext('simherd.merge'), hashtext(${harness.tenant.id}))`

    await leaveBehind(merge, '/internal/usage', NDJSON, line)

    const ended = await soon(async () => {
      const { body } = await harness.tenant.inside('GET', '/internal/usage-deliveries?pageSize=1')
      expect(body.data[0].endedAt).not.toBeNull()
      return body.data[0]
    })
    expect(ended).toMatchObject({ outcome: 'broken', accepted: 0 })
    expect((await harness.tenant.ask('GET', `/api/sims/${iccid}`)).body.usageMB).toBe(0)
  })

  test('has none of the SIMs imported', async () => {
    const iccid = anIccid()
    const busy = sql`lock table sims in exclusive mode`

    await leaveBehind(busy, '/internal/sims', CSV, `iccid\n${iccid}\n`)

    expect((await harness.tenant.ask('GET', `/api/sims/${iccid}`)).status).toBe(404)
  })
})

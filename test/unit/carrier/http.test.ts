import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { httpNetwork } from '../../../adapters/carrier/http-network.ts'
import { CarrierError, type CarrierRequest } from '../../../adapters/carrier/network.ts'
import { type Answer, answers, startReceiver } from '../../setup/webhook-receiver.ts'

const TICKET = '0d5fb0d3-5d1f-4a37-9f43-0f4b44c3a001'
const SECRET = 'bridge-secret'
const SUSPEND: CarrierRequest = { ticketId: TICKET, operation: 'suspend', iccid: '8944000000000000001' }
const DONE = { ticketId: TICKET, effect: 'done' }

/** Responds with this status and body. A string is sent as it is, anything else as JSON. */
const answering = (status: number, body: unknown, headers?: Record<string, string>) =>
  answers(status, typeof body === 'string' ? body : JSON.stringify(body), headers)

async function startBridge(answer: Answer) {
  const bridge = await startReceiver()
  onTestFinished(bridge.stop)
  return Object.assign(bridge, { answer })
}
const networkOf = (url: string, timeoutMs = 30_000) => httpNetwork({ url, secret: SECRET, timeoutMs })
const networkTo = async (answer: Answer, timeoutMs?: number) => networkOf((await startBridge(answer)).url, timeoutMs)
/** Nobody listens at its address. */
async function networkToNobody() {
  const { url, stop } = await startBridge(answering(200, DONE))
  await stop()
  return networkOf(url)
}

const failureOf = async (asking: Promise<unknown>): Promise<CarrierError> => {
  const failure = await asking.then(
    () => expect.fail('it was done'),
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(CarrierError)
  return failure as CarrierError
}

/** Why a request fails that is answered so. */
const failureAfter = async (answer: Answer, timeoutMs?: number) =>
  failureOf((await networkTo(answer, timeoutMs)).perform(SUSPEND))

describe('perform', () => {
  test('posts JSON with the secret, returns the effect', async () => {
    const bridge = await startBridge(answering(200, DONE))
    const asked = { ...SUSPEND, operation: 'provision', pool: 'meters-eu', tariff: 'EU 500' } as const

    expect(await networkOf(bridge.url).perform(asked)).toEqual(DONE)
    expect(bridge.received).toMatchObject([
      {
        method: 'POST',
        path: '/operations',
        headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
      },
    ])
    expect(JSON.parse(bridge.received[0]?.body ?? '')).toEqual(asked)
  })

  test('keeps the path of the address, trailing slash or not', async () => {
    const { url, received } = await startBridge(answering(200, DONE))

    for (const path of ['/bridge/', '/bridge']) await networkOf(`${url}${path}`).perform(SUSPEND)

    expect(received.map(({ path }) => path)).toEqual(['/bridge/operations', '/bridge/operations'])
  })

  test('reads a response with a byte order mark', async () => {
    expect(await (await networkTo(answering(200, `\uFEFF${JSON.stringify(DONE)}`))).perform(SUSPEND)).toEqual(DONE)
  })

  test('passes on the effect `already`', async () => {
    const network = await networkTo(answering(200, { ...DONE, effect: 'already', note: 'ours to ignore' }))

    expect(await network.perform(SUSPEND)).toEqual({ ticketId: TICKET, effect: 'already' })
  })
})

describe('a refusal by the carrier', () => {
  test.each([400, 404, 409, 422])('is final with status %i and a code', async (status) => {
    const failure = await failureAfter(
      answering(status, { code: 'line_unknown', detail: 'no line\r\nwith this ICCID' }),
    )

    expect(failure).toMatchObject({ code: 'line_unknown', retryable: false, concerns: 'sim', retryAfterMs: undefined })
    expect(failure.message).toBe(`The carrier refused (${status}): no line with this ICCID`)
  })

  test.each(['carrier_timeout', 'sim_state_conflict'])('never has the code %s, which is ours', async (code) => {
    expect(await failureAfter(answering(409, { code, detail: 'no' }))).toMatchObject({
      code: 'carrier_refused',
      retryable: false,
    })
  })

  test.each([
    ['it is cut within a character', 409, { code: 'line_busy', detail: `x${'\u{1F4A9}'.repeat(400)}` }],
    ['it holds half a character', 409, { code: 'line_busy', detail: 'half \ud800' }],
    ['its code is half a character', 503, { code: 'half \ud800', detail: 'later' }],
  ])('gives a well-formed message if %s', async (_, status, body) => {
    expect((await failureAfter(answering(status, body))).message.isWellFormed()).toBe(true)
  })

  test('becomes carrier_refused if its code is malformed', async () => {
    const failure = await failureAfter(answering(409, { code: 'not a code\n', detail: 'x'.repeat(2000) }))

    expect(failure.code).toBe('carrier_refused')
    expect(failure.message.length).toBeLessThan(600)
  })

  test('is retryable for a 401, naming CARRIER_SECRET', async () => {
    const failure = await failureAfter(answering(401, { code: 'unauthorized', detail: 'who are you' }))

    expect(failure).toMatchObject({ code: 'carrier_unauthorized', retryable: true, concerns: 'account' })
    expect(failure.message).toContain('CARRIER_SECRET')
    expect(failure.message).not.toContain(SECRET)
  })
})

describe('a retryable failure', () => {
  test.each([
    [408, 'carrier_unavailable'],
    [425, 'carrier_unavailable'],
    [429, 'carrier_busy'],
    [500, 'carrier_unavailable'],
    [502, 'carrier_unavailable'],
    [503, 'carrier_unavailable'],
  ])('is reported for status %i', async (status, code) => {
    const failure = await failureAfter(answering(status, { code: 'maintenance', detail: 'until noon' }))

    expect(failure).toMatchObject({ code, retryable: true })
    expect(failure.message).toContain('maintenance: until noon')
  })

  test.each([
    ['seconds', '7', 7000, 7000],
    ['a date', () => new Date(Date.now() + 60_000).toUTCString(), 57_000, 60_000],
    ['a date that has passed', 'Wed, 21 Oct 2015 07:28:00 GMT', 0, 0],
    ['years, cut down to an hour', '99999999', 3_600_000, 3_600_000],
  ])('takes its delay from Retry-After in %s', async (_, header, least, most) => {
    const value = typeof header === 'string' ? header : header()
    const { retryAfterMs } = await failureAfter(answering(503, {}, { 'retry-after': value }))

    expect(retryAfterMs).toBeGreaterThanOrEqual(least)
    expect(retryAfterMs).toBeLessThanOrEqual(most)
  })

  test('omits a Retry-After that it cannot read', async () => {
    expect((await failureAfter(answering(503, {}, { 'retry-after': 'soon' }))).retryAfterMs).toBeUndefined()
  })

  test('is carrier_unreachable if nobody listens', async () => {
    const failure = await failureOf((await networkToNobody()).perform(SUSPEND))

    expect(failure).toMatchObject({ code: 'carrier_unreachable', retryable: true })
    expect(failure.message).toContain('ECONNREFUSED')
  })

  test.each<[string, string, Answer, number | undefined]>([
    ['carrier_unreachable', 'the connection breaks', (response) => response.destroy(), undefined],
    ['carrier_timeout', 'the response never ends', (response) => response.writeHead(200).write('{"ticketId":'), 50],
  ])('is %s if %s', async (code, _, answer, timeoutMs) => {
    expect(await failureAfter(answer, timeoutMs)).toMatchObject({ code, retryable: true })
  })

  test('is carrier_timeout if no response comes in time', async () => {
    const failure = await failureAfter(() => {}, 50)

    expect(failure).toMatchObject({ code: 'carrier_timeout', retryable: true })
    expect(failure.message).toContain('50 ms')
  })

  test('is carrier_timeout if the caller aborts', async () => {
    const network = await networkTo(() => {})
    const stop = new AbortController()
    const asking = failureOf(network.perform(SUSPEND, { signal: stop.signal }))

    await sleep(20)
    stop.abort()

    expect(await asking).toMatchObject({ code: 'carrier_timeout', retryable: true })
  })
})

describe('an unreadable response', () => {
  test.each([
    ['text', 200, 'OK', '“OK”'],
    ['nothing', 200, '', 'an empty body'],
    ['a list', 200, '[]', '“[]”'],
    ['null', 200, 'null', '“null”'],
    ['an unknown effect', 200, { ...DONE, effect: 'maybe' }, 'maybe'],
    ['another ticket', 200, { ...DONE, ticketId: 'other' }, 'other'],
    ['an effect that stands twice', 200, `{"ticketId":"${TICKET}","effect":"already","effect":"done"}`, 'already'],
    ['a code that stands twice', 409, '{"code":"line_unknown","code":"line_busy"}', '409'],
    ['an accepted request', 202, DONE, '202'],
    ["a proxy's page", 404, '<html>nginx</html>', '404 with “<html>nginx</html>”'],
    ['a refusal without a code', 409, { detail: 'no' }, '409'],
  ])('is retryable, and the failure shows it: %s', async (_, status, body, shown) => {
    const failure = await failureAfter(answering(status, body))

    expect(failure).toMatchObject({ code: 'carrier_unreadable', retryable: true })
    expect(failure.message).toContain(shown)
  })

  test('includes a redirect, which is never followed', async () => {
    const elsewhere = await startBridge(answering(200, DONE))
    const failure = await failureAfter(answering(307, '', { location: `${elsewhere.url}/operations` }))

    expect(failure).toMatchObject({ code: 'carrier_unreadable', retryable: true })
    expect(elsewhere.received).toEqual([])
  })

  test('is cut off if it never ends', async () => {
    let sentBytes = 0
    const network = await networkTo((response) => {
      response.writeHead(200)
      const chunk = Buffer.alloc(65_536, 'x')
      const push = () => {
        while (!response.destroyed && sentBytes < 1_000_000_000) {
          sentBytes += chunk.length
          if (!response.write(chunk)) return void response.once('drain', push)
        }
      }
      push()
    })

    const failure = await failureOf(network.perform(SUSPEND))

    expect(failure.code).toBe('carrier_unreadable')
    expect(failure.message.length).toBeLessThan(400)
    expect(sentBytes).toBeLessThan(100_000_000)
  })
})

describe('ping', () => {
  test('requests /healthz without the secret', async () => {
    const bridge = await startBridge(answering(200, { ok: true }))

    await networkOf(bridge.url).ping()

    expect(bridge.received).toMatchObject([{ method: 'GET', path: '/healthz' }])
    expect(bridge.received[0]?.headers.authorization).toBeUndefined()
  })

  test('fails if the bridge responds 503', async () => {
    const network = await networkTo(answering(503, 'no uplink'))

    const failure = await failureOf(network.ping())

    expect(failure).toMatchObject({ code: 'carrier_unavailable', retryable: true })
    expect(failure.message).toContain('503 with “no uplink”')
  })

  test('fails if nobody listens', async () => {
    expect((await failureOf((await networkToNobody()).ping())).code).toBe('carrier_unreachable')
  })
})

describe('httpNetwork', () => {
  test('names its credential by address and secret alone', () => {
    const credentialOf = (url: string, secret: string) => httpNetwork({ url, secret, timeoutMs: 1 }).credential

    const credential = credentialOf('http://carrier', 'one')
    expect(credential).toMatch(/^[0-9a-f]{32}$/)
    expect(credentialOf('http://carrier/', 'one')).toBe(credential)
    expect(credentialOf('http://carrier', 'two')).not.toBe(credential)
    expect(credentialOf('http://other', 'one')).not.toBe(credential)
  })

  test.each(['ftp://carrier', 'carrier:8090', '', 'http://user:pw@carrier', 'http://:pw@carrier'])(
    'refuses the address %j',
    (url) => {
      expect(() => httpNetwork({ url, secret: SECRET, timeoutMs: 1 })).toThrow('CARRIER_URL')
    },
  )

  test.each(['', 'with blank', 'line\nbreak'])('refuses the secret %j without showing it', (secret) => {
    expect(() => httpNetwork({ url: 'http://carrier', secret, timeoutMs: 1 })).toThrow(
      /^((?!line|blank\b).)*CARRIER_SECRET$/,
    )
  })
})

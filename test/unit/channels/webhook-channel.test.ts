import type { lookup as dnsLookup } from 'node:dns'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  httpOutcome,
  signedHeaders,
  type WebhookChannelOptions,
  webhookChannel,
} from '../../../adapters/channels/webhook/webhook-channel.ts'
import { parseNetworks } from '../../../domain/networks.ts'
import { CERTIFICATE } from '../../setup/certificate.ts'
import { soon } from '../../setup/soon.ts'
import { answers, startReceiver } from '../../setup/webhook-receiver.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OLDER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const BODY = '{"type":"webhook.test","data":{"message":"für Ann"}}'
const LOOPBACK = parseNetworks('127.0.0.1/32') ?? []
const now = () => Math.floor(Date.now() / 1000)

async function aReceiver(options: Parameters<typeof startReceiver>[0] = {}) {
  const receiver = await startReceiver(options)
  onTestFinished(receiver.stop)
  return receiver
}

const OPTIONS = { clock: Date.now, timeoutMs: 30_000, allow: LOOPBACK, ca: CERTIFICATE }
const sendTo = (url: string, options: Partial<WebhookChannelOptions> = {}) =>
  webhookChannel({ ...OPTIONS, ...options }).send(BODY, { url, secrets: [SECRET] }, 'msg_1')

/** A name server that gives one answer after the other, and then the last again. */
function nameServer(...all: string[][]) {
  const asked: string[] = []
  const lookup = ((name: string, _options: object, callback: (error: null, found: object[]) => void) => {
    const found = all[Math.min(asked.length, all.length - 1)] ?? []
    asked.push(name)
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }) as unknown as typeof dnsLookup
  return { lookup, asked }
}

describe('a signature', () => {
  test('is verified by the reference library', () => {
    const headers = signedHeaders({ id: 'msg_1', timestamp: now(), body: BODY, secrets: [SECRET] })

    expect(new Webhook(SECRET).verify(BODY, headers)).toEqual(JSON.parse(BODY))
    expect(() => new Webhook(OLDER).verify(BODY, headers)).toThrow('No matching signature')
    expect(() => new Webhook(SECRET).verify(`${BODY} `, headers)).toThrow('No matching signature')
  })

  test('is verified with either of two secrets', () => {
    const headers = signedHeaders({ id: 'msg_1', timestamp: now(), body: BODY, secrets: [SECRET, OLDER] })

    expect(new Webhook(SECRET).verify(BODY, headers)).toEqual(JSON.parse(BODY))
    expect(new Webhook(OLDER).verify(BODY, headers)).toEqual(JSON.parse(BODY))
  })
})

describe('an endpoint', () => {
  test.each([false, true])('receives what was signed (https: %s)', async (tls) => {
    const receiver = await aReceiver({ tls })
    receiver.answer = answers(200, 'thank\nyou')

    const answer = await sendTo(`${receiver.url}/simherd?x=1`)

    const [received] = receiver.received
    expect(answer).toMatchObject({ outcome: 'delivered', code: 200, response: 'thank you', why: '' })
    expect(received).toMatchObject({ path: '/simherd?x=1', body: BODY })
    expect(received?.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': 'msg_1' })
    expect(new Webhook(SECRET).verify(received?.body ?? '', received?.headers as Record<string, string>)).toEqual(
      JSON.parse(BODY),
    )
  })

  test('whose certificate nobody trusts receives nothing', async () => {
    const receiver = await aReceiver({ tls: true })
    const { ca: _, ...options } = OPTIONS

    const answer = await webhookChannel(options).send(BODY, { url: receiver.url, secrets: [SECRET] }, 'msg_1')

    expect(answer).toMatchObject({ code: null, response: 'no connection: DEPTH_ZERO_SELF_SIGNED_CERT' })
    expect(receiver.received).toEqual([])
  })

  test('is not followed to where it redirects', async () => {
    const [receiver, other] = [await aReceiver(), await aReceiver()]
    receiver.answer = answers(302, '', { location: other.url })

    expect(await sendTo(receiver.url)).toMatchObject({ code: 302 })
    expect(other.received).toEqual([])
  })

  test('says when it wants to be asked again', async () => {
    const receiver = await aReceiver()
    receiver.answer = answers(429, 'slowly', { 'retry-after': '120' })

    expect(await sendTo(receiver.url)).toMatchObject({
      outcome: 'later',
      code: 429,
      response: 'slowly',
      why: 'it answered 429',
      retryAfter: '120',
    })
  })

  test('that does not answer is left after the timeout', async () => {
    const receiver = await aReceiver()
    receiver.answer = () => undefined

    expect(await sendTo(receiver.url, { timeoutMs: 300 })).toMatchObject({
      code: null,
      response: 'no answer within 0.3 s',
    })
  })

  test.each([
    ['without end', 30_000, (n: number) => n < Number.POSITIVE_INFINITY],
    // The timeout ends it, and must not come before the headers.
    ['that stops in the middle', 3000, (n: number) => n < 1],
  ])('that takes it has taken it, also with a body %s', async (_how, timeoutMs, goesOn) => {
    const receiver = await aReceiver()
    let [sent, closed] = [0, false]
    receiver.answer = (response) => {
      response.writeHead(200)
      response.on('close', () => {
        closed = true
      })
      const write = () => {
        if (closed || !goesOn(sent++)) return
        response.write('x'.repeat(16_384), write)
      }
      write()
    }

    const answer = await sendTo(receiver.url, { timeoutMs })

    expect(answer.code).toBe(200)
    expect(answer.response.length).toBeLessThanOrEqual(500)
    await soon(() => expect(closed).toBe(true))
    // What sockets buffer on the way comes on top of the 64 kB that are read.
    expect(sent).toBeLessThan(1000)
  })

  test.each([
    ['that refuses connections', 'http://127.0.0.1:1', 'no connection: ECONNREFUSED'],
    ['whose name is unknown', 'https://nobody.invalid', 'no connection: ENOTFOUND'],
  ])('%s says why, without an address', async (_what, url, response) => {
    const unknown = ((_name: string, _options: object, callback: (error: Error, found: object[]) => void) =>
      callback(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }), [])) as never

    expect(await sendTo(url, { lookup: unknown })).toEqual({ outcome: 'later', code: null, response, why: response })
  })
})

test.each([
  ['delivered', [200, 204, 299]],
  ['gone', [410]],
  ['later', [null, 408, 425, 429, 500, 502, 503, 504]],
  ['refused', [301, 307, 400, 401, 404, 413]],
] as const)('finds an endpoint %s by its answer', (outcome, statuses) => {
  expect(statuses.map(httpOutcome)).toEqual(statuses.map(() => outcome))
})

const NOT_PUBLIC = 'its address is not one of the public internet'
const REFUSED = { outcome: 'later', code: null, response: NOT_PUBLIC, why: NOT_PUBLIC }

test.each(['\n', '\r', '\t'])('a URL with %j in it is not sent to', async (control) => {
  const receiver = await aReceiver()

  expect(await sendTo(`${receiver.url}/a${control}b`)).toMatchObject({
    code: null,
    response: expect.stringMatching(/^its URL is refused: got a URL with the character U\+000/),
  })
  expect(receiver.received).toEqual([])
})

describe('an address that is not public', () => {
  test.each(['127.0.0.1', '127.1', '2130706433', '0x7f.0.0.1', '[::1]', '[::]', '[::ffff:7f00:1]', '[::127.0.0.1]'])(
    'is refused in a URL: %s',
    async (host) => {
      expect(await sendTo(`https://${host}/`, { allow: [] })).toEqual(REFUSED)
    },
  )

  test('is refused behind a name', async () => {
    const receiver = await aReceiver({ tls: true })
    const { lookup } = nameServer(['127.0.0.1', '::1', '::127.0.0.1', '4000::1'])

    expect(await sendTo(`https://receiver.example:${receiver.port}`, { allow: [], lookup })).toEqual(REFUSED)
    expect(receiver.received).toEqual([])
  })

  test('is refused in a second answer of the name server', async () => {
    const receiver = await aReceiver({ tls: true })
    const names = nameServer(['127.0.0.1'], ['127.0.0.2'])
    const url = `https://receiver.example:${receiver.port}`

    expect(await sendTo(url, { lookup: names.lookup })).toMatchObject({ code: 204 })
    expect(names.asked).toHaveLength(1)
    expect(await sendTo(url, { lookup: names.lookup })).toEqual(REFUSED)
    expect(receiver.received.map(({ address }) => address)).toEqual(['127.0.0.1'])
  })

  test('is passed over beside one that is allowed', async () => {
    const receiver = await aReceiver({ tls: true })
    const { lookup } = nameServer(['127.0.0.2', '127.0.0.1'])

    expect(await sendTo(`https://receiver.example:${receiver.port}`, { lookup })).toMatchObject({ code: 204 })
    expect(receiver.received.map(({ address }) => address)).toEqual(['127.0.0.1'])
  })

  test('is the only kind that takes http', async () => {
    const { lookup } = nameServer(['93.184.215.14'])

    expect(await sendTo('http://receiver.example', { lookup })).toEqual(REFUSED)
  })
})

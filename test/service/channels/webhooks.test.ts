import { sql } from 'kysely'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { endpointChannels } from '../../../adapters/channels/index.ts'
import type { EndpointChannel, EndpointChannels, EndpointOptions } from '../../../domain/channels/channel.ts'
import type { NewWebhook } from '../../../domain/channels/webhook.ts'
import { parseNetworks } from '../../../domain/networks.ts'
import type { WebhookEvent } from '../../../domain/notifications/event.ts'
import {
  addWebhook,
  disableWebhook,
  enableWebhook,
  removeWebhook,
  replayDelivery,
  rotateWebhook,
  testWebhook,
} from '../../../service/channels/change-webhooks.ts'
import { forgetWebhookEvents, pageOfDeliveries, webhooksDue } from '../../../service/channels/rows/deliveries.ts'
import { pageOfWebhooks } from '../../../service/channels/rows/webhooks.ts'
import { sendWebhooks } from '../../../service/channels/send-webhooks.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { inPlatform, inTenant } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { overlapping } from '../../setup/lock-waits.ts'
import { anEvent, answers, type Received, startReceiver } from '../../setup/webhook-receiver.ts'
import { aHarness } from '../harness.ts'

// The reference library refuses what is older than five minutes.
const store = await aStore(new Date().toISOString())
const OPTIONS: EndpointOptions = { secretsKeys: [Buffer.alloc(32, 1)], allow: parseNetworks('127.0.0.1/32') ?? [] }
const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]

const idOf = ({ headers }: Received) => String(headers['webhook-id'])
const messageOf = ({ body }: Received) => JSON.parse(body).data.message
/** Verifies what was received by the reference library, which goes by its own clock. */
const verified = (secret: string, { body, headers }: Received) =>
  new Webhook(secret).verify(body, headers as Record<string, string>)

/** A tenant with an endpoint that takes everything. */
async function anEndpoint(ask: Partial<NewWebhook> = {}) {
  const harness = await aHarness(store)
  const { tenantId, asTenant } = harness
  const receiver = await startReceiver()
  const { id, secret } = await asTenant((tx) => addWebhook(tx, { url: receiver.url, ...ask }, OPTIONS))
  const channels = endpointChannels({ clock: store.clock, timeoutMs: 30_000, allow: OPTIONS.allow })
  return {
    ...harness,
    receiver,
    id,
    secret,
    tell: (...events: WebhookEvent[]) => asTenant((tx) => insertNotifications(tx, events)),
    send: (by: EndpointChannels = channels, options = OPTIONS) =>
      sendWebhooks(store, by, options, { tenantId, webhookId: id }),
    channels,
    deliveries: async () => (await asTenant((tx) => pageOfDeliveries(tx, id, {}))).data.toReversed(),
    webhook: async () => (await asTenant((tx) => pageOfWebhooks(tx, {}))).data.find((one) => one.id === id),
    isDue: async () =>
      (await inPlatform(store, (tx) => webhooksDue(tx, 1000))).some(({ webhookId }) => webhookId === id),
    events: () =>
      harness.rows(sql<{ title: string }>`
        select title from events where type = 2 and title like 'Webhook%' order by id`),
  }
}

/** The next attempt's time comes. */
const waitFor = (ms: number) => {
  store.now += ms
}

describe('an event', () => {
  test('is sent once, signed, with what happened', async () => {
    const { tell, send, receiver, secret, deliveries, isDue } = await anEndpoint()
    await tell(anEvent('no usage for 36 h'))
    const wasDue = await isDue()

    const isLeft = await send()
    await send()

    expect(receiver.received).toHaveLength(1)
    const [received] = receiver.received as [Received]
    expect(verified(secret, received)).toEqual({
      type: 'feed.stale',
      timestamp: new Date(store.now).toISOString(),
      data: { receivedAt: null, message: 'no usage for 36 h' },
    })
    expect(await deliveries()).toMatchObject([
      { eventId: idOf(received), type: 'feed.stale', status: 'delivered', attempts: 1, answer: 204 },
    ])
    expect([wasDue, isLeft, await isDue()]).toEqual([true, false, false])
  })

  test('goes to those that get its type, and to no other tenant’s', async () => {
    const one = await anEndpoint({ events: ['cycle.closed'] })
    const all = await one.asTenant((tx) => addWebhook(tx, { url: one.receiver.url }, OPTIONS))
    const other = await anEndpoint()

    await one.tell(anEvent())

    expect(await one.deliveries()).toEqual([])
    expect(await other.deliveries()).toEqual([])
    expect((await one.asTenant((tx) => pageOfDeliveries(tx, all.id, {}))).data).toHaveLength(1)
  })

  test('is kept only if somebody gets it', async () => {
    const { tell, rows } = await anEndpoint({ events: ['cycle.closed'] })

    await tell(anEvent())

    expect(await rows(sql`select 1 from webhook_events`)).toEqual([])
  })

  test('is written with its fact, or not at all', async () => {
    const { asTenant, tenantId, rows, id } = await anEndpoint()
    store.jobs.length = 0
    const broken = asTenant(async (tx) => {
      await insertNotifications(tx, [anEvent()])
      throw new Error('the fact was not written')
    })

    await expect(broken).rejects.toThrow('was not written')
    expect([await rows(sql`select 1 from deliveries`), store.jobs]).toEqual([[], []])

    await asTenant((tx) => insertNotifications(tx, [anEvent()]))

    expect(store.jobs).toEqual([{ queue: 'webhooks', tenantId, webhookId: id }])
  })

  test('waits for the removal of an endpoint, and leaves it out', async () => {
    const { id, tenantId, tell, rows } = await anEndpoint()

    await overlapping(
      store,
      tenantId,
      (tx) => removeWebhook(tx, id),
      () => tell(anEvent()),
    )

    expect(await rows(sql`select 1 from deliveries`)).toEqual([])
  })
})

describe('a secret', () => {
  test('signs beside the new one for a day after a rotation', async () => {
    const { tell, send, receiver, secret, asTenant, id, webhook } = await anEndpoint()
    const next = await asTenant((tx) => rotateWebhook(tx, id, OPTIONS))
    const last = await asTenant((tx) => rotateWebhook(tx, id, OPTIONS))
    await tell(anEvent())
    await send()
    const during = receiver.received[0] as Received
    const until = (await webhook())?.previousSecretUntil
    waitFor(24 * HOUR)
    await tell(anEvent())
    await send()
    const after = receiver.received[1] as Received
    const signatures = (received: Received) => String(received.headers['webhook-signature']).split(' ')
    const [afterBody, stamp] = [after.body, String(after.headers['webhook-timestamp'])]

    expect(until).toBe(new Date(store.now).toISOString())
    expect(verified(last.secret, during)).toBeDefined()
    expect(verified(next.secret, during)).toBeDefined()
    expect(() => verified(secret, during)).toThrow('No matching signature')
    // The library's clock does not go on with the test's.
    const signed = new Webhook(last.secret).sign(idOf(after), new Date(Number(stamp) * 1000), afterBody)
    expect(signatures(after)).toEqual([signed])
    expect((await webhook())?.previousSecretUntil).toBeNull()
    waitFor(-24 * HOUR)
  })

  test('stands in no table in the clear, if there is a key', async () => {
    const { secret, rows } = await anEndpoint()

    const stored = await rows(sql<{ secret: string }>`select secret from webhooks`)

    expect(JSON.stringify(stored)).not.toContain(secret.slice(6))
    expect(stored[0]?.secret).toMatch(/^sealed:/)
  })

  test('that cannot be opened has nothing tried, and nothing given up', async () => {
    const { tell, send, deliveries, receiver } = await anEndpoint()
    await tell(anEvent())

    await expect(send(undefined, { ...OPTIONS, secretsKeys: [] })).rejects.toThrow('WEBHOOK_SECRETS_KEY')

    expect(await deliveries()).toMatchObject([{ status: 'pending', attempts: 0 }])
    await send()
    expect(receiver.received).toHaveLength(1)
  })
})

describe('a delivery', () => {
  test('is tried again under the same webhook-id, and signed anew', async () => {
    const { tell, send, receiver, secret, deliveries, isDue } = await anEndpoint()
    receiver.answer = answers(500, 'out of order')
    await tell(anEvent())
    await send()
    const [failed] = await deliveries()
    waitFor(4 * SECOND)
    const tooEarly = await isDue()
    await send()
    waitFor(1 * SECOND)
    receiver.answer = answers(204)
    const inTime = await isDue()
    await send()

    const [first, second] = receiver.received as [Received, Received]
    expect(failed).toMatchObject({ status: 'pending', answer: 500, response: 'out of order', endedAt: null })
    expect([tooEarly, inTime, receiver.received.length]).toEqual([false, true, 2])
    expect([idOf(second), second.body]).toEqual([idOf(first), first.body])
    expect(Number(second.headers['webhook-timestamp']) - Number(first.headers['webhook-timestamp'])).toBe(5)
    expect(verified(secret, second)).toBeDefined()
    expect(await deliveries()).toMatchObject([{ status: 'delivered', attempts: 2, answer: 204 }])
  })

  test('goes out again under the same webhook-id after its sender died', async () => {
    const { tell, send: sendBy, channels, receiver, deliveries } = await anEndpoint()
    await tell(anEvent())
    const send: EndpointChannel['send'] = async (...message) => {
      await channels.webhook.send(...message)
      throw new Error('killed before the commit')
    }

    await expect(sendBy({ webhook: { ...channels.webhook, send } })).rejects.toThrow('killed')
    await sendBy()
    const during = receiver.received.length
    waitFor(MINUTE)
    await sendBy()

    expect(during).toBe(1)
    expect(receiver.received.map(idOf)).toEqual([
      idOf(receiver.received[0] as Received),
      (await deliveries())[0]?.eventId,
    ])
    expect(await deliveries()).toMatchObject([{ status: 'delivered', attempts: 2 }])
  })

  test('that the endpoint refuses holds up no other', async () => {
    const { tell, send, receiver, deliveries } = await anEndpoint()
    receiver.answer = (response, received) => response.writeHead(messageOf(received) === 'bad' ? 400 : 200).end()
    await tell(anEvent('bad'), anEvent('good'))
    await send()
    await tell(anEvent('better'))
    await send()

    expect((await deliveries()).map(({ status }) => status)).toEqual(['pending', 'delivered', 'delivered'])
  })

  test('is replayed under the same webhook-id, whether it was taken or given up', async () => {
    const { tell, send, receiver, secret, deliveries, asTenant, id } = await anEndpoint()
    await tell(anEvent())
    await send()
    const [delivery] = await deliveries()

    await asTenant((tx) => replayDelivery(tx, id, delivery?.id ?? 0))
    await send()

    expect(receiver.received.map(idOf)).toEqual([delivery?.eventId, delivery?.eventId])
    expect(verified(secret, receiver.received[1] as Received)).toBeDefined()
    await expect(asTenant((tx) => replayDelivery(tx, id, 2 ** 40))).rejects.toMatchObject({
      code: 'webhook_delivery_not_found',
    })
  })

  test('is forgotten with its event, unless it was replayed since', async () => {
    const { tell, send, deliveries, asTenant, id, rows } = await anEndpoint()
    await tell(anEvent('old'), anEvent('replayed'))
    await send()
    const never = await anEndpoint()
    await never.tell(anEvent('never sent'))
    waitFor(HOUR)
    await tell(anEvent('new'))
    await asTenant(async (tx) => replayDelivery(tx, id, (await pageOfDeliveries(tx, id, {})).data[1]?.id ?? 0))

    const forgotten = await inPlatform(store, (tx) => forgetWebhookEvents(tx, new Date(store.now), 1000))

    expect(forgotten).toBeGreaterThanOrEqual(2)
    expect(await never.deliveries()).toEqual([])
    expect(await deliveries()).toHaveLength(2)
    expect(await rows(sql`select body::jsonb #>> '{data,message}' as m from webhook_events order by at, m`)).toEqual([
      { m: 'replayed' },
      { m: 'new' },
    ])
    waitFor(-HOUR)
  })
})

describe('an endpoint that is away', () => {
  test('is asked by one delivery at a time, and gets all once it is back', async () => {
    const { tell, send, receiver, deliveries, webhook, isDue } = await anEndpoint()
    receiver.answer = answers(503)
    await tell(...Array.from({ length: 10 }, (_, n) => anEvent(String(n))))
    await send()
    const atOnce = receiver.received.length
    const paused = [await isDue(), (await webhook())?.failures]
    waitFor(5 * SECOND)
    await send()
    const probes = receiver.received.length - atOnce
    receiver.answer = answers(204)
    waitFor(30 * SECOND)
    await send()

    // The first round went out side by side, before anything was known; it counts as one failure.
    expect([atOnce, paused, probes]).toEqual([4, [false, 1], 1])
    expect((await deliveries()).filter(({ status }) => status === 'delivered').length).toBeGreaterThanOrEqual(9)
    expect(await webhook()).toMatchObject({ failures: 0, pausedUntil: null })
    waitFor(2 * MINUTE)
    await send()
    expect((await deliveries()).map(({ status }) => status)).toEqual(Array(10).fill('delivered'))
    expect(new Set(receiver.received.map(messageOf)).size).toBe(10)
  })

  test('is left alone as long as it asks', async () => {
    const { tell, send, receiver, webhook } = await anEndpoint()
    receiver.answer = answers(429, '', { 'retry-after': '300' })
    await tell(anEvent())
    await send()

    expect((await webhook())?.pausedUntil).toBe(new Date(store.now + 5 * MINUTE).toISOString())
  })

  test('is tried at once when a person wants it', async () => {
    const { tell, send, receiver, asTenant, id } = await anEndpoint()
    receiver.answer = answers(503)
    await tell(anEvent())
    await send()
    receiver.answer = answers(204)
    const test = await asTenant((tx) => testWebhook(tx, id))
    await send()

    expect(JSON.parse(receiver.received[1]?.body ?? '{}')).toMatchObject({
      type: 'webhook.test',
      data: { webhookId: id },
    })
    expect(test.id).toBeGreaterThan(0)
  })

  test('holds up no other endpoint of its tenant', async () => {
    const { tell, send, channels, receiver, asTenant, tenantId } = await anEndpoint()
    receiver.answer = () => undefined
    const fast = await startReceiver()
    const { id: webhookId } = await asTenant((tx) => addWebhook(tx, { url: fast.url }, OPTIONS))
    await tell(anEvent())
    const order: string[] = []

    const slow = send().then(() => order.push('slow'))
    await sendWebhooks(store, channels, OPTIONS, { tenantId, webhookId }).then(() => order.push('fast'))
    await slow

    expect([order, fast.received.length]).toEqual([['fast', 'slow'], 1])
  })

  test('has what waited for three days given up, also what was never tried', async () => {
    const { tell, send, receiver, deliveries, events } = await anEndpoint()
    receiver.answer = answers(503)
    const began = store.now
    await tell(...Array.from({ length: 6 }, (_, n) => anEvent(String(n))))
    await send()
    waitFor(72 * HOUR)
    await send()

    expect((await deliveries()).map(({ status }) => status)).toEqual(Array(6).fill('failed'))
    expect((await events()).filter(({ title }) => title.includes('given up'))).toHaveLength(1)
    store.now = began
  })
})

describe('an endpoint that wants nothing', () => {
  test('is disabled by 410, and what waits is given up', async () => {
    const { tell, send, receiver, deliveries, webhook, events, asTenant, id } = await anEndpoint()
    receiver.answer = answers(410)
    await tell(...Array.from({ length: 6 }, (_, n) => anEvent(String(n))))
    await send()
    await tell(anEvent('later'))
    await send()
    const gone = await deliveries()

    expect(receiver.received).toHaveLength(4)
    expect(gone.map(({ status }) => status)).toEqual(Array(6).fill('failed'))
    expect(await webhook()).toMatchObject({ disabledWhy: 'It answered 410 Gone.', disabledAt: expect.any(String) })
    expect((await events()).map(({ title }) => title)).toContain(`Webhook ${id} is disabled`)
    await expect(asTenant((tx) => testWebhook(tx, id))).rejects.toMatchObject({ code: 'webhook_disabled' })
    await expect(asTenant((tx) => replayDelivery(tx, id, gone[0]?.id ?? 0))).rejects.toMatchObject({
      code: 'webhook_disabled',
    })

    receiver.answer = answers(204)
    await asTenant((tx) => enableWebhook(tx, id))
    await asTenant((tx) => replayDelivery(tx, id, gone[0]?.id ?? 0))
    await tell(anEvent('again'))
    await send()

    expect(receiver.received.slice(4).map(messageOf).toSorted()).toEqual(['0', 'again'])
  })

  test('gets nothing while a person has disabled it', async () => {
    const { tell, send, receiver, deliveries, asTenant, id, isDue } = await anEndpoint()
    await tell(anEvent('waits'))
    await asTenant((tx) => disableWebhook(tx, id))
    await asTenant((tx) => disableWebhook(tx, id))
    await tell(anEvent('later'))
    await send()

    expect([receiver.received, await isDue()]).toEqual([[], false])
    expect((await deliveries()).map(({ status }) => status)).toEqual(['failed'])
  })
})

describe('addresses of webhooks', () => {
  test.each([
    ['is no URL', 'ops.meadow.example', 'got ops.meadow.example, expected a URL such as https://'],
    ['is http', 'http://ops.meadow.example', 'expected a URL such as https://'],
    ['has a user', 'https://ann@ops.meadow.example', 'with a user or a password'],
    ['has a fragment', 'https://ops.meadow.example#a', 'with the fragment #a'],
    ['has a private address', 'https://192.168.1.7/x', 'got the address 192.168.1.7'],
    ['has a loopback address in other words', 'https://2130706433/x', 'got the address 127.0.0.1'],
    ['has a local IPv6 address', 'https://[fe80::1]/x', 'got the address fe80::1'],
  ])('are refused where it %s', async (_how, url, detail) => {
    const { asTenant } = await aHarness(store)
    const add = asTenant((tx) => addWebhook(tx, { url }, { secretsKeys: [], allow: [] }))

    await expect(add).rejects.toMatchObject({ code: 'invalid_request', message: expect.stringContaining(detail) })
  })

  test('take http to networks of the operator only, at once where the address is known', async () => {
    const { asTenant } = await aHarness(store)
    const add = (url: string) => asTenant((tx) => addWebhook(tx, { url }, { secretsKeys: [], allow }))
    const allow = parseNetworks('10.1.0.0/16') ?? []

    await expect(add('http://10.1.2.3/x')).resolves.toMatchObject({ id: expect.any(Number) })
    await expect(add('http://93.184.215.14/x')).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('got the address 93.184.215.14, expected for http one of a network'),
    })
  })

  test('are ten for a tenant', async () => {
    const { tenantId } = await aHarness(store)
    const add = () => inTenant(store, tenantId, (tx) => addWebhook(tx, { url: 'https://ops.meadow.example' }, OPTIONS))
    const all = await Promise.allSettled(Array.from({ length: 12 }, add))

    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    await expect(add()).rejects.toMatchObject({ code: 'webhook_limit' })
  })
})

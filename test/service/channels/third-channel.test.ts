/** A channel of the test's own, next to that of webhooks: it needs no other part of the service. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { endpointChannels } from '../../../adapters/channels/index.ts'
import type { EndpointChannel, Outcome } from '../../../domain/channels/channel.ts'
import { parseNetworks } from '../../../domain/networks.ts'
import { addWebhook } from '../../../service/channels/change-webhooks.ts'
import { pageOfDeliveries } from '../../../service/channels/rows/deliveries.ts'
import { sendWebhooks } from '../../../service/channels/send-webhooks.ts'
import { insertNotifications } from '../../../store/notifications.ts'
import { aStore } from '../../setup/estate.ts'
import { anEvent, startReceiver } from '../../setup/webhook-receiver.ts'
import { aHarness } from '../harness.ts'

const store = await aStore()
const OPTIONS = { secretsKeys: [], clock: store.clock, timeoutMs: 30_000, allow: parseNetworks('127.0.0.1/32') ?? [] }

/** Appends lines to the list that a URL names. */
function listChannel() {
  const lists = new Map<string, string[]>()
  let outcome: Outcome = 'delivered'
  const channel: EndpointChannel = {
    render: (events) =>
      events
        .map((event) => JSON.parse(event))
        .map(({ type, data }) => `${type} ${data.message}`)
        .join(),
    send: async (line, { url }, id) => {
      if (outcome === 'delivered') lists.set(url, [...(lists.get(url) ?? []), `${id} ${line}`])
      return { outcome, code: null, response: 'full', why: 'it has a full list' }
    },
  }
  return { channel, lists, answer: (next: Outcome) => (outcome = next) }
}

test('a third channel sends, retries and ends by the same loop', async () => {
  const { tenantId, asTenant, rows } = await aHarness(store)
  const receiver = await startReceiver()
  const { channel, lists, answer } = listChannel()
  const channels = { ...endpointChannels(OPTIONS), list: channel }
  const { id: webhookId } = await asTenant((tx) => addWebhook(tx, { url: receiver.url }, OPTIONS))
  const { id: listId } = await asTenant((tx) => addWebhook(tx, { url: 'https://lists.example/a' }, OPTIONS))
  // What a new channel changes in the schema of targets.
  await sql`alter table webhooks drop constraint webhooks_channel_check`.execute(store.db)
  await rows(sql`update webhooks set channel = 'list' where id = ${listId} returning 1`)
  const tell = (...messages: string[]) => asTenant((tx) => insertNotifications(tx, messages.map(anEvent)))
  const send = async () => {
    for (const id of [webhookId, listId]) await sendWebhooks(store, channels, OPTIONS, { tenantId, webhookId: id })
  }
  const deliveries = async () => (await asTenant((tx) => pageOfDeliveries(tx, listId, {}))).data

  answer('later')
  await tell('one', 'two')
  await send()
  const paused = await deliveries()
  answer('delivered')
  store.now += 5000
  await send()
  const posted = receiver.received.map(({ headers, body }) => {
    return `${String(headers['webhook-id'])} feed.stale ${JSON.parse(body).data.message}`
  })
  const arrived = lists.get('https://lists.example/a')
  answer('gone')
  await tell('three')
  await send()

  expect(paused.map(({ status, response }) => [status, response])).toEqual([
    ['pending', 'full'],
    ['pending', 'full'],
  ])
  expect(arrived?.toSorted()).toEqual(posted.toSorted())
  expect((await deliveries()).map(({ status }) => status)).toEqual(['failed', 'delivered', 'delivered'])
  expect([posted.length, receiver.received.length]).toEqual([2, 3])
})

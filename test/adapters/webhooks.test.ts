/** Webhooks over the queues: whom a slow endpoint delays, and what a killed worker leaves. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { endpointChannels } from '../../adapters/channels/index.ts'
import { consume, openQueues } from '../../adapters/queues/backend.ts'
import { parseNetworks } from '../../domain/networks.ts'
import { addWebhook } from '../../service/channels/change-webhooks.ts'
import { pageOfDeliveries } from '../../service/channels/rows/deliveries.ts'
import { sendWebhooks } from '../../service/channels/send-webhooks.ts'
import { connect } from '../../store/connect.ts'
import { insertNotifications } from '../../store/notifications.ts'
import type { Store } from '../../store/tenancy.ts'
import { freshDatabase } from '../setup/database.ts'
import { aTenantOf } from '../setup/estate.ts'
import { requireRedis } from '../setup/requirements.ts'
import { until } from '../setup/soon.ts'
import { anEvent, answers, type Received, startReceiver } from '../setup/webhook-receiver.ts'
import { handledBy, type Where } from './harness.ts'

const redisUrl = requireRedis('webhooks with the queues on Redis')
const database = await freshDatabase()
const { db, close } = connect(database.url, { max: 8 })
afterAll(async () => {
  await close()
  await database.drop()
})

const OPTIONS = { secretsKeys: [], allow: parseNetworks('127.0.0.1/32') ?? [] }
const LEASE_MS = 60_000
/** Queues of the test's own: other files' consumers would take its jobs. */
const backends: [string, Where | undefined][] = [
  ['PostgreSQL', { redisUrl: '', databaseUrl: database.url }],
  ['Redis', redisUrl === undefined ? undefined : { redisUrl: `${redisUrl}/2`, databaseUrl: database.url }],
]

const idOf = ({ headers }: Received) => headers['webhook-id']

for (const [name, where = { redisUrl: '', databaseUrl: '' }] of backends) {
  describe.skipIf(where.databaseUrl === '')(`webhooks with the queues on ${name}`, () => {
    const storeOn = (): Store => {
      const queues = openQueues({ ...where, onError: () => undefined })
      onTestFinished(queues.close)
      return { db, clock: Date.now, enqueue: queues.enqueue }
    }
    const endpointsOf = async (store: Store, url: string, count: number) => {
      const { tenantId, asTenant } = await aTenantOf(store)
      const all = []
      for (let n = 0; n < count; n += 1) all.push(await asTenant((tx) => addWebhook(tx, { url }, OPTIONS)))
      const tell = (...messages: string[]) => asTenant((tx) => insertNotifications(tx, messages.map(anEvent)))
      return { tenantId, asTenant, all, tell }
    }

    test('reach one tenant while forty endpoints of others do not answer', async () => {
      const store = storeOn()
      const [slow, fast] = [await startReceiver(), await startReceiver()]
      slow.answer = () => undefined
      const channels = endpointChannels({ clock: Date.now, timeoutMs: 300_000, allow: OPTIONS.allow })
      const consumers = consume(
        { ...where, onError: () => undefined },
        {
          ...handledBy(async () => undefined),
          webhooks: async (job) => void (await sendWebhooks(store, channels, OPTIONS, job)),
        },
        () => undefined,
      )
      onTestFinished(consumers.close)
      for (let n = 0; n < 4; n += 1) await (await endpointsOf(store, slow.url, 10)).tell('one', 'two')
      await until('forty slow endpoints', () => slow.received.length === 80)
      const other = await endpointsOf(store, fast.url, 1)
      for (let n = 0; n < 10; n += 1) await other.tell(String(n))
      await until('the others', () => fast.received.length === 10)

      // Nobody has answered the slow ones yet, and each of them is asked for what it was asked.
      expect(slow.received).toHaveLength(80)
      await slow.stop()
    })

    test('come again under the same webhook-id after their worker was killed', async () => {
      const store = storeOn()
      const receiver = await startReceiver()
      receiver.answer = () => undefined
      const { all, asTenant, tell } = await endpointsOf(store, receiver.url, 1)
      const [webhook = { id: 0, secret: '' }] = all
      const deliveries = async () => (await asTenant((tx) => pageOfDeliveries(tx, webhook.id, {}))).data
      const work = (clockAheadMs: number) => {
        const script = join(import.meta.dirname, 'webhook-worker.ts')
        const child = spawn(process.execPath, [script, JSON.stringify({ ...where, clockAheadMs })], {
          stdio: 'inherit',
        })
        onTestFinished(async () => {
          if (child.exitCode === null && child.signalCode === null) {
            child.kill('SIGKILL')
            await once(child, 'exit')
          }
        })
        return child
      }
      await tell('one', 'two', 'three')
      const killed = work(0)
      await until('the first requests', () => receiver.received.length === 3)
      killed.kill('SIGKILL')
      await once(killed, 'exit')
      const left = await deliveries()
      receiver.answer = answers(204)
      work(LEASE_MS)
      await until('all deliveries', async () => (await deliveries()).every(({ status }) => status === 'delivered'))

      const [before, after] = [receiver.received.slice(0, 3), receiver.received.slice(3)]
      expect(left).toMatchObject(Array(3).fill({ status: 'pending', attempts: 1 }))
      expect(after.map(idOf).toSorted()).toEqual(before.map(idOf).toSorted())
      expect(new Set(after.map(idOf)).size).toBe(3)
      for (const { body, headers } of after) {
        const verified = new Webhook(webhook.secret).verify(body, headers as Record<string, string>)
        expect(verified).toMatchObject({ type: 'feed.stale' })
      }
      expect((await deliveries()).map(({ attempts }) => attempts)).toEqual([2, 2, 2])
    })
  })
}

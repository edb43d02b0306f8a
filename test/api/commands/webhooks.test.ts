import { describe, expect, onTestFinished, test } from 'vitest'
import { endpointChannels } from '../../../adapters/channels/index.ts'
import {
  addWebhook,
  disableWebhook,
  enableWebhook,
  listDeliveries,
  listWebhooks,
  removeWebhook,
  replayDelivery,
  rotateWebhook,
  testWebhook,
} from '../../../cli/commands/webhooks.ts'
import { parseNetworks } from '../../../domain/networks.ts'
import { sendWebhooks } from '../../../service/channels/send-webhooks.ts'
import { CERTIFICATE } from '../../setup/certificate.ts'
import { until } from '../../setup/soon.ts'
import { answers, startReceiver } from '../../setup/webhook-receiver.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { harness, lines } = command
const ours = () => ({ tenant: harness.tenant.id })
const channels = endpointChannels({
  clock: Date.now,
  timeoutMs: 30_000,
  allow: parseNetworks('127.0.0.1/32') ?? [],
  ca: CERTIFICATE,
  lookup: ((_name: string, _options: object, callback: (error: null, found: object[]) => void) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }])) as never,
})
const OPTIONS = { secretsKeys: [], allow: [] }

/** Does the jobs of webhooks, as a worker. */
async function work(webhookId: number) {
  const isOurs = (job: object) => 'webhookId' in job && job.webhookId === webhookId
  await until('the job', () => harness.jobs.some(isOurs))
  harness.jobs.length = 0
  await sendWebhooks(harness.store, channels, OPTIONS, { tenantId: harness.tenant.id, webhookId })
}

describe('webhooks', () => {
  test('adds, tests, lists, replays, rotates, disables and removes', async () => {
    const receiver = await startReceiver({ tls: true })
    onTestFinished(receiver.stop)
    await listWebhooks(command.settings, ours())
    const url = `https://receiver.example:${receiver.port}/x`
    await addWebhook(command.settings, url, { ...ours(), events: ['alert.fired'], description: 'tickets' })
    const webhook = Number(/webhook (\d+) gets/.exec(lines.join('\n'))?.[1])
    await Promise.all([testWebhook(command.settings, webhook, ours()), work(webhook)])
    await listDeliveries(command.settings, webhook, { ...ours(), status: 'delivered' })
    const delivery = Number(/(\d+) +webhook\.test/.exec(lines.join('\n'))?.[1])
    await replayDelivery(command.settings, webhook, delivery, ours())
    await work(webhook)
    await rotateWebhook(command.settings, webhook, ours())
    await listWebhooks(command.settings, ours())
    await disableWebhook(command.settings, webhook, ours())
    await listWebhooks(command.settings, ours())
    await enableWebhook(command.settings, webhook, ours())
    await removeWebhook(command.settings, webhook, ours())
    await listWebhooks(command.settings, ours())

    const all = lines.join('\n')
    expect([lines[0], lines.at(-1)]).toEqual(['there is no webhook', 'there is no webhook'])
    expect(all.match(/shown this once: whsec_/g)).toHaveLength(2)
    expect(all).toContain(`webhook ${webhook} has taken the test: it answered 204`)
    expect(all).toMatch(/webhook\.test +2026-11-20 .* delivered +1 +it answered 204/)
    expect(all).toMatch(new RegExp(`${webhook} +${url} +alert\\.fired +in use +tickets`))
    expect(all).toMatch(/disabled 2026-11-20 .*: A person has disabled it\./)
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toHaveLength(2)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  })

  test('says why a test was not taken', async () => {
    const receiver = await startReceiver({ tls: true })
    onTestFinished(receiver.stop)
    receiver.answer = answers(401, 'no signature?')
    await addWebhook(command.settings, `https://receiver.example:${receiver.port}`, ours())
    const webhook = Number(/webhook (\d+) gets/.exec(lines.join('\n'))?.[1])

    const tested = Promise.all([testWebhook(command.settings, webhook, ours()), work(webhook)])

    await expect(tested).rejects.toMatchObject({
      exitCode: 1,
      message: `webhook ${webhook} has not taken the test: it answered 401: no signature?`,
    })
    await expect(testWebhook(command.settings, webhook, { ...ours(), waitMs: 1 })).rejects.toThrow('does a worker run?')
  })
})

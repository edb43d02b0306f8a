/** `simherd webhooks …`: a tenant's webhooks and their deliveries. */

import { setTimeout as sleep } from 'node:timers/promises'
import { idempotent } from '../../adapters/rest/client.ts'
import type { DeliveryStatus, Webhook, WebhookDelivery } from '../../domain/channels/webhook.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { WebhookEventType } from '../../domain/notifications/event.ts'
import { counted } from '../../domain/quantity.ts'
import type { Settings } from '../../process/settings.ts'
import { askService, forTenant, forTenantOn } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { at } from '../instant.ts'
import { type OutputFlags, printAnswer } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { moreLines, table } from '../table.ts'

/** Most lines of a list. */
const SHOWN = 50
/** How long a test is waited for: the timeout of an attempt, and a sweep. */
const TESTED_MS = 25_000
const LOOK_MS = 300

/** Lists webhooks, the newest first. */
export const listWebhooks = forTenant(async (service, flags: TenantFlags & OutputFlags) => {
  const query = { page: 1, pageSize: SHOWN }
  const found = await responseOf(service.GET('/internal/webhooks', { params: { query } }))
  printAnswer(flags, found, ({ data }) =>
    data.length === 0
      ? ['there is no webhook']
      : table(['webhook', 'url', 'events', 'state', 'what for'], data.map(rowOf)),
  )
})

const rowOf = (webhook: Webhook) => [
  webhook.id,
  webhook.url,
  webhook.events?.join(', ') ?? 'all',
  stateOf(webhook),
  webhook.description,
]

function stateOf({ disabledAt, disabledWhy, pausedUntil, failures }: Webhook): string {
  if (disabledAt !== null) return `disabled ${at(disabledAt)}: ${disabledWhy ?? 'no reason given'}`
  if (failures > 0)
    return `away ${counted(failures, 'time')}, tried again ${pausedUntil === null ? 'now' : at(pausedUntil)}`
  return 'in use'
}

interface AddFlags extends TenantFlags {
  readonly events?: WebhookEventType[]
  readonly description?: string
}

/** Registers a webhook, and prints its secret. */
export const addWebhook = forTenantOn(async (service, url: string, { events, description, tenant }: AddFlags) => {
  const body = { url, ...dropUndefined({ events, description }) }
  const { id, secret } = await responseOf(service.POST('/internal/webhooks', { body, params: idempotent() }))
  print(`webhook ${id} gets what happens from now on; "npx simherd webhooks test ${id} --tenant ${tenant}" tries it`)
  print(`its secret, shown this once: ${secret}`)
})

/** Gives a webhook a new secret, and prints it. */
export const rotateWebhook = forTenantOn(async (service, id: number) => {
  const options = { params: { path: { id }, ...idempotent() } }
  const { secret } = await responseOf(service.POST('/internal/webhooks/{id}/rotate', options))
  print(`webhook ${id} has a new secret; the one before signs too for 24 hours`)
  print(`its secret, shown this once: ${secret}`)
})

/**
 * Sends a test, and prints the result.
 *
 * @throws CommandFailure if the endpoint has not taken it
 */
export const testWebhook = forTenantOn(
  async (service, id: number, { waitMs = TESTED_MS }: TenantFlags & { readonly waitMs?: number }) => {
    const options = { params: { path: { id }, ...idempotent() } }
    const { id: delivery } = await responseOf(service.POST('/internal/webhooks/{id}/test', options))
    for (let waited = 0; waited < waitMs; waited += LOOK_MS) {
      const params = { path: { id }, query: { page: 1, pageSize: SHOWN } }
      const { data } = await responseOf(service.GET('/internal/webhooks/{id}/deliveries', { params }))
      const found = data.find((one) => one.id === delivery)
      if (found?.status === 'delivered') return print(`webhook ${id} has taken the test: it answered ${found.answer}`)
      const isOver = found !== undefined && (found.response !== null || found.status === 'failed')
      if (isOver) throw new CommandFailure(`webhook ${id} has not taken the test: ${answerOf(found)}`, ExitCode.failure)
      await sleep(LOOK_MS)
    }
    throw new CommandFailure(`delivery ${delivery} has not been tried yet: does a worker run?`, ExitCode.failure)
  },
)

const answerOf = ({ answer, response }: WebhookDelivery): string =>
  answer === null ? (response ?? 'not tried yet') : [`it answered ${answer}`, response].filter(Boolean).join(': ')

interface DeliveryFlags extends TenantFlags, OutputFlags {
  readonly status?: DeliveryStatus
}

/** Lists deliveries to a webhook, the newest first. */
export const listDeliveries = forTenantOn(async (service, id: number, flags: DeliveryFlags) => {
  const query = { page: 1, pageSize: SHOWN, ...dropUndefined({ status: flags.status }) }
  const params = { path: { id }, query }
  const found = await responseOf(service.GET('/internal/webhooks/{id}/deliveries', { params }))
  printAnswer(flags, found, ({ data, pagination }) => {
    if (data.length === 0) return ['there is no such delivery']
    const rows = data.map((one) => [
      one.id,
      one.type,
      at(one.createdAt),
      one.status,
      one.attempts,
      one.nextAttemptAt === null ? '' : at(one.nextAttemptAt),
      answerOf(one),
    ])
    return [
      ...table(['delivery', 'event', 'at', 'status', 'attempts', 'next', 'answer'], rows),
      ...moreLines(pagination.totalItems, data.length, 'older'),
    ]
  })
})

/** Sends an event again, or at once if it waits. */
export function replayDelivery(
  settings: Settings,
  id: number,
  deliveryId: number,
  { tenant: tenantId }: TenantFlags,
): Promise<void> {
  return askService({ settings, tenantId }, async (service) => {
    const options = { params: { path: { id, deliveryId }, ...idempotent() } }
    await responseOf(service.POST('/internal/webhooks/{id}/deliveries/{deliveryId}/replay', options))
    print(`delivery ${deliveryId} is sent again, under the same webhook-id`)
  })
}

/** Sends a webhook nothing any more. */
export const disableWebhook = forTenantOn(async (service, id: number) => {
  const options = { params: { path: { id }, ...idempotent() } }
  await responseOf(service.POST('/internal/webhooks/{id}/disable', options))
  print(`webhook ${id} is disabled: what waited for it is given up`)
})

/** Sends a webhook events again. */
export const enableWebhook = forTenantOn(async (service, id: number) => {
  const options = { params: { path: { id }, ...idempotent() } }
  await responseOf(service.POST('/internal/webhooks/{id}/enable', options))
  print(`webhook ${id} gets what happens from now on`)
})

/** Removes a webhook. */
export const removeWebhook = forTenantOn(async (service, id: number) => {
  await responseOf(service.DELETE('/internal/webhooks/{id}', { params: { path: { id } } }))
  print(`webhook ${id} is gone, with the log of its deliveries`)
})

/** Sends due events to an endpoint. */
import type { EndpointChannels, EndpointOptions, Outcome } from '../../domain/channels/channel.ts'
import { pausedUntil, WEBHOOK_RETRIES, WEBHOOK_TRIED_MS } from '../../domain/channels/retry.ts'
import type { Webhook } from '../../domain/channels/webhook.ts'
import { EventSeverity, EventType } from '../../domain/codes.ts'
import type { WebhookJob } from '../../domain/jobs.ts'
import { insertEvent } from '../../store/events.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { deliver, type Result } from './deliver.ts'
import { claimEvents, giveUpDeliveries, noteAttempt } from './rows/deliveries.ts'
import { endPause, noteWarned, pauseWebhook, readWebhook, writeDisabled } from './rows/webhooks.ts'
import { open } from './secrets.ts'

export interface SendOptions extends Pick<EndpointOptions, 'secretsKeys'> {
  /** Called after each attempt. */
  readonly onAttempt?: (outcome: Outcome) => void
}

/** An endpoint's turn; one attempt may take longer. */
const TURN_MS = 5000
/** Deliveries to one endpoint at a time. */
const AT_ONCE = 4
const DAY_MS = 24 * 3_600_000

/**
 * Sends until no delivery to the endpoint is due, the endpoint is found away, or the turn is over.
 *
 * @returns whether due deliveries may be left
 * @throws Error if the endpoint's secret cannot be opened; nothing was tried then
 */
export const sendWebhooks = (
  store: Store,
  channels: EndpointChannels,
  { secretsKeys, onAttempt }: SendOptions,
  { tenantId, webhookId }: WebhookJob,
): Promise<boolean> =>
  deliver<TenantTx, WebhookClaim>(
    store,
    {
      within: (work) => inTenant(store, tenantId, work),
      retries: WEBHOOK_RETRIES,
      claim: (tx, leaseUntil) => claim(tx, webhookId, secretsKeys, leaseUntil),
      send: ({ event, endpoint, eventId }) => {
        const { render, send } = channels[endpoint.channel]
        return send(render([event]), endpoint, eventId)
      },
      settle: async (tx, delivery, result) => {
        await settle(tx, delivery, result)
        return () => onAttempt?.(result.outcome)
      },
    },
    TURN_MS,
  )

type WebhookClaim = Awaited<ReturnType<typeof claim>>[number]

/** Claims the next deliveries. To an endpoint that was away, one delivery goes first: it shows whether it is back. */
async function claim(tx: TenantTx, webhookId: number, secretsKeys: readonly Buffer[], leaseUntil: Date) {
  const webhook = await readWebhook(tx, webhookId)
  if (webhook === undefined || webhook.disabledAt !== null || webhook.pausedUntil !== null) return []
  const { id, channel, url, failures, secret, previousSecret } = webhook
  const sealed = [secret, ...(previousSecret === null ? [] : [previousSecret])]
  const secrets = sealed.map((one) => open(one, tx.tenantId, secretsKeys))
  const deliveries = await claimEvents(tx, webhookId, failures > 0 ? 1 : AT_ONCE, leaseUntil)
  return deliveries.map((delivery) => ({ ...delivery, endpoint: { id, channel, url, failures, secrets } }))
}

async function settle(
  tx: TenantTx,
  { id: deliveryId, endpoint: { id, failures } }: WebhookClaim,
  result: Result,
): Promise<void> {
  const { outcome, status, askedMs, why } = result
  const now = tx.now.getTime()
  if (outcome === 'delivered') {
    if (failures > 0) await endPause(tx, id)
    await noteAttempt(tx, deliveryId, result)
    return
  }
  // The following changes the endpoint and deliveries to it. All transactions lock the endpoint first.
  const webhook = await readWebhook(tx, id, { lock: true })
  if (webhook === undefined) return
  await noteAttempt(tx, deliveryId, result)
  if (outcome === 'gone') {
    if (webhook.disabledAt !== null) return
    const did = why.replace(/^it /, '')
    await writeDisabled(tx, id, `It ${did}.`)
    await warn(tx, webhook, ' is disabled', `${did}: it gets nothing any more`)
    return
  }
  if (outcome === 'later') await pauseWebhook(tx, id, failures, pausedUntil(failures + 1, tx.now, askedMs))
  // While it is away, one is tried. So others may have waited all the time.
  const others = outcome === 'later' ? await giveUpDeliveries(tx, id, new Date(now - WEBHOOK_TRIED_MS)) : 0
  const isGivenUp = status === 'failed' || others > 0
  // The tenant is warned once a day.
  if (!isGivenUp || !(await noteWarned(tx, id, new Date(now - DAY_MS)))) return
  const did = `has not taken events for three days; at last ${why}. They can be replayed`
  await warn(tx, webhook, ': events are given up', did)
}

const warn = (tx: TenantTx, { id, url }: Webhook, title: string, what: string): Promise<void> =>
  insertEvent(tx, {
    type: EventType.Platform,
    severity: EventSeverity.Warning,
    title: `Webhook ${id}${title}`,
    description: `The webhook at ${new URL(url).origin} ${what}.`,
  })

/** The list of webhooks, and the page of one with its deliveries. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { DeliveryQuery, type Webhook, type WebhookDelivery } from '../../../domain/channels/webhook.ts'
import { counted } from '../../../domain/quantity.ts'
import { capital } from '../../../domain/text.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks, Done } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { type IconName, icon } from '../../parts/icon.ts'
import { ANY, choices, nextPage } from '../../parts/list.ts'
import { actorMark, ago, ahead, facts, instantMark, panel } from '../../parts/marks.ts'
import { actsOn, REPLAY, readWebhook, readWebhooks } from './acts.ts'

const { status, page } = DeliveryQuery.properties
export const WebhookPageQuery = Type.Object({ ...Done.properties, status, page })
export type WebhookPageQuery = Static<typeof WebhookPageQuery>

const MOST_ROWS = 50

export async function webhooksPage(calls: Calls, tenantId: string, now: number): Promise<Html> {
  const webhooks = await readWebhooks(calls)
  return html`<div class="head"><div><h1>Webhooks</h1>
<p class="lead"><code>simherd webhooks add</code> registers one and shows its secret.</p></div></div>
${
  webhooks.length === 0
    ? html`<p class="empty">No webhook: events are sent nowhere.</p>`
    : html`<div class="panel"><table class="alerts">
<thead><tr><th scope="col">Webhook</th><th scope="col" class="wide">Events</th><th scope="col">State</th></tr></thead>
<tbody>
${webhooks.map(
  (webhook) => html`<tr id="webhook-${webhook.id}">
<th scope="row"><a href="/t/${tenantId}/webhooks/${webhook.id}"><bdi>${webhook.url}</bdi></a><small><bdi>${webhook.description}</bdi></small></th>
<td class="wide">${eventWords(webhook)}</td>
<td>${stateOf(webhook, now)}</td>
</tr>`,
)}
</tbody>
</table></div>`
}`
}

const eventWords = ({ events }: Webhook): string => events?.join(', ') ?? 'all'

function stateOf({ disabledAt, disabledWhy, failures, pausedUntil }: Webhook, now: number): Html {
  if (disabledAt !== null)
    return html`<span class="badge critical">${icon('suspended')} Disabled</span><small>${ago(disabledAt, now)}: <bdi>${disabledWhy}</bdi></small>`
  if (failures === 0) return html`<span class="badge good">${icon('active')} In use</span>`
  return html`<span class="badge warning">${icon('warning')} Away</span><small>${counted(failures, 'failure')} in a row, tried again ${pausedUntil === null ? 'now' : ahead(pausedUntil, now)}</small>`
}

export async function webhookPage(
  calls: Calls,
  tenantId: string,
  id: number,
  { query, now, said }: { readonly query: WebhookPageQuery; readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const { status, page = 1 } = query
  const params = { path: { id }, query: { page, pageSize: MOST_ROWS, ...(status && { status }) } }
  const [webhook, { data, pagination }] = await Promise.all([
    readWebhook(calls, id),
    mustAnswer(calls.inside.GET('/internal/webhooks/{id}/deliveries', { params })),
  ])
  const path = `/t/${tenantId}/webhooks/${id}`
  return html`<div class="head">
<div>
<p class="crumbs"><a href="/t/${tenantId}/webhooks">Webhooks</a></p>
<h1><bdi>${webhook.url}</bdi></h1>
</div>
${actLinks(path, actsOn(webhook))}
</div>
${said}
<div class="columns">
<div>
${panel(
  { title: 'Deliveries', id: 'deliveries', note: 'newest first' },
  html`<form class="filters inset" method="get" action="${path}" role="search">
${choices({ name: 'status', label: 'State', value: status }, [ANY, ...STATUS_CHOICES])}
<button type="submit">Show</button>
</form>
${data.length === 0 ? html`<p class="empty">None.</p>` : table(path, data, now)}
${nextPage(path, { status }, pagination)}`,
)}
</div>
<div>
${panel({ title: 'Webhook', id: 'webhook' }, facts(factsOf(webhook, now)))}
</div>
</div>`
}

const factsOf = (webhook: Webhook, now: number): (readonly [string, Html | string])[] => [
  ['State', stateOf(webhook, now)],
  ['Events', eventWords(webhook)],
  ['For', html`<bdi>${webhook.description}</bdi>`],
  ['Registered', html`${instantMark(webhook.createdAt)} by ${actorMark(webhook.createdByName, webhook.createdBy)}`],
  ...(webhook.previousSecretUntil === null
    ? []
    : [['Old secret', html`signs too until ${instantMark(webhook.previousSecretUntil)}`] as const]),
  [
    'By command',
    html`<code>simherd webhooks rotate ${webhook.id}</code> gives it a new secret, <code>remove</code> ends it`,
  ],
]

const STATUSES: Readonly<Record<WebhookDelivery['status'], readonly [IconName, string]>> = {
  pending: ['next', 'quiet'],
  delivered: ['active', 'good'],
  failed: ['critical', 'critical'],
}
const STATUS_CHOICES = Object.keys(STATUSES).map((one) => [one, capital(one)] as const)

const table = (path: string, deliveries: readonly WebhookDelivery[], now: number): Html => html`<table>
<thead><tr><th scope="col">Event</th><th scope="col">State</th><th scope="col" class="wide">Answer</th></tr></thead>
<tbody>
${deliveries.map((one) => {
  const [name, tone] = STATUSES[one.status]
  return html`<tr id="delivery-${one.id}">
<th scope="row">${one.type}<small>${one.id}, ${ago(one.createdAt, now)}</small><small><a href="${path}/${REPLAY.name}?delivery=${one.id}">Replay…<span class="hidden"> ${one.id}</span></a></small></th>
<td><span class="badge ${tone}">${icon(name)} ${capital(one.status)}</span><small>${counted(one.attempts, 'attempt')}${one.nextAttemptAt === null ? '' : html`, next ${ahead(one.nextAttemptAt, now)}`}</small></td>
<td class="wide">${one.answer ?? ''} <bdi>${one.response ?? ''}</bdi></td>
</tr>`
})}
</tbody>
</table>`

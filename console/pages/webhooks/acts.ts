/** Acts on a webhook: test, enable, disable it, and replay a delivery, which `delivery` names in the query and the form. */
import { html } from 'hono/html'
import type { Webhook } from '../../../domain/channels/webhook.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, plainAct, readNumber } from '../../parts/form.ts'

/** All: a tenant has at most ten. @throws ServiceError `forbidden` */
export const readWebhooks = async ({ inside }: Calls): Promise<Webhook[]> =>
  (await mustAnswer(inside.GET('/internal/webhooks', { params: { query: { pageSize: 50 } } }))).data

/** @throws ServiceError `webhook_not_found`, `forbidden` */
export async function readWebhook(calls: Calls, id: number): Promise<Webhook> {
  const found = (await readWebhooks(calls)).find((one) => one.id === id)
  if (found === undefined) throw new ServiceError('webhook_not_found', `There is no webhook ${id}.`)
  return found
}

const ON_WEBHOOK = {
  noun: 'webhooks',
  read: readWebhook,
  of: ({ url }: Webhook) => html`<bdi>${url}</bdi>`,
  whyNot: ({ disabledAt }: Webhook) => (disabledAt === null ? undefined : 'It is disabled.'),
} as const

const test = plainAct<Webhook>({
  ...ON_WEBHOOK,
  name: 'test',
  label: 'Send a test',
  icon: 'signal',
  question: 'Send a test to this webhook?',
  effect: html`It gets an event <code>webhook.test</code> at once, even if it was away.`,
  undo: 'There is nothing to take back.',
  send: ({ inside }, { id }, _, { header }) =>
    inside.POST('/internal/webhooks/{id}/test', { params: { path: { id }, header } }),
  done: 'The test leaves at once: it is the newest delivery.',
})

const disable = plainAct<Webhook>({
  ...ON_WEBHOOK,
  name: 'disable',
  label: 'Disable',
  icon: 'suspended',
  tone: 'cut',
  question: 'Send nothing more to this webhook?',
  effect: 'It gets no event until it is enabled, and never those of the time between. Waiting deliveries are given up.',
  undo: html`By <em>Enable</em>. Deliveries that were given up can be replayed.`,
  send: ({ inside }, { id }, _, { header }) =>
    inside.POST('/internal/webhooks/{id}/disable', { params: { path: { id }, header } }),
  done: 'It is disabled: it gets nothing more.',
})

const enable = plainAct<Webhook>({
  ...ON_WEBHOOK,
  name: 'enable',
  label: 'Enable',
  icon: 'back',
  tone: 'first',
  question: 'Send events to this webhook again?',
  effect: 'It gets events from now on.',
  undo: html`By <em>Disable</em>.`,
  whyNot: ({ disabledAt }) => (disabledAt === null ? 'It is enabled.' : undefined),
  send: ({ inside }, { id }, _, { header }) =>
    inside.POST('/internal/webhooks/{id}/enable', { params: { path: { id }, header } }),
  done: 'It is enabled: it gets events from now on.',
})

export const REPLAY = plainAct<Webhook & { readonly deliveryId: number }>({
  ...ON_WEBHOOK,
  name: 'replay',
  label: 'Replay',
  icon: 'refresh',
  read: async (calls, id, asked) => {
    const deliveryId = readNumber(asked, 'delivery', { from: 1, isRequired: true })
    return { ...(await readWebhook(calls, id)), deliveryId }
  },
  question: 'Send this event again?',
  effect: html`It leaves at once, with the same <code>webhook-id</code>, and is tried for three days.`,
  undo: 'Not once it is sent. Receivers know a repeated event by its id.',
  fields: ({ deliveryId }) => html`<input type="hidden" name="delivery" value="${deliveryId}">`,
  send: ({ inside }, { id, deliveryId }, _, { header }) =>
    inside.POST('/internal/webhooks/{id}/deliveries/{deliveryId}/replay', {
      params: { path: { id, deliveryId }, header },
    }),
  done: 'The event is sent again, at once.',
})

/** Acts with an effect on a webhook in its present state. */
export const actsOn = ({ disabledAt }: Webhook): Act<Webhook>[] => (disabledAt === null ? [test, disable] : [enable])

export const WEBHOOK_ACTS = [test, disable, enable]

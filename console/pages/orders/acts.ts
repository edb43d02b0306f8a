/** Acts on an order: the steps of its fulfilment, and its payment. */
import { html } from 'hono/html'
import { type OrderStep, whyNot, whyNotThere } from '../../../domain/orders/decisions.ts'
import type { Order } from '../../../domain/orders/order.ts'
import { counted } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, type Typed, textField } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { addressFields, addressIn, inputField, orderBadge, orderWords } from './marks.ts'

/** @throws ServiceError `order_not_found` */
export const readOrder = ({ outside }: Calls, orderId: number): Promise<Order> =>
  mustAnswer(outside.GET('/api/orders/{orderId}', { params: { path: { orderId } } }))

/** An order with what operators alone may see. */
export const askDetail = ({ inside }: Calls, orderId: number) =>
  inside.GET('/internal/orders/{orderId}', { params: { path: { orderId } } })

interface StepWords extends Pick<Act<Order>, 'label' | 'icon' | 'tone' | 'done'> {
  readonly question: string
  readonly effect: (order: Order) => string
  readonly takenBack: Html | string
  readonly fields?: (order: Order, typed: Typed) => Html
  readonly body?: (typed: Typed) => object
}

const LASTING = 'Not at all: its SIMs are in the estate.'
const AGAIN = 'By another order, at the price of that time.'
const joining = ({ quantity }: Order) =>
  `The estate has ${counted(quantity, 'new SIM')}, Unprovisioned. One wrong ICCID: it has none of them.`

const STEP_WORDS: Readonly<Record<OrderStep, StepWords>> = {
  process: {
    label: 'Process',
    icon: 'next',
    tone: 'first',
    question: 'Begin to fulfil this order?',
    effect: () => 'It can no longer be cancelled.',
    takenBack: html`Not at all. <em>Fail</em> ends it.`,
    done: 'It is being processed.',
  },
  ship: {
    label: 'Ship',
    icon: 'ship',
    tone: 'first',
    question: 'Is this order handed to a carrier?',
    effect: joining,
    takenBack: LASTING,
    fields: (order, typed) => html`${inputField('shippingCarrier', 'Carrier', typed)}
${inputField('trackingNumber', 'Tracking number', typed)}
${simsField(`ICCIDs of ${counted(order.quantity, 'SIM')}, one a line`, typed)}
${whyNotThere(order) === undefined ? '' : addressFields(typed)}`,
    body: (typed) => {
      const { shippingCarrier = '', trackingNumber = '' } = typed
      return { shippingCarrier, trackingNumber, ...addressIn(typed), ...simsIn(typed) }
    },
    done: 'It is shipped: its SIMs are in the estate.',
  },
  deliver: {
    label: 'Deliver',
    icon: 'check',
    tone: 'first',
    question: 'Has the shipment arrived?',
    effect: () => 'Nothing more is to be done for it.',
    takenBack: LASTING,
    done: 'It is delivered.',
  },
  complete: {
    label: 'Complete',
    icon: 'check',
    tone: 'first',
    question: 'Complete this order?',
    effect: joining,
    takenBack: LASTING,
    fields: (_, typed) =>
      simsField("A carrier's profiles, one a line: ICCID, activation code. Empty: they are made", typed),
    body: simsIn,
    done: 'It is complete: its SIMs are in the estate.',
  },
  cancel: {
    label: 'Cancel the order',
    icon: 'no',
    tone: 'cut',
    question: 'Cancel this order?',
    effect: () => 'It ends, and stays in the list.',
    takenBack: AGAIN,
    done: 'It is cancelled.',
  },
  fail: {
    label: 'Fail',
    icon: 'no',
    tone: 'cut',
    question: 'Give this order up?',
    effect: () => 'It ends without SIMs. An event of the tenant has the reason.',
    takenBack: AGAIN,
    fields: (_, typed) => textField({ name: 'reason', label: 'Reason', most: 500 }, typed),
    body: ({ reason }) => ({ reason }),
    done: 'It has failed.',
  },
}

/** SIMs, one a line: the ICCID, and behind it the activation code of a profile. */
const simsField = (label: string, typed: Typed): Html => html`<label>${label}
<textarea name="sims" rows="6">${typed['sims'] ?? ''}</textarea></label>`

function simsIn(typed: Typed): object {
  const lines = (typed['sims'] ?? '').split('\n').filter((line) => line.trim() !== '')
  const sims = lines.map((line) => {
    const [iccid, esimQrPayload] = line.trim().split(/[\s,;]+/)
    return { iccid, ...(esimQrPayload !== undefined && { esimQrPayload }) }
  })
  return sims.length === 0 ? {} : { sims }
}

/** A step's page says why an order in another state does not take it. */
function stepOf(name: OrderStep): Act<Order> & { readonly name: OrderStep } {
  const { question, effect, takenBack, fields, body, ...act } = STEP_WORDS[name]
  return {
    noun: 'orders',
    name,
    ...act,
    read: name === 'cancel' ? readOrder : (calls, id) => mustAnswer(askDetail(calls, id)),
    confirm: (order) => {
      const refusal = whyNot(name, order)
      return {
        of: `Order ${order.id}`,
        question,
        back: 'Not now',
        facts: [
          ['Order', html`${orderWords(order)} ${orderBadge(order)}`],
          ['Then', effect(order)],
          ['Taken back', takenBack],
        ],
        ...(refusal !== undefined && { warning: `This order ${refusal.detail}.`, isIdle: true }),
        fields: (typed) => (refusal === undefined ? fields?.(order, typed) : undefined) ?? html``,
      }
    },
    send: async (calls, { id: orderId }, typed, { header }) => {
      const params = { path: { orderId } }
      if (name !== 'cancel') {
        const once = { params: { ...params, header }, body: body?.(typed) }
        return calls.inside.POST(`/internal/orders/{orderId}/${name}`, once)
      }
      const answer = await calls.outside.DELETE('/api/orders/{orderId}', { params })
      if (answer.response.ok) return answer
      // The interface refuses it a second time. A form that is sent again has had its effect.
      const now = await calls.outside.GET('/api/orders/{orderId}', { params })
      return now.data?.status === 'Cancelled' ? now : answer
    },
  }
}

export const STEPS = (['process', 'ship', 'deliver', 'complete', 'cancel', 'fail'] as const).map(stepOf)

export const PAYMENT: Act<{ readonly order: Order; readonly etag: string }> = {
  noun: 'orders',
  name: 'payment',
  label: 'Payment',
  icon: 'month',
  read: async (calls, id) => {
    const reading = askDetail(calls, id)
    return { order: await mustAnswer(reading), etag: (await reading).response.headers.get('etag') ?? '' }
  },
  confirm: ({ order, etag }) => ({
    of: `Order ${order.id}`,
    question: 'Change invoice and receipt of this order?',
    button: 'Change',
    facts: [
      ...paymentOf(order),
      ['Then', 'The tenant sees them with the order. Nothing is charged.'],
      ['Taken back', 'By changing them again. The audit trail has what they were.'],
    ],
    fields: (typed) => html`<input type="hidden" name="seen" value="${etag}">
${inputField('invoice', 'Invoice', { invoice: order.paymentInvoiceId ?? '', ...typed })}
${inputField('receipt', 'Address of the receipt', { receipt: order.paymentReceiptUrl ?? '', ...typed }, 2000)}`,
  }),
  send: ({ inside }, { order, etag }, { invoice = '', receipt = '', seen = '' }) => {
    // A form that is sent again changes nothing, so no version is in its way.
    const isAsNow = invoice === (order.paymentInvoiceId ?? '') && receipt === (order.paymentReceiptUrl ?? '')
    const params = { path: { orderId: order.id }, header: { 'If-Match': isAsNow ? etag : seen } }
    const body = { paymentInvoiceId: invoice, paymentReceiptUrl: receipt }
    return inside.PATCH('/internal/orders/{orderId}', { params, body })
  },
  done: 'Invoice and receipt are changed.',
}

/** An address from others is shown as text, and is no link. */
export const paymentOf = (order: Order): (readonly [string, Html])[] => [
  ['Invoice', html`<bdi>${order.paymentInvoiceId ?? 'none'}</bdi>`],
  ['Receipt', html`<bdi>${order.paymentReceiptUrl ?? 'none'}</bdi>`],
]

/** Acts with an effect on an order in its present state. @param isOperator keys of the tenant may only cancel */
export const actsOn = (order: Order, isOperator: boolean): Pick<Act<never>, 'name' | 'label' | 'icon' | 'tone'>[] => [
  ...STEPS.filter(({ name }) => whyNot(name, order) === undefined && (isOperator || name === 'cancel')),
  ...(isOperator ? [PAYMENT] : []),
]

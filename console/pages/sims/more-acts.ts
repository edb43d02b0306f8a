/** Acts on a SIM that leave its state alone: messages to its device, the watchdog's care for it, its next pool. */
import { html } from 'hono/html'
import { SimStatus, SimType } from '../../../domain/codes.ts'
import type { Sim } from '../../../domain/sims/sim.ts'
import type { Calls } from '../../calls.ts'
import { type Act, numberField, readNumber, textField } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { facts, grouped } from '../../parts/marks.ts'
import { type PoolName, poolField, readPoolNames } from '../../pools.ts'
import { thresholdWords } from './marks.ts'
import { type ActedOn, readSim, simAct } from './sim-act.ts'

const QUEUED = html`By <em>Take back the queued change</em>, on its page, until then.`

const refresh = simAct({
  name: 'refresh',
  label: 'Refresh its connection',
  icon: 'refresh',
  question: 'Refresh the connection of this SIM?',
  facts: () => [
    ['Then', 'The carrier ends its present connection, and the device makes a new one.'],
    ['Taken back', 'There is nothing to take back.'],
  ],
  send: ({ outside }, { sim }, _typed, params) =>
    outside.POST('/api/tickets/refresh', { body: { simId: sim.id }, params }),
  done: 'The carrier is asked to refresh its connection.',
})

const sendSms = simAct({
  name: 'send-sms',
  label: 'Send an SMS',
  icon: 'sms',
  question: 'Send an SMS to this SIM?',
  facts: () => [
    ['Then', 'The carrier sends it to the device, and charges it as its tariff says.'],
    ['Taken back', 'Not once it is sent.'],
  ],
  fields: (typed) => textField({ name: 'message', label: 'Message', most: 1600 }, typed),
  send: ({ outside }, { sim }, { message = '' }, params) =>
    outside.POST('/api/tickets/send-sms', { body: { simId: sim.id, message }, params }),
  done: 'The carrier is asked to send the SMS.',
})

const setWatchdog = (
  { inside }: Calls,
  { sim: { id } }: ActedOn,
  body: { readonly isWatchdogExempt?: boolean; readonly warningThresholdPct?: number | null },
) => inside.PATCH('/internal/sims/{id}/watchdog', { params: { path: { id } }, body })

const exempt = simAct({
  name: 'exempt',
  label: 'Exempt from the watchdog',
  icon: 'exempt',
  question: 'Exempt this SIM from the watchdog?',
  facts: () => [
    ['Then', 'No rule looks at it: it is neither suspended nor in a log or mail. Its open alerts end.'],
    [
      'Until',
      'A person takes it back. A suspension by the watchdog stays until the next billing cycle, or until it is brought back.',
    ],
    ['Taken back', html`By <em>Watch again</em>, on its page.`],
  ],
  warning: ({ sim }) => (sim.isWatchdogExempt ? 'It is exempt already.' : undefined),
  send: (calls, found) => setWatchdog(calls, found, { isWatchdogExempt: true }),
  done: 'It is exempt from the watchdog. To take it back, watch it again.',
})

const watch = simAct({
  name: 'watch',
  label: 'Watch again',
  icon: 'exempt',
  question: 'Let the watchdog watch this SIM again?',
  facts: () => [
    ['Then', 'Rules look at it at once, and may suspend it for what it has used in this billing cycle.'],
    ['Taken back', html`By <em>Exempt from the watchdog</em>, on its page.`],
  ],
  warning: ({ sim }) => (!sim.isWatchdogExempt ? 'It is watched already.' : undefined),
  send: (calls, found) => setWatchdog(calls, found, { isWatchdogExempt: false }),
  done: 'The watchdog watches it again. To take it back, exempt it.',
})

const setThreshold = simAct({
  name: 'threshold',
  label: 'Set its warning threshold',
  icon: 'bell',
  question: 'From which share of its limit on is there a warning?',
  facts: ({ sim }) => [
    ['Threshold', thresholdWords(sim)],
    ['Then', 'Rules that warn of usage decide by it at once. None suspends because of it.'],
    ['Taken back', 'By another threshold; left empty, that of its pool holds again.'],
  ],
  fields: (typed) =>
    numberField({ name: 'percent', label: 'Percent of its limit; empty: as its pool', from: 1, to: 100 }, typed),
  send: (calls, found, typed) =>
    setWatchdog(calls, found, { warningThresholdPct: readNumber(typed, 'percent', { from: 1, to: 100 }) }),
  done: 'The warning threshold is set.',
})

const spare = simAct({
  name: 'spare',
  label: 'Not again this cycle',
  icon: 'hold',
  question: 'Suspend this SIM no more in this billing cycle?',
  facts: () => [
    ['Then', 'No rule suspends it. Rules still log and mail.'],
    ['Until', 'The next billing cycle begins.'],
    ['Taken back', html`Not before then. A person can suspend it all the same, by <em>Suspend</em>.`],
  ],
  send: ({ inside }, { sim }) => inside.POST('/internal/enforcement/pass-over', { body: { simIds: [sim.id] } }),
  done: 'No rule suspends it in this billing cycle.',
})

const moveAnywhere = simAct({
  name: 'move',
  label: 'Move at the end of the cycle',
  icon: 'next',
  question: 'Move this SIM to another pool when the billing cycle ends?',
  facts: ({ sim }) => [
    ...queuedWords(sim),
    ['Then', 'The month end moves it. Until then it stays in its pool, with what it has used.'],
    ['Taken back', QUEUED],
  ],
  send: ({ outside }, { sim }, typed, { header }) =>
    outside.POST('/api/sims/{id}/queue-reprovision', {
      params: { path: { id: sim.id }, header },
      body: { poolId: readNumber(typed, 'poolId', { from: 1, isRequired: true }) },
    }),
  done: 'It moves when the billing cycle ends. To take it back, take back the queued change.',
})

/** With a choice among the pools. */
export const MOVE: Act<ActedOn & { readonly pools: readonly PoolName[] }> = {
  ...moveAnywhere,
  read: async (calls, id) => {
    const [found, pools] = await Promise.all([readSim(calls, id), readPoolNames(calls)])
    return { ...found, pools }
  },
  confirm: (found, now) => ({
    ...moveAnywhere.confirm(found, now),
    fields: (typed) => poolField(found.pools, typed),
  }),
}

const takeOut = simAct({
  name: 'take-out',
  label: 'Unprovision at the end of the cycle',
  icon: 'leave',
  tone: 'cut',
  question: 'Unprovision this SIM when the billing cycle ends?',
  facts: ({ sim }) => [
    ...queuedWords(sim),
    ['Then', 'The month end takes it out of its pool and unprovisions it at the carrier. Until then it works.'],
    ['Taken back', QUEUED],
  ],
  send: ({ outside }, { sim }, _typed, { header }) =>
    outside.POST('/api/sims/{id}/queue-unprovision', { params: { path: { id: sim.id }, header } }),
  done: 'It is unprovisioned when the billing cycle ends. To take it back, take back the queued change.',
})

const takeBack = simAct({
  name: 'take-back',
  label: 'Take back the queued change',
  icon: 'back',
  tone: 'first',
  question: 'Take back the change at the end of the billing cycle?',
  facts: ({ sim }) => [
    ...queuedWords(sim),
    ['Then', 'It stays where it is.'],
    ['Taken back', 'By queueing the change again.'],
  ],
  warning: ({ sim }) => (isQueued(sim) ? undefined : 'No change is queued.'),
  send: ({ inside }, { sim }) =>
    inside.DELETE('/internal/sims/{id}/queued-change', { params: { path: { id: sim.id } } }),
  done: 'The queued change is taken back. To have it after all, queue it again.',
})

type Queued = Pick<Sim, 'pendingPoolId' | 'pendingTariffId' | 'pendingUnassign'>

const isQueued = ({ pendingPoolId, pendingTariffId, pendingUnassign }: Queued): boolean =>
  pendingUnassign || pendingPoolId !== null || pendingTariffId !== null

/** The change queued for the end of the billing cycle, as a row of facts; empty without one. */
export function queuedWords(sim: Queued): (readonly [string, Html | string])[] {
  const { pendingPoolId, pendingTariffId, pendingUnassign } = sim
  const to = [
    ...(pendingPoolId === null ? [] : [`pool ${pendingPoolId}`]),
    ...(pendingTariffId === null ? [] : [`tariff ${pendingTariffId}`]),
  ]
  return isQueued(sim) ? [['At cycle end', pendingUnassign ? 'unprovisioned' : `moves to ${to.join(', ')}`]] : []
}

/** The code is in the answer to the form, and in no URL. */
export const SHOW_CODE = simAct<Sim>({
  name: 'code',
  label: 'Show its activation code',
  icon: 'key',
  question: 'Show the activation code of this eSIM?',
  facts: () => [
    ['Then', 'The next page shows the code, also as a QR code. Anyone who has it can download the profile.'],
    ['Taken back', 'It is not: the audit trail notes that this key was shown the code.'],
  ],
  warning: ({ sim }) => (sim.type === SimType.eSIM ? undefined : 'It is a physical SIM: it has none.'),
  send: ({ showingCodes }, { sim }) =>
    showingCodes().GET('/api/sims/{idOrIccid}', { params: { path: { idOrIccid: String(sim.id) } } }),
  show: codePage,
  done: '',
})

function codePage({ tag, iccid, esimQrPayload, esimQrDataUrl }: Sim, back: string): Html {
  const code =
    esimQrPayload === null || esimQrDataUrl === null
      ? html`<p class="empty">None is stored, or this key may not see it.</p>`
      : facts([
          ['Code', html`<code>${esimQrPayload}</code>`],
          ['QR code', html`<img src="${esimQrDataUrl}" alt="The code, to be read by the device">`],
        ])
  return html`<div class="head"><div>
<p class="crumbs"><a href="${back}"><bdi>${tag || grouped(iccid)}</bdi></a></p>
<h1>Activation code</h1>
</div></div>
<div class="panel act">${code}
<p class="acts"><a class="button" href="${back}">To the SIM</a></p></div>`
}

export interface Seen {
  /** Whether the key may see activation codes of eSIMs. */
  readonly seesCodes: boolean
  /** Others may not call the internal interface. */
  readonly isOperator: boolean
  /** Whether a person has ended enforcement for this cycle. */
  readonly isSpared: boolean
}

/** Acts that the present SIM allows. */
export function moreActsOn(
  sim: Sim,
  { isOperator, isSpared, seesCodes }: Seen,
): Pick<Act<never>, 'name' | 'label' | 'icon'>[] {
  const isActive = sim.status === SimStatus.Active
  const isProvisioned = sim.status !== SimStatus.Unprovisioned
  return [
    ...(isActive ? [refresh, sendSms] : []),
    ...(isOperator && isActive && !isSpared ? [spare] : []),
    ...(isOperator ? [sim.isWatchdogExempt ? watch : exempt, setThreshold] : []),
    ...(isProvisioned ? [MOVE] : []),
    ...(isProvisioned && !sim.pendingUnassign ? [takeOut] : []),
    ...(isOperator && isQueued(sim) ? [takeBack] : []),
    ...(seesCodes && sim.type === SimType.eSIM ? [SHOW_CODE] : []),
  ]
}

/** Without {@link MOVE} and {@link SHOW_CODE}: the one reads the pools too, the other answers with a page. */
export const MORE_ACTS = [refresh, sendSms, spare, exempt, watch, setThreshold, takeOut, takeBack]

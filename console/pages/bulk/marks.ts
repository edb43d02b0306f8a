/** Words and marks of bulk runs, and the form on the list of SIMs that leads to one. */
import { html } from 'hono/html'
import { TicketStatus } from '../../../domain/codes.ts'
import { ERRORS } from '../../../domain/errors.ts'
import { count, counted } from '../../../domain/quantity.ts'
import type { SimSummary } from '../../../domain/sims/sim.ts'
import { capital } from '../../../domain/text.ts'
import type { BulkFilter, BulkOutcome, BulkRun, BulkRunDetail, BulkType } from '../../../domain/tickets/bulk.ts'
import type { Html } from '../../parts/html.ts'
import { type IconName, icon } from '../../parts/icon.ts'
import { badge } from '../../parts/marks.ts'
import { STATUSES } from '../tickets/marks.ts'

interface TypeWords {
  readonly label: string
  /** Of a SIM, afterwards. */
  readonly done: string
  readonly icon: IconName
  readonly tone?: 'cut'
  /** The type of run that takes it back, or else how that is done. */
  readonly opposite?: BulkType
  readonly back?: string
}

export const TYPES: Readonly<Record<BulkType, TypeWords>> = {
  suspend: { label: 'Suspend', done: 'suspended', icon: 'suspended', tone: 'cut', opposite: 'activate' },
  activate: { label: 'Bring back', done: 'brought back', icon: 'back', opposite: 'suspend' },
  refresh: { label: 'Refresh', done: 'refreshed', icon: 'refresh', back: 'There is nothing to take back.' },
  'send-sms': { label: 'Send an SMS', done: 'sent an SMS', icon: 'sms', back: 'Not once it is sent.' },
  provision: { label: 'Provision', done: 'provisioned', icon: 'pool', opposite: 'unassign' },
  unassign: {
    label: 'Unprovision',
    done: 'unprovisioned',
    icon: 'leave',
    tone: 'cut',
    back: 'By provisioning them again.',
  },
}

export const EFFECTS: Readonly<Record<BulkType, string>> = {
  suspend:
    'The carrier blocks their data, voice and SMS. Neither the watchdog nor the next billing cycle brings them back.',
  activate:
    'The carrier opens their data, voice and SMS. A rule that had suspended one leaves it alone in this billing cycle.',
  refresh: 'The carrier ends their present connections, and the devices make new ones.',
  'send-sms': 'The carrier sends it to each device, and charges it as its tariff says.',
  provision: 'The carrier provisions them into the pool. They stay suspended until they are brought back.',
  unassign: 'The carrier unprovisions them, and they leave their pools.',
}

/** `Suspend 298 SIMs`. */
export const runWords = (type: BulkType, sims: number): string =>
  `${TYPES[type].label}${type === 'send-sms' ? ' to' : ''} ${counted(sims, 'SIM')}`

export const stateBadge = ({ state }: BulkRun): Html =>
  html`<span class="badge ${state === 'done' ? 'good' : 'quiet'}">${capital(state)}</span>`

/** In the order of their course. Icons and tones. */
export const OUTCOMES: readonly (readonly [BulkOutcome, IconName, string])[] = [
  ['waiting', 'stock', 'quiet'],
  ['pending', ...STATUSES[TicketStatus.Pending]],
  ['processing', ...STATUSES[TicketStatus.Processing]],
  ['complete', ...STATUSES[TicketStatus.Complete]],
  ['failed', ...STATUSES[TicketStatus.Failed]],
  ['cancelled', ...STATUSES[TicketStatus.Cancelled]],
  ['refused', 'no', 'warning'],
]
export const outcomeBadge = (outcome: BulkOutcome): Html =>
  html`${OUTCOMES.map(([one, name, tone]) => (one === outcome ? badge(tone, capital(outcome), name) : ''))}`

/** Refused SIMs by reason. */
export const refusalWords = (refusals: BulkRunDetail['refusals']): Html =>
  html`${refusals.map(({ code, count: sims }) => html`<p>${count(sims)}: ${ERRORS[code].title}</p>`)}`

/** Acts on many SIMs. Unassigning only takes a run back. */
const BUTTONS = ['suspend', 'activate', 'refresh', 'send-sms', 'provision'] as const

export const tickOf = ({ id, tag, iccid }: Pick<SimSummary, 'id' | 'tag' | 'iccid'>): Html =>
  html`<input class="tick" type="checkbox" name="id" value="${id}" aria-label="Tick ${tag || iccid}">`

/** A list of SIMs with boxes to tick, in a form that leads to the confirm page. @param total SIMs that match */
export const bulkForm = (path: string, filter: BulkFilter, total: number, list: Html): Html => html`
<form method="get" action="${path}">
${(['search', 'status', 'poolId'] as const).map((name) => (filter[name] === undefined ? '' : html`<input type="hidden" name="${name}" value="${filter[name]}">`))}
<div class="bulk">
<span>The ticked SIMs</span>
<label><input type="checkbox" name="all" value="true"> or all ${count(total)} that match</label>
<span class="acts">${BUTTONS.map((type) => html`<button name="type" value="${type}">${icon(TYPES[type].icon)} ${TYPES[type].label}…</button> `)}</span>
</div>
${list}
</form>`

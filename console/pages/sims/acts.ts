/** Acts on a SIM that change its state: suspend, bring back. Each opens a ticket. */
import { html } from 'hono/html'
import { labelOf, SimStatus } from '../../../domain/codes.ts'
import type { Sim } from '../../../domain/sims/sim.ts'
import { dataOf } from '../../answers.ts'
import type { Act } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { ago } from '../../parts/marks.ts'
import { type ActedOn, simAct } from './sim-act.ts'

/** A warning if the SIM is in that state already, or has an open ticket. */
function warningOf({ sim, enforcement }: ActedOn, wanted: SimStatus): string | undefined {
  if (sim.status === wanted) return `It is ${labelOf(SimStatus, wanted)} already.`
  return dataOf(enforcement)?.processing ? 'It has an open ticket: this one is carried out after it.' : undefined
}

const suspend = simAct({
  name: 'suspend',
  label: 'Suspend',
  icon: 'suspended',
  tone: 'cut',
  question: 'Suspend this SIM?',
  facts: () => [
    ['Then', 'The carrier blocks its data, voice and SMS, in some seconds.'],
    ['Until', 'A person brings it back. Neither the watchdog nor the next billing cycle does.'],
    ['Taken back', html`By <em>Bring back</em>, on its page.`],
  ],
  warning: (found) => warningOf(found, SimStatus.Suspended),
  send: ({ outside }, { sim }, _typed, params) =>
    outside.POST('/api/tickets/suspend', { body: { simId: sim.id }, params }),
  done: 'The carrier is asked to suspend it. Load the page again in some seconds. To take it back, bring it back.',
})

const bringBack = simAct({
  name: 'activate',
  label: 'Bring back',
  icon: 'back',
  tone: 'first',
  question: 'Bring this SIM back?',
  facts: (found, now) => [
    ...causeOf(found, now),
    ['Then', 'The carrier opens its data, voice and SMS again, in some seconds. What it uses from then on is charged.'],
    ...passedOver(found),
    ['Taken back', html`By <em>Suspend</em>, on its page.`],
  ],
  warning: (found) => warningOf(found, SimStatus.Active),
  send: ({ outside }, { sim }, _typed, params) =>
    outside.POST('/api/tickets/activate', { body: { simId: sim.id }, params }),
  done: 'The carrier is asked to bring it back. Load the page again in some seconds. To take it back, suspend it.',
})

const suspensionOf = ({ enforcement }: ActedOn) => dataOf(enforcement)?.suspension ?? null

function causeOf(found: ActedOn, now: number): (readonly [string, Html])[] {
  const suspension = suspensionOf(found)
  if (suspension === null) return []
  const { cause, rule, openedAt } = suspension
  const by = cause === 'user' ? 'a person' : html`rule <bdi>${rule ?? 'unknown'}</bdi>`
  return [['Suspended', html`By ${by}, ${ago(openedAt, now)}`]]
}

/** Source: docs/workflows.md, outcome `personActed`. */
const passedOver = (found: ActedOn): (readonly [string, string])[] =>
  suspensionOf(found)?.cause === 'watchdog' ? [['Watchdog', 'No rule suspends it again in this billing cycle.']] : []

/** Of these acts, those with an effect on a SIM in its present state. */
export const actsOn = ({ status }: Pick<Sim, 'status'>): Act<ActedOn>[] =>
  status === SimStatus.Active ? [suspend] : status === SimStatus.Suspended ? [bringBack] : []

export const STATE_ACTS = [suspend, bringBack]

/** The act on a silence: end it. */
import { html } from 'hono/html'
import type { Silence } from '../../../domain/alerts/silence.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act } from '../../parts/form.ts'
import { hasEnded, silenceFacts } from './marks.ts'

/** @throws ServiceError `silence_not_found`, `forbidden` */
export const readSilence = (calls: Calls, id: number): Promise<Silence> =>
  mustAnswer(calls.inside.GET('/internal/silences/{id}', { params: { path: { id } } }))

const end: Act<Silence> = {
  noun: 'silences',
  name: 'end',
  label: 'End it',
  icon: 'bell',
  tone: 'first',
  read: readSilence,
  confirm: (silence, now) => ({
    of: `Silence ${silence.id}`,
    question: 'End this silence now?',
    facts: [
      ...silenceFacts(silence),
      ['Then', 'Alerts that still fire are mailed, once; new ones as their rules say.'],
      ['Taken back', html`By another silence: <em>Silence</em>, on the page of an alert.`],
    ],
    ...(hasEnded(silence, now) && { warning: 'It has ended already.' }),
  }),
  send: ({ inside }, { id }, _typed, { header }) =>
    inside.POST('/internal/silences/{id}/end', { params: { path: { id }, header } }),
  done: 'It is ended: alerts that still fire are mailed.',
}

/** Acts with an effect on a silence in its present state. */
export const actsOn = (silence: Silence, now: number): Act<Silence>[] => (hasEnded(silence, now) ? [] : [end])

export const SILENCE_ACTS = [end]

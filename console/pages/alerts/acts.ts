/** Acts on an alert: acknowledge, silence. */
import { html } from 'hono/html'
import type { AlertDetail } from '../../../domain/alerts/alert.ts'
import { idsOf } from '../../../domain/watchdog/subject.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act, Typed } from '../../parts/form.ts'
import { textField } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { choices } from '../../parts/list.ts'
import { ago } from '../../parts/marks.ts'
import { author, endWords } from '../silences/marks.ts'
import { acknowledger, subjectWords } from './marks.ts'

/** @throws ServiceError `alert_not_found`, `forbidden` */
export const readAlert = (calls: Calls, id: number): Promise<AlertDetail> =>
  mustAnswer(calls.inside.GET('/internal/alerts/{id}', { params: { path: { id } } }))

const alertWords = ({ rule, message, subject }: AlertDetail): (readonly [string, Html])[] => [
  ['Alert', html`<bdi>${message ?? rule}</bdi>`],
  ['Rule', html`<bdi>${rule}</bdi>`],
  ['About', subjectWords(subject)],
]

const acknowledge: Act<AlertDetail> = {
  noun: 'alerts',
  name: 'acknowledge',
  label: 'Acknowledge',
  icon: 'active',
  tone: 'first',
  read: readAlert,
  confirm: (alert, now) => ({
    of: alert.rule,
    question: 'Acknowledge this alert?',
    facts: [
      ...alertWords(alert),
      ['Then', 'It is not escalated, until it ends and fires again. Its mails and suspensions go on.'],
      ['Others see', 'The name of your key, and when.'],
      ['Taken back', 'It is not: it holds until the alert ends.'],
    ],
    ...acknowledgedWarning(alert, now),
  }),
  send: ({ inside }, { rule, subject }, _typed, params) =>
    inside.POST('/internal/alerts/acknowledge', { body: { rule, ...idsOf(subject) }, params }),
  done: 'It is acknowledged: it is not escalated, until it ends and fires again.',
}

const acknowledgedWarning = (alert: AlertDetail, now: number): { readonly warning?: Html } =>
  alert.acknowledgedAt === null
    ? {}
    : {
        warning: html`<strong>Acknowledged already</strong> by ${acknowledger(alert)}, ${ago(alert.acknowledgedAt, now)}: that stays.`,
      }

const LASTS = [
  ['PT1H', '1 hour'],
  ['PT8H', '8 hours'],
  ['P1D', '1 day'],
  ['P7D', '7 days'],
] as const

/** The alerts that a silence is about: of this rule, and the subject of this one. */
const silenced = ({ rule, subject }: AlertDetail) =>
  subject.kind === 'tag' ? { rule, ...(subject.label !== null && { tag: subject.label }) } : { rule, ...idsOf(subject) }

const silence: Act<AlertDetail> = {
  noun: 'alerts',
  name: 'silence',
  label: 'Silence',
  icon: 'silence',
  read: readAlert,
  confirm: (alert) => ({
    of: alert.rule,
    question: 'Silence this alert?',
    facts: [
      ...alertWords(alert),
      [
        'Then',
        'No mail about it is sent to anyone. Its log and its suspensions go on. If it still fires at the end, it is mailed then, once.',
      ],
      ['Others see', 'The name of your key, and the reason.'],
      ['Taken back', html`It ends by itself, or sooner by <em>End it</em>, among the silences.`],
    ],
    ...silencedWarning(alert),
    fields: silenceFields,
  }),
  send: ({ inside }, alert, { lasts = '', reason = '' }, params) =>
    inside.POST('/internal/silences', { body: { ...silenced(alert), lasts, reason }, params }),
  done: 'It is silenced: its log and its suspensions go on.',
}

const silencedWarning = ({ silences }: AlertDetail): { readonly warning?: Html } =>
  silences.length === 0
    ? {}
    : { warning: html`<strong>Silenced already.</strong> ${silences.map((one) => html`${silenceWords(one)} `)}` }

/** A silence with its author and reason. */
export const silenceWords = (one: AlertDetail['silences'][number]): Html =>
  html`${endWords(one)}, by ${author(one)}: <bdi>${one.reason}</bdi>`

const silenceFields = (typed: Typed): Html => html`
${choices({ name: 'lasts', label: 'For how long', value: typed['lasts'] ?? 'PT8H' }, LASTS)}
${textField({ name: 'reason', label: 'Reason, for those who read it later', most: 500 }, typed)}`

/** Acts with an effect on an alert in its present state. */
export const actsOn = ({ phase, acknowledgedAt }: AlertDetail): Act<AlertDetail>[] => [
  ...((phase === 'firing' || phase === 'recovering') && acknowledgedAt === null ? [acknowledge] : []),
  ...(phase === 'resolved' ? [] : [silence]),
]

export const ALERT_ACTS = [acknowledge, silence]

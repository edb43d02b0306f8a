/** Acts on a mail: send it again as a new one, or try one that was given up. */
import type { MailDetail } from '../../../domain/channels/mail.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, plainAct } from '../../parts/form.ts'
import { subjectOf } from './marks.ts'

/** @throws ServiceError `mail_not_found`, `forbidden` */
export const readMail = (calls: Calls, id: string): Promise<MailDetail> =>
  mustAnswer(calls.inside.GET('/internal/mails/{id}', { params: { path: { id } } }))

type MailAct = Act<MailDetail, string, Sent>
interface Sent {
  /** The Message-ID. */
  readonly id: string
}
const ON_MAIL = { noun: 'mails', read: readMail, of: subjectOf } as const

const resend = plainAct<MailDetail, string, Sent>({
  ...ON_MAIL,
  name: 'resend',
  label: 'Send again',
  icon: 'mail',
  question: 'Send this mail again?',
  effect: 'A new mail with the same text leaves at once, to the present billing address of the tenant.',
  undo: 'Not once it is sent.',
  whyNot: ({ status, body }) =>
    status === 'pending' ? 'It is still tried.' : body === null ? 'What it said is no longer stored.' : undefined,
  send: ({ inside }, { id }, _, { header }) =>
    inside.POST('/internal/mails/{id}/resend', { params: { path: { id }, header } }),
  next: ({ id }) => `mails/${encodeURIComponent(id)}`,
  done: 'This is the new mail: it leaves at once.',
})

const retry = plainAct<MailDetail, string, Sent>({
  ...ON_MAIL,
  name: 'retry',
  label: 'Try again',
  icon: 'refresh',
  tone: 'first',
  question: 'Try this mail again?',
  effect: 'It is tried as a new mail is, with the same Message-ID, at the present address.',
  undo: 'Not once a server has accepted it.',
  whyNot: ({ status }) => (status === 'failed' ? undefined : 'It has not been given up.'),
  send: ({ inside }, { id }, _, { header }) =>
    inside.POST('/internal/mails/{id}/retry', { params: { path: { id }, header } }),
  done: 'It is tried again, at once.',
})

/** Acts with an effect on a mail in its present state. */
export const actsOn = ({ status, body }: MailDetail): MailAct[] => [
  ...(status === 'failed' ? [retry] : []),
  ...(status === 'pending' || body === null ? [] : [resend]),
]

export const MAIL_ACTS = [retry, resend]

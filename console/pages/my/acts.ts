/** Acts on a tenant's mails: choose their level, add a copy address, remove one. */
import { html } from 'hono/html'
import type { Address } from '../../../domain/channels/address.ts'
import { LogLevel } from '../../../domain/codes.ts'
import type { NoticeSettings } from '../../../domain/tenants/notices.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act } from '../../parts/form.ts'
import { choices } from '../../parts/list.ts'

/** By the lowest level of mailed alerts. */
export const MAILED: Readonly<Record<LogLevel, string>> = {
  [LogLevel.Info]: 'Alerts of all levels',
  [LogLevel.Warning]: 'Warning and Critical alerts',
  [LogLevel.Critical]: 'Critical alerts only',
}
export const CHOICES = Object.values(LogLevel).map((level) => [level, MAILED[level]] as const)
export const levelIn = (text: string | undefined) => Object.values(LogLevel).find((one) => String(one) === text)

/** @throws ServiceError `forbidden` */
export const readAddresses = ({ inside }: Calls): Promise<Address[]> => mustAnswer(inside.GET('/internal/addresses'))

interface Notices {
  readonly settings: NoticeSettings
  readonly etag: string
  readonly asked: LogLevel
}

export const CHOOSE_LEVEL: Act<Notices, undefined> = {
  noun: 'my/settings',
  name: 'level',
  label: 'Choose the level',
  icon: 'mail',
  read: async ({ inside }, _, { level }) => {
    const reading = inside.GET('/internal/tenant/notices')
    const settings = await mustAnswer(reading)
    const etag = (await reading).response.headers.get('etag') ?? ''
    return { settings, etag, asked: levelIn(level) ?? settings.mailsFrom }
  },
  confirm: ({ settings, asked }) => ({
    of: 'Settings',
    question: 'Choose which alerts are mailed?',
    button: 'Mail these',
    facts: [
      ['Mailed now', MAILED[settings.mailsFrom]],
      ['Then', 'No address gets an alert of a lower level. Summaries of billing cycles are mailed all the same.'],
      ['Goes on', 'Rules suspend as before, and the log has every alert.'],
      ['Taken back', 'Here, by another choice. Alerts that still fire are mailed then, once.'],
    ],
    fields: (typed) => choices({ name: 'level', label: 'Mail', value: typed['level'] ?? asked }, CHOICES),
  }),
  send: ({ inside }, { settings, etag, asked: mailsFrom }) => {
    const body = { ...settings, mailsFrom }
    return inside.PUT('/internal/tenant/notices', { params: { header: { 'If-Match': etag } }, body })
  },
  done: 'It is changed: alerts are mailed by this level from now on.',
}

export const ADD_COPY: Act<Address[], undefined> = {
  noun: 'my/settings',
  name: 'add-copy',
  label: 'Add a copy address',
  icon: 'add',
  read: readAddresses,
  confirm: () => ({
    of: 'Settings',
    question: 'Send copies of mails to another address?',
    button: 'Add it',
    facts: [
      ['Then', 'It gets copies from now on: of summaries of billing cycles too, if of every mail.'],
      ['Taken back', html`By <em>Remove</em>, next to the address.`],
    ],
    fields: (typed) => html`<label>E-mail address
<input type="email" name="email" value="${typed['email'] ?? ''}" maxlength="254" required></label>
${choices({ name: 'level', label: 'Copies of', value: typed['level'] }, [['', 'Every mail'], ...CHOICES.slice(1)])}`,
  }),
  send: ({ inside }, _, { email = '', level }, params) => {
    const from = levelIn(level)
    const body = { kind: 'copy' as const, email, ...(from !== undefined && { level: from }) }
    return inside.POST('/internal/addresses', { params, body })
  },
  done: 'It is added: it gets copies from now on.',
}

/** On an address by its id, if it is still there. */
export const REMOVE: Act<{ readonly id: number; readonly email: string | undefined }, undefined> = {
  noun: 'my/settings',
  name: 'remove',
  label: 'Remove',
  icon: 'no',
  tone: 'cut',
  read: async (calls, _, { address }) => {
    const found = (await readAddresses(calls)).find(({ id }) => String(id) === address)
    return { id: Number(address), email: found?.email }
  },
  confirm: ({ id, email }) => ({
    of: email === undefined ? 'Settings' : html`<bdi>${email}</bdi>`,
    question: 'Send no more mails to this address?',
    facts: [
      ['Then', 'It gets no mail any more. Other addresses get theirs.'],
      ['Taken back', html`By <em>Add a copy address</em>.`],
    ],
    ...(email === undefined && { warning: 'It is not among the addresses any more.', isIdle: true }),
    fields: () => html`<input type="hidden" name="address" value="${id}">`,
  }),
  send: async ({ inside }, { id }) => {
    const answer = await inside.DELETE('/internal/addresses/{id}', { params: { path: { id } } })
    // A form that is sent again has had its effect.
    return answer.response.status === 404 ? inside.GET('/internal/addresses') : answer
  },
  done: 'It is removed: it gets no mail any more.',
}

/** Acts on a tenant's mails: choose their level, add an address, remove one. */
import { html } from 'hono/html'
import type { Address, NewAddress } from '../../../domain/channels/address.ts'
import { LogLevel } from '../../../domain/codes.ts'
import type { NoticeSettings } from '../../../domain/tenants/notices.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, plainAct, type Typed } from '../../parts/form.ts'
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

const ESCALATION = 'escalation'
const GETS = [
  ['', 'Every mail'],
  ...CHOICES.slice(1),
  [ESCALATION, 'Critical alerts not acknowledged in time'],
] as const

export const ADD: Act<Address[], undefined> = {
  noun: 'my/settings',
  name: 'add',
  label: 'Add an address',
  icon: 'add',
  read: readAddresses,
  confirm: () => ({
    of: 'Addresses',
    question: 'Send mails to another address?',
    button: 'Add it',
    facts: [
      ['Then', 'It gets copies from now on: of summaries of billing cycles too, if of every mail.'],
      ['Taken back', html`By <em>Remove</em>, next to the address.`],
    ],
    fields: (typed) => html`<label>E-mail address
<input type="email" name="email" value="${typed['email'] ?? ''}" maxlength="254" required></label>
${choices({ name: 'level', label: 'It gets', value: typed['level'] }, GETS)}`,
  }),
  send: ({ inside }, _, { email = '', level }, params) => {
    const from = levelIn(level)
    const kind = level === ESCALATION ? ESCALATION : 'copy'
    const body: NewAddress = { kind, email, ...(from !== undefined && { level: from }) }
    return inside.POST('/internal/addresses', { params, body })
  },
  done: 'It is added: it gets mails from now on.',
}

export interface Found {
  readonly id: number
  /** Undefined: it is not there any more. */
  readonly email: string | undefined
}

/** What acts on an address by the id in their query or form have in common. */
export const ON_ADDRESS = {
  read: async (calls: Calls, _: undefined, { address }: Typed): Promise<Found> => ({
    id: Number(address),
    email: (await readAddresses(calls)).find(({ id }) => String(id) === address)?.email,
  }),
  of: ({ email }: Found) => (email === undefined ? 'Addresses' : html`<bdi>${email}</bdi>`),
  whyNot: ({ email }: Found) => (email === undefined ? 'It is not among the addresses any more.' : undefined),
  fields: ({ id }: Found) => html`<input type="hidden" name="address" value="${id}">`,
}

export const REMOVE = plainAct<Found, undefined>({
  ...ON_ADDRESS,
  noun: 'my/settings',
  name: 'remove',
  label: 'Remove',
  icon: 'no',
  tone: 'cut',
  question: 'Send no more mails to this address?',
  effect: 'It gets no mail any more. Other addresses get theirs.',
  undo: 'By adding it again.',
  send: async ({ inside }, { id }) => {
    const answer = await inside.DELETE('/internal/addresses/{id}', { params: { path: { id } } })
    // A form that is sent again has had its effect.
    return answer.response.status === 404 ? inside.GET('/internal/addresses') : answer
  },
  done: 'It is removed: it gets no mail any more.',
})

/** The settings of a tenant: those that people change, and those that are fixed at its creation. */
import { html } from 'hono/html'
import { duration } from '../../../domain/quantity.ts'
import type { NoticeSettings } from '../../../domain/tenants/notices.ts'
import type { Tenant, TenantEntry } from '../../../domain/tenants/tenant.ts'
import { durationMs } from '../../../domain/time/duration.ts'
import { dataOf, mustAnswer, tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, actLinks, type Typed } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import type { IconName } from '../../parts/icon.ts'
import { choices } from '../../parts/list.ts'
import { facts, instantMark, panel } from '../../parts/marks.ts'
import type { TenantCalls } from '../../tenant.ts'
import { CHOICES, levelIn, MAILED } from '../my/acts.ts'

/** Settings of a tenant, which have one version. */
interface Settings {
  readonly tenant: Tenant
  readonly notices: NoticeSettings
  readonly etag: string
}

async function readSettings({ outside, inside }: Calls): Promise<Settings> {
  const reading = outside.GET('/api/tenant')
  const notices = mustAnswer(inside.GET('/internal/tenant/notices'))
  const etag = (await reading).response.headers.get('etag') ?? ''
  return { tenant: await mustAnswer(reading), notices: await notices, etag }
}

export async function settingsPage({ calls, tenant: { id } }: TenantCalls): Promise<Html> {
  const [{ tenant, notices }, listed] = await Promise.all([
    readSettings(calls),
    tryAnswer(calls.inside.GET('/internal/tenants', { params: { query: { search: id } } })),
  ])
  const entry = dataOf(listed)?.data.find((one) => one.id === id)
  const path = `/t/${id}/settings`
  const { timeZone, feedEvery, escalateAfter, mailsFrom } = notices
  return html`<div class="columns">
${panel(
  { title: 'Tenant', id: 'tenant' },
  html`${facts([
    ['Name', html`<bdi>${tenant.name}</bdi>`],
    ['Billing', html`<bdi>${tenant.billingEmail}</bdi>`],
    ['Id', id],
    ...(entry === undefined ? [] : factsOf(entry)),
  ])}
<div class="inset">${actLinks(path, [RENAME, BILLING_EMAIL])}</div>`,
)}
${panel(
  { title: 'Notices', id: 'notices' },
  html`${facts([
    ['Mailed', MAILED[mailsFrom]],
    ['Mailed to', html`<a href="/t/${id}/my/settings">Addresses</a>`],
    ['Times in', html`<bdi>${timeZone}</bdi>`],
    ['Escalated', escalateAfter === null ? 'Never' : `A Critical alert not acknowledged for ${words(escalateAfter)}`],
    ['Usage', `Every ${words(feedEvery)}; none for half as long again is an alert`],
  ])}
<div class="inset">${actLinks(path, [NOTICES])}</div>`,
)}
</div>`
}

const words = (iso: string): string => duration(durationMs(iso))

/** Known to operators. */
const factsOf = ({ id, billingCycle, currency, createdAt, enforcementEnabled }: TenantEntry) =>
  [
    ['Since', instantMark(createdAt)],
    ['Cycle', `${billingCycle}, fixed`],
    ['Currency', `${currency}, fixed`],
    [
      'Watchdog',
      html`<a href="/t/${id}/enforcement">${enforcementEnabled ? 'Enforces' : 'Stopped: suspends nobody'}</a>`,
    ],
  ] as const

/** The settings as text of fields. */
const textOf = ({ tenant, notices }: Settings) => ({
  name: tenant.name,
  email: tenant.billingEmail,
  timeZone: notices.timeZone,
  feedEvery: notices.feedEvery,
  escalateAfter: notices.escalateAfter ?? '',
  level: String(notices.mailsFrom),
})
type Texts = ReturnType<typeof textOf>
type IfMatch = { readonly header: { readonly 'If-Match': string } }

interface Change {
  readonly name: string
  readonly label: string
  readonly icon: IconName
  readonly question: string
  readonly effect: string
  readonly fields: (texts: Texts) => Html
  readonly send: (calls: Calls, texts: Texts, params: IfMatch) => ReturnType<Act<Settings, undefined>['send']>
  readonly done: string
}

const changing = ({ question, effect, fields, send, ...act }: Change): Act<Settings, undefined> => ({
  ...act,
  noun: 'settings',
  read: readSettings,
  confirm: (settings) => ({
    of: 'Settings',
    question,
    button: 'Change it',
    facts: [
      ['Then', effect],
      ['Taken back', 'By changing it again. The audit trail has what it was.'],
    ],
    fields: (typed) => html`<input type="hidden" name="seen" value="${settings.etag}">
${fields({ ...textOf(settings), ...typed })}`,
  }),
  send: (calls, settings, { seen = '', ...typed }) => {
    const now: Typed = textOf(settings)
    // A form that is sent again changes nothing, so no version is in its way.
    const isAsNow = Object.entries(typed).every(([name, text]) => (now[name] ?? text) === text)
    return send(calls, { ...textOf(settings), ...typed }, { header: { 'If-Match': isAsNow ? settings.etag : seen } })
  },
})

const RENAME = changing({
  name: 'rename',
  label: 'Rename',
  icon: 'edit',
  question: 'Rename this tenant?',
  effect: 'Mails, statements and pages have the new name. Its id stays.',
  fields: ({ name }) =>
    html`<label>Name <input name="name" value="${name}" minlength="2" maxlength="100" required></label>`,
  send: ({ outside }, { name }, params) => outside.PATCH('/api/tenant/name', { params, body: { name } }),
  done: 'The tenant is renamed.',
})

const BILLING_EMAIL = changing({
  name: 'billing-email',
  label: 'Change billing e-mail',
  icon: 'mail',
  question: 'Send mails to another billing address?',
  effect: 'Alerts and statements go to the new one. The previous one gets them too, until the new one is confirmed.',
  fields: ({ email }) =>
    html`<label>E-mail address <input type="email" name="email" value="${email}" maxlength="254" required></label>`,
  send: ({ outside }, { email: billingEmail }, params) =>
    outside.PATCH('/api/tenant/billing-email', { params, body: { billingEmail } }),
  done: 'It is changed: mails go to the new address.',
})

const NOTICES = changing({
  name: 'notices',
  label: 'Change notices',
  icon: 'bell',
  question: 'Change the notices of this tenant?',
  effect: 'They hold for the next mail, and the next look at usage. Rules suspend as before.',
  fields: ({ timeZone, feedEvery, escalateAfter, level }) =>
    html`${choices({ name: 'level', label: 'Mailed', value: level }, CHOICES)}
<label>Time zone of mails <input name="timeZone" value="${timeZone}" maxlength="64" required></label>
<label>A Critical alert is escalated after, such as PT30M; empty: never
<input name="escalateAfter" value="${escalateAfter}" maxlength="40"></label>
<label>Usage comes in every, such as PT15M or P1D
<input name="feedEvery" value="${feedEvery}" maxlength="40" required></label>`,
  send: ({ inside }, { timeZone, feedEvery, escalateAfter, level }, params) => {
    const body = { timeZone, feedEvery, escalateAfter: escalateAfter || null, mailsFrom: levelIn(level) ?? 0 }
    return inside.PUT('/internal/tenant/notices', { params, body })
  },
  done: 'The notices are changed.',
})

export const SETTINGS_ACTS = [RENAME, BILLING_EMAIL, NOTICES]

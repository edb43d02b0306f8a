/** The addresses of a tenant's mails, and the alerts that are mailed. */
import { html } from 'hono/html'
import type { Address } from '../../../domain/channels/address.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { actLinks } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { instantMark, panel } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { ADD, CHOOSE_LEVEL, MAILED, REMOVE, readAddresses } from './acts.ts'

/** Leads to the form with the highest level chosen. */
const ONLY_CRITICAL = { ...CHOOSE_LEVEL, name: `level?level=${LogLevel.Critical}`, label: 'Mail only critical alerts' }

/** The mails that an address gets, and whether it is in use. */
export function mailsTo({ id, kind, level, rules, confirmedAt, badSince }: Address): Html {
  const copies = level === null ? 'Copies of every mail' : `Copies: ${MAILED[level].toLowerCase()}`
  const words = { billing: 'Every mail', escalation: 'Critical alerts not acknowledged in time', copy: copies }[kind]
  const confirmed = confirmedAt === null ? '' : html`, confirmed ${instantMark(confirmedAt)}`
  return html`<small>${words}${rules === null ? '' : html` about rules <bdi>${rules}</bdi>`}${kind === 'billing' && id !== null && confirmedAt === null ? ', not confirmed: the previous address gets them too' : confirmed}</small>
${badSince === null ? '' : html`<small class="critical">Servers refuse it since ${instantMark(badSince)}: it gets none</small>`}`
}

/** @param said notice of an act just before */
export async function settingsPage(calls: Calls, { id: tenantId }: PageTenant, said: Html | ''): Promise<Html> {
  const notices = mustAnswer(calls.inside.GET('/internal/tenant/notices'))
  const [addresses, { mailsFrom }] = await Promise.all([readAddresses(calls), notices])
  const path = `/t/${tenantId}/my/settings`
  const levels = mailsFrom === LogLevel.Critical ? [CHOOSE_LEVEL] : [ONLY_CRITICAL, CHOOSE_LEVEL]
  const remove = ({ id, kind, email }: Address) =>
    kind === 'billing'
      ? html`<span class="mute">Your provider changes it</span>`
      : html`<a href="${path}/${REMOVE.name}?address=${id}">Remove… <span class="hidden">${email}</span></a>`
  return html`<div class="head"><div>
<h1>Mailed: ${MAILED[mailsFrom].toLowerCase()}</h1>
<p class="lead">Summaries of billing cycles are mailed all the same.</p>
</div>
${actLinks(path, levels)}
</div>
${said}
${panel(
  { title: 'Addresses', id: 'addresses' },
  html`<table>
<tbody>
${addresses.map((address) => html`<tr><th scope="row"><bdi>${address.email}</bdi>${mailsTo(address)}</th><td>${remove(address)}</td></tr>`)}
</tbody>
</table>
${addresses.length === 0 ? html`<p class="empty">None: no mail is sent.</p>` : ''}`,
)}
${actLinks(path, [ADD])}`
}

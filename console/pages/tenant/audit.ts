/** The audit trail of a tenant: who has changed what, newest first. */
import { html } from 'hono/html'
import { counted } from '../../../domain/quantity.ts'
import { quote } from '../../../domain/quote.ts'
import { AUDIT_SUBJECTS, type AuditEntry, type AuditQuery, type AuditSubject } from '../../../domain/tenants/audit.ts'
import { mustAnswer } from '../../answers.ts'
import type { Html } from '../../parts/html.ts'
import { icon } from '../../parts/icon.ts'
import { ANY, choices, isUnfiltered, linkTo, nextPage } from '../../parts/list.ts'
import { actorMark, instantMark, textBox } from '../../parts/marks.ts'
import type { TenantCalls } from '../../tenant.ts'
import { workflowLink } from '../workflows/marks.ts'

const MOST_ROWS = 25
/** Bytes of the values before a change, and after. The interface has all of them. */
const MOST_VALUES = 1000

export async function auditPage({ calls, tenant }: TenantCalls, asked: AuditQuery): Promise<Html> {
  const { page = 1, pageSize: _, ...filter } = asked
  const query = { ...filter, page, pageSize: MOST_ROWS }
  const { data, pagination } = await mustAnswer(calls.inside.GET('/internal/audit', { params: { query } }))
  const path = `/t/${tenant.id}/audit`
  const none = isUnfiltered(filter) ? 'Nothing was changed yet.' : 'No change matches.'
  return html`${filters(path, filter, pagination.totalItems)}
${data.length === 0 ? html`<p class="empty">${none}</p>` : html`<div class="panel"><ol class="log">${data.map((entry) => row(tenant.id, entry))}</ol></div>`}
${nextPage(path, filter, pagination)}`
}

const FIELDS = [
  ['subjectId', 'Its id'],
  ['actor', 'Actor'],
  ['action', 'Act'],
  ['requestId', 'Request'],
  ['workflowId', 'Workflow'],
] as const

const filters = (path: string, filter: AuditQuery, total: number): Html => html`
<form class="filters" method="get" action="${path}" role="search">
${choices({ name: 'subject', label: 'Object', value: filter.subject }, [ANY, ...AUDIT_SUBJECTS.map((one) => [one, one] as const)])}
${FIELDS.map(([name, label]) => html`<label>${label} <input name="${name}" value="${filter[name] ?? ''}" maxlength="300"></label>`)}
<label>Day in UTC <input type="date" name="date" value="${filter.date?.slice(0, 10) ?? ''}"></label>
<button type="submit">Show</button>
<span class="mute">${counted(total, 'change')}</span>
</form>`

/** Below the tenant's page, the pages of objects with such an id. */
const NOUNS: Partial<Record<AuditSubject, string>> = {
  sim: 'sims',
  pool: 'pools',
  ticket: 'tickets',
  'bulk-tickets': 'bulk',
  hold: 'decisions',
  silence: 'silences',
  workflow: 'workflows',
  order: 'orders',
  cycle: 'month',
  mail: 'mails',
  webhook: 'webhooks',
}

/** The changed object, with a link if there is a page of it. */
function objectMark(tenantId: string, { subject, subjectId }: AuditEntry): Html {
  const words = html`${subject} <bdi>${subjectId}</bdi>`
  const noun = NOUNS[subject]
  if (noun !== undefined) return html`<a href="/t/${tenantId}/${noun}/${encodeURIComponent(subjectId)}">${words}</a>`
  // Its id begins with its rule.
  if (subject !== 'alert') return words
  return html`<a href="${linkTo(`/t/${tenantId}/alerts`, { rule: subjectId.split('/')[0] })}">${words}</a>`
}

function row(tenantId: string, entry: AuditEntry): Html {
  const { id, at, actor, actorName, action, requestId, workflowId, before, after } = entry
  const path = `/t/${tenantId}/audit`
  return html`<li id="change-${id}"><span class="mark quiet">${icon('audit')}</span>
<div><bdi>${action}</bdi>: ${objectMark(tenantId, entry)}
<small>by <a href="${linkTo(path, { actor })}">${actorMark(actorName, actor)}</a>${workflowId === null ? '' : html` for ${workflowLink(tenantId, workflowId)}`} · <a href="${linkTo(path, { requestId })}">all of this request</a></small>
<details><summary>Before and after<span class="hidden"> entry ${id}</span></summary>
${values('Before', id, before)}
${values('After', id, after)}
</details></div>
${instantMark(at)}</li>`
}

const values = (when: 'Before' | 'After', id: number, shown: object | null): Html =>
  shown === null
    ? html`<p>${when}: it is not there.</p>`
    : html`<p>${when}:</p>${textBox(`${when} entry ${id}`, quote(JSON.stringify(shown, null, 2), MOST_VALUES))}`

/** Keys of a tenant's programs: those in use, or those that have ended. */
import { html } from 'hono/html'
import { cutPage } from '../../../domain/page.ts'
import { counted } from '../../../domain/quantity.ts'
import type { ApiKey } from '../../../domain/tenants/tenant.ts'
import type { Html } from '../../parts/html.ts'
import { choices, nextPage } from '../../parts/list.ts'
import { ago, ahead, instantMark } from '../../parts/marks.ts'
import type { TenantCalls } from '../../tenant.ts'
import { canRotate, hasEnded, REVOKE, ROTATE, readKeys } from './key-acts.ts'

const MOST_ROWS = 50
const STATES = [
  [false, 'In use'],
  [true, 'Ended'],
] as const

export async function keysPage(
  { calls, tenant }: TenantCalls,
  { ended = false, page = 1 }: { readonly ended?: boolean; readonly page?: number },
  now: number,
): Promise<Html> {
  const keys = (await readKeys(calls)).filter((key) => hasEnded(key, now) === ended).toReversed()
  const { data, pagination } = cutPage(keys, page, MOST_ROWS)
  const path = `/t/${tenant.id}/keys`
  const none = ended ? 'No key has ended.' : html`None: no program of the tenant can ask. <em>New key</em> makes one.`
  return html`<form class="filters" method="get" action="${path}" role="search">
${choices({ name: 'ended', label: 'State', value: ended }, STATES)}
<button type="submit">Show</button>
<span class="mute">${counted(keys.length, 'key')}</span>
</form>
${data.length === 0 ? html`<p class="empty">${none}</p>` : table(path, data, now)}
${nextPage(path, { ended }, pagination)}`
}

const table = (path: string, keys: readonly ApiKey[], now: number): Html => html`<div class="panel"><table>
<thead><tr><th scope="col">Key</th><th scope="col" class="wide">Scopes</th><th scope="col" class="wider number">Made</th><th scope="col" class="wide number">Last used</th><th scope="col">State</th><th scope="col">Acts</th></tr></thead>
<tbody>
${keys.map(
  (key) => html`<tr id="key-${key.id}">
<th scope="row"><bdi>${key.name}</bdi><small>${key.prefix}</small></th>
<td class="wide">${key.scopes.join(', ')}</td>
<td class="wider number">${instantMark(key.createdAt)}</td>
<td class="wide number">${ago(key.lastUsedAt, now)}</td>
<td>${stateMark(key, now)}</td>
<td><p class="acts">${(hasEnded(key, now) ? [] : canRotate(key, now) ? [ROTATE, REVOKE] : [REVOKE]).map(({ name, label }) => html`<a href="${path}/${name}?id=${key.id}">${label}…<span class="hidden"> <bdi>${key.name}</bdi></span></a>`)}</p></td>
</tr>`,
)}
</tbody>
</table></div>`

/** Whether it works, until when, and the key that takes its place. */
function stateMark(key: ApiKey, now: number): Html {
  const { revokedAt, expiresAt, replacedBy } = key
  const end = hasEnded(key, now)
    ? html`<span class="badge quiet">${revokedAt === null ? 'Expired' : 'Revoked'}</span>`
    : html`<span class="badge ${replacedBy === null ? 'good' : 'warning'}">In use</span>`
  const at = revokedAt ?? expiresAt
  return html`${end}${at === null ? '' : html`<small>${hasEnded(key, now) ? instantMark(at) : html`Ends ${ahead(at, now)}`}</small>`}
${replacedBy === null ? '' : html`<small>Replaced by sim_${replacedBy}</small>`}`
}

/** Who is signed in to the console: by keys of the tenant, by mail, and operators, who see every tenant. */
import { html } from 'hono/html'
import { counted } from '../../../domain/quantity.ts'
import type { SessionEntry } from '../../../domain/tenants/session.ts'
import { PLATFORM } from '../../../domain/tenants/tenant.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act, Confirmation } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo, nextPage } from '../../parts/list.ts'
import { ago, ahead, panel } from '../../parts/marks.ts'
import type { TenantCalls } from '../../tenant.ts'

/** Of each of both tables. */
const MOST_ROWS = 25

const readSessions = ({ inside }: Calls, of: string | undefined, asked: { keyId?: string; page?: number } = {}) => {
  const query = { pageSize: MOST_ROWS, ...asked }
  const header = of === PLATFORM ? { 'X-Tenant-Id': PLATFORM } : {}
  return mustAnswer(inside.GET('/internal/sessions', { params: { query, header } }))
}

export async function peoplePage({ calls, tenant }: TenantCalls, page: number, now: number): Promise<Html> {
  const [ours, operators] = await Promise.all([readSessions(calls, undefined, { page }), readSessions(calls, PLATFORM)])
  const path = `/t/${tenant.id}/people`
  const none = html`<p class="empty">Nobody. <a href="/t/${tenant.id}/my/settings">Addresses</a> that get mails sign in by mail, others by a <a href="/t/${tenant.id}/keys">key</a>.</p>`
  const total = operators.pagination.totalItems
  const note = `of all tenants, ${total > MOST_ROWS ? `the last ${MOST_ROWS} of ` : ''}${counted(total, 'browser')}`
  return html`${panel({ title: 'Of this tenant', id: 'ours', note: counted(ours.pagination.totalItems, 'browser') }, ours.data.length === 0 ? none : table(path, ours.data, now))}
${nextPage(path, {}, ours.pagination)}
${panel({ title: 'Operators', id: 'operators', note }, table(path, operators.data, now, PLATFORM))}`
}

const nameOf = ({ contact, keyName }: SessionEntry): Html => html`<bdi>${contact ?? keyName}</bdi>`

/** @param of owner of the keys, unless it is the tenant */
const table = (path: string, sessions: readonly SessionEntry[], now: number, of?: string): Html => html`<table>
<thead><tr><th scope="col">Who</th><th scope="col" class="wide">Browser</th><th scope="col" class="wider number">Signed in</th><th scope="col" class="number">Last seen</th><th scope="col" class="wider number">Ends</th><th scope="col">Sign out</th></tr></thead>
<tbody>
${sessions.map((session) => {
  const { id, keyId, contact, userAgent, createdAt, seenAt, endsAt, isOwn } = session
  const link = (words: string, one?: string) =>
    html`<a href="${linkTo(`${path}/${SIGN_OUT.name}`, { keyId, session: one, of })}">${words}…<span class="hidden"> ${nameOf(session)}</span></a>`
  return html`<tr id="session-${id}">
<th scope="row">${nameOf(session)}<small>${contact === null ? `by key sim_${keyId}` : 'by mail'}${isOwn ? ', this browser' : ''}</small></th>
<td class="wide"><small><bdi>${userAgent}</bdi></small></td>
<td class="wider number">${ago(createdAt, now)}</td>
<td class="number">${ago(seenAt, now)}</td>
<td class="wider number">${ahead(endsAt, now)}</td>
<td><p class="acts">${link('This one', id)}${link('Everywhere')}</p></td>
</tr>`
})}
</tbody>
</table>`

/** Sessions of a key of the tenant, or of an operator's. */
interface SignedIn {
  readonly sessions: readonly SessionEntry[]
  readonly keyId: string
  /** Public id of the only one; empty: all of the key. */
  readonly session: string
  readonly of: string
}

/** Signs out a browser, or all browsers of a key or a contact. */
export const SIGN_OUT: Act<SignedIn, undefined> = {
  noun: 'people',
  name: 'sign-out',
  label: 'Sign out',
  icon: 'leave',
  tone: 'cut',
  read: async (calls, _, { keyId = '', session = '', of = '' }) => {
    const { data } = await readSessions(calls, of, { keyId })
    return { sessions: data.filter(({ id }) => session === '' || id === session), keyId, session, of }
  },
  confirm: signOutWords,
  send: async ({ inside }, { keyId, session, of }) => {
    const header = of === PLATFORM ? { 'X-Tenant-Id': PLATFORM } : {}
    const answer =
      session === ''
        ? await inside.DELETE('/internal/keys/{id}/sessions', { params: { path: { id: keyId }, header } })
        : await inside.DELETE('/internal/sessions/{id}', { params: { path: { id: session }, header } })
    // A form that is sent again has had its effect.
    return answer.response.status === 404 ? inside.GET('/internal/sessions') : answer
  },
  done: 'Signed out.',
}

function signOutWords({ sessions, keyId, session, of }: SignedIn, now: number): Confirmation {
  const [first] = sessions
  const isByMail = first !== undefined && first.contact !== null
  return {
    of: 'People',
    question: session === '' ? 'Sign out every browser of this person or key?' : 'Sign out this browser?',
    facts: [
      ...(first === undefined ? [] : [['Who', nameOf(first)] as const]),
      ...sessions.map(
        (one) => ['Browser', html`<bdi>${one.userAgent}</bdi><small>seen ${ago(one.seenAt, now)}</small>`] as const,
      ),
      ['Then', 'The next page there is the one to sign in. What was asked for before goes on.'],
      [
        'Taken back',
        `By signing in again, ${isByMail ? 'by mail: remove the address to end that' : 'with the key: revoke it to end that'}.`,
      ],
    ],
    ...(sessions.some(({ isOwn }) => isOwn) && { warning: 'It is this browser too: you are signed out.' }),
    ...(first === undefined && { warning: 'It was signed out already, or its time was over.', isIdle: true }),
    fields: () =>
      html`<input type="hidden" name="keyId" value="${keyId}"><input type="hidden" name="session" value="${session}"><input type="hidden" name="of" value="${of}">`,
  }
}

/** Acts on keys: make one, rotate, revoke. The answer to the form has the secret, in no URL and once. */
import { html } from 'hono/html'
import { ServiceError } from '../../../domain/errors.ts'
import { counted } from '../../../domain/quantity.ts'
import { quote } from '../../../domain/quote.ts'
import type { ApiKey, Scope, WithSecret } from '../../../domain/tenants/tenant.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import type { Act, Typed } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { choices } from '../../parts/list.ts'
import { ago, facts, notice } from '../../parts/marks.ts'

/** Keys of programs, oldest first: those of contacts open nothing but the console. @throws ServiceError `forbidden` */
export const readKeys = async ({ inside }: Calls): Promise<ApiKey[]> =>
  (await mustAnswer(inside.GET('/internal/keys'))).filter(({ contact }) => contact === null)

/** @throws ServiceError `key_not_found` */
async function readKey(calls: Calls, id = ''): Promise<ApiKey> {
  const key = (await readKeys(calls)).find((one) => one.id === id)
  if (key === undefined) throw new ServiceError('key_not_found', `There is no API key ${quote(id, 100)}.`)
  return key
}

/** @param now epoch milliseconds */
export const hasEnded = ({ revokedAt, expiresAt }: ApiKey, now: number): boolean =>
  revokedAt !== null || (expiresAt !== null && Date.parse(expiresAt) <= now)
/** Whether no key has taken its place. @param now epoch milliseconds */
export const canRotate = (key: ApiKey, now: number): boolean => !hasEnded(key, now) && key.replacedBy === null

const keyFacts = (key: ApiKey, now: number): (readonly [string, Html | string])[] => [
  ['Key', html`<bdi>${key.name}</bdi><small>${key.prefix}</small>`],
  ['Scopes', key.scopes.join(', ')],
  ['Last used', ago(key.lastUsedAt, now)],
]
const idField = ({ id }: ApiKey): Html => html`<input type="hidden" name="id" value="${id}">`

const secretPage = ({ key }: WithSecret, back: string): Html => html`<div class="head"><h1>The key is made</h1></div>
${notice('warning', 'warning', html`<strong>It is shown here once.</strong> Keep it as a secret before you leave this page: the service has its hash alone.`)}
<div class="panel act">${facts([
  ['Key', html`<code>${key}</code>`],
  ['Sent as', html`<code>Authorization: Bearer</code>, or <code>X-API-Key</code>`],
  ['If it is lost', 'Revoke it, and make another.'],
])}
<p class="acts"><a class="button" href="${back}">To the keys</a></p></div>`

const LEVELS = [
  ['read', 'Read'],
  ['write', 'Read and write'],
  ['admin', 'Read, write, and change the settings of the tenant'],
  ['', 'See costs and mails alone'],
] as const satisfies readonly (readonly [Scope | '', string])[]

const box = (name: string, label: string, typed: Typed): Html =>
  html`<label><input type="checkbox" name="${name}"${typed[name] === undefined ? '' : html` checked`}> ${label}</label>`

function scopesIn({ level, billing }: Typed): Scope[] {
  const found = LEVELS.find(([one]) => one === level)?.[0] ?? 'read'
  if (found === '') return ['billing']
  return billing === undefined ? [found] : [found, 'billing']
}

export const NEW: Act<unknown, undefined, WithSecret> = {
  noun: 'keys',
  name: 'new',
  label: 'New key',
  icon: 'add',
  read: readKeys,
  confirm: () => ({
    of: 'Keys',
    question: 'Make a new key?',
    button: 'Make it',
    facts: [
      ['Then', 'The next page shows it, once. It works at once.'],
      ['Taken back', html`By <em>Revoke</em>, next to the key.`],
    ],
    fields: (typed) => html`<label>Name: what it is for
<input name="name" value="${typed['name'] ?? ''}" maxlength="100" required></label>
${choices({ name: 'level', label: 'It may', value: typed['level'] ?? 'read' }, LEVELS)}
${box('billing', 'Costs, statements and mails too, and who gets these', typed)}
${box('esim', 'Activation codes of eSIMs too', typed)}
<label>Works until this day begins in UTC; empty: until it is revoked
<input type="date" name="until" value="${typed['until'] ?? ''}"></label>`,
  }),
  send: ({ inside }, _, typed, params) => {
    const { name = '', until = '', esim } = typed
    const ends = until !== '' && { expiresAt: `${until}T00:00:00.000Z` }
    const body = { name, scopes: scopesIn(typed), esim: esim !== undefined, ...ends }
    return inside.POST('/internal/keys', { params, body })
  },
  show: secretPage,
  done: '',
}

const OVERLAPS = [
  ['PT1H', '1 hour'],
  ['P1D', '1 day'],
  ['P7D', '7 days'],
  ['P30D', '30 days'],
  ['PT0S', 'No longer'],
] as const

export const ROTATE: Act<ApiKey, undefined, WithSecret> = {
  noun: 'keys',
  name: 'rotate',
  label: 'Rotate',
  icon: 'refresh',
  read: (calls, _, { id }) => readKey(calls, id),
  confirm: (key, now) => ({
    of: 'Keys',
    question: 'Replace this key by a new one?',
    button: 'Make the new key',
    facts: [
      ...keyFacts(key, now),
      ['Then', 'The next page shows the new key, once. It has the same name, scopes and end.'],
      ['Taken back', 'It is not: the old key ends. Revoke the new one if nobody is to have it.'],
    ],
    ...(!canRotate(key, now) && { warning: 'It was replaced already, or has ended.', isIdle: true }),
    fields: (typed) => html`${idField(key)}
${choices({ name: 'overlap', label: 'The old key works on for', value: typed['overlap'] }, OVERLAPS)}`,
  }),
  send: ({ inside }, { id }, { overlap }, { header }) => {
    const body = { expireOldAfter: OVERLAPS.find(([one]) => one === overlap)?.[0] ?? 'PT1H' }
    return inside.POST('/internal/keys/{id}/rotate', { params: { path: { id }, header }, body })
  },
  show: secretPage,
  done: '',
}

/** A key, and how many browsers it has signed in. */
interface UsedKey {
  readonly key: ApiKey
  readonly browsers: number
}

export const REVOKE: Act<UsedKey, undefined> = {
  noun: 'keys',
  name: 'revoke',
  label: 'Revoke',
  icon: 'no',
  tone: 'cut',
  read: async (calls, _, { id = '' }) => {
    const key = await readKey(calls, id)
    const query = { keyId: id, pageSize: 1 }
    const { pagination } = await mustAnswer(calls.inside.GET('/internal/sessions', { params: { query } }))
    return { key, browsers: pagination.totalItems }
  },
  confirm: ({ key, browsers }, now) => ({
    of: 'Keys',
    question: 'Revoke this key?',
    facts: [
      ...keyFacts(key, now),
      ['Then', 'Requests with it are refused, by all processes within 10 seconds.'],
      ...(browsers === 0 ? [] : [['Signs out', counted(browsers, 'browser')] as const]),
      ['Taken back', 'It is not: make a new key, and give it to the program.'],
    ],
    ...(key.revokedAt !== null && { warning: 'It was revoked already.', isIdle: true }),
    fields: () => idField(key),
  }),
  send: ({ inside }, { key: { id } }) => inside.DELETE('/internal/keys/{id}', { params: { path: { id } } }),
  done: 'The key is revoked: requests with it are refused.',
}

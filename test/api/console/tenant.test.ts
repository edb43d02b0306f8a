/** The pages of a tenant itself: its keys, who is signed in, what was changed, its settings. */
import { beforeEach, describe, expect, test } from 'vitest'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { writeMail } from '../channels/a-mail.ts'
import { asking, NOON, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const at = (path: string) => `/t/${harness.tenant.id}/${path}`
const shown = async (path: string) => (await browser.get(at(path))).body
const aKey = async (fields: object = {}): Promise<{ id: string; key: string }> =>
  (await harness.tenant.inside('POST', '/internal/keys', { name: 'export', scopes: ['read'], ...fields })).body
const statusOf = async (key: string) =>
  (await asking(harness.outside, { authorization: `Bearer ${key}` })('GET', '/api/tenant')).status
const keyNamed = async (name: string) =>
  (await harness.tenant.inside('GET', '/internal/keys')).body.filter((one: { name: string }) => one.name === name)
/** Sends the form of a page with these fields, and follows. */
async function act(path: string, fields: Record<string, string> = {}) {
  const { body } = await browser.get(at(path))
  const hidden = Object.fromEntries(
    [...body.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value?.replaceAll('&quot;', '"'),
    ]),
  )
  const form = { ...hidden, ...fields } as Record<string, string>
  const sent = await browser.post(at(path.split('?')[0] ?? ''), form)
  const { location } = sent.headers
  return { body, form, sent, after: typeof location === 'string' ? (await browser.get(location, OWN)).body : '' }
}
const SECRET = /sim_([0-9a-f]{12})_[\w-]{43}/

describe('keys', () => {
  test('are listed by state, without those of contacts', async () => {
    const works = await aKey({ expiresAt: new Date(NOON + 86_400_000).toISOString() })
    const [revoked, rotated] = [await aKey(), await aKey()]
    await harness.tenant.inside('DELETE', `/internal/keys/${revoked.id}`)
    const successor = (await harness.tenant.inside('POST', `/internal/keys/${rotated.id}/rotate`)).body.id
    const email = (await harness.tenant.ask('GET', '/api/tenant')).body.billingEmail
    await pages.open().post('/sign-in/mail', { email })
    const contact = (await harness.tenant.inside('GET', '/internal/keys')).body.find(
      (one: { contact: string | null }) => one.contact !== null,
    )
    const [now, ended] = [await shown('keys'), await shown('keys?ended=true')]

    expect(now).toContain(`id="key-${works.id}"`)
    expect(now).toContain(`Replaced by sim_${successor}`)
    expect(now).not.toContain(`id="key-${revoked.id}"`)
    expect(ended).toContain(`id="key-${revoked.id}"`)
    expect(ended).not.toContain(`id="key-${works.id}"`)
    expect(contact.contact).toBe(email)
    expect(now + ended).not.toContain(contact.id)
    const links = linksIn(now)
    expect(links).toContain(at(`keys/rotate?id=${works.id}`))
    expect(links).not.toContain(at(`keys/rotate?id=${rotated.id}`))
    expect((await browser.get(at(`keys/revoke?id=${contact.id}`))).status).toBe(404)
  })

  test('show their names as text', async () => {
    for (const name of HOSTILE_NAMES) {
      const made = await aKey({ name })
      if (made.id !== undefined) expect(await shown('keys')).toContain(`<th scope="row"><bdi>${escaped(name)}</bdi>`)
    }
  })

  test('are made once, and shown once', async () => {
    const fields = { name: 'made here', level: 'write', billing: 'on', until: '2027-01-01' }
    const { sent, form } = await act('keys/new', fields)
    const again = await browser.post(at('keys/new'), form)
    const [secret = '', id] = SECRET.exec(sent.body) ?? []

    expect(sent).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } })
    expect(sent.headers['location']).toBeUndefined()
    expect(sent.body).not.toContain('data-pulse')
    expect(await statusOf(secret)).toBe(200)
    expect(await keyNamed('made here')).toMatchObject([
      { id, scopes: ['write', 'billing'], expiresAt: '2027-01-01T00:00:00.000Z' },
    ])
    expect(again.status).toBe(409)
    expect(again.body).toContain('made already, and shown then')
    expect(again.body).not.toMatch(SECRET)
    expect(fieldIn(again.body, 'key')).not.toBe(form['key'])
    expect(await shown('keys')).not.toMatch(SECRET)
  })

  test('are not made of wrong fields: the page has what was typed', async () => {
    const { sent } = await act('keys/new', { name: 'typed <b>', level: 'admin', esim: 'on', until: '2020-01-01' })

    expect(sent.status).toBe(400)
    expect(sent.body).toContain('value="typed &lt;b&gt;"')
    expect(sent.body).toContain('<option value="admin" selected>')
    expect(sent.body).toContain('name="esim" checked')
    expect(sent.body).not.toContain('name="billing" checked')
    expect(sent.body).toContain('must lie in the future')
  })

  test('are rotated: the old one works on as long as asked', async () => {
    const old = await aKey({ name: 'rotated here' })
    const { sent, form } = await act(`keys/rotate?id=${old.id}`, { overlap: 'PT0S' })
    const again = await browser.post(at('keys/rotate'), form)
    const [secret = '', id] = SECRET.exec(sent.body) ?? []

    expect(sent.status).toBe(200)
    expect([await statusOf(old.key), await statusOf(secret)]).toEqual([401, 200])
    const found = (await keyNamed('rotated here')).map((one: { id: string }) => one.id)
    expect(found.toSorted()).toEqual([old.id, id].toSorted())
    expect(again.status).toBe(409)
    expect(again.body).not.toMatch(SECRET)
    expect(again.body).not.toContain('Make the new key')
  })

  test('are revoked, which signs out their browsers', async () => {
    const { id, key } = await aKey()
    const theirs = await pages.signedIn(key)
    const { body, after, form } = await act(`keys/revoke?id=${id}`)
    const again = await browser.post(at('keys/revoke'), form)

    expect(body).toContain('1 browser')
    expect(after).toContain('The key is revoked')
    expect(await statusOf(key)).toBe(401)
    expect((await theirs.get(at('settings'))).status).toBe(303)
    expect(again.status).toBe(303)
    expect(await shown(`keys/revoke?id=${id}`)).toContain('It was revoked already')
  })
})

describe('people', () => {
  test('are those signed in: by keys of the tenant, and operators', async () => {
    const { id, key } = await aKey({ name: 'of a person' })
    const theirs = pages.open()
    await theirs.post('/sign-in', { key }, { ...OWN, 'user-agent': '<b>Browser</b>' })
    const { id: foreign } = (await harness.other.inside('POST', '/internal/keys', { name: 'k', scopes: ['read'] })).body
    const body = await shown('people')
    const [ours = '', operators = ''] = body.split('id="operators"')

    expect(ours).toContain(`by key sim_${id}`)
    expect(ours).toContain('&lt;b&gt;Browser&lt;/b&gt;')
    expect(body).not.toContain(foreign)
    expect(ours).not.toContain('this browser')
    expect(operators).toContain('this browser')
  })

  test('are signed out of one browser, once', async () => {
    const { id, key } = await aKey()
    const [first, second] = [await pages.signedIn(key), await pages.signedIn(key)]
    const [session] = (await harness.tenant.inside('GET', `/internal/sessions?keyId=${id}`)).body.data
    const { body, after, form } = await act(`people/sign-out?keyId=${id}&session=${session.id}`)
    const again = await browser.post(at('people/sign-out'), form)
    const statuses = [await first.get(at('settings')), await second.get(at('settings'))].map(({ status }) => status)

    expect(body).toContain('Sign out this browser?')
    expect(after).toContain('Signed out.')
    expect(statuses.toSorted()).toEqual([200, 303])
    expect(again.status).toBe(303)
    expect(await shown(`people/sign-out?keyId=${id}&session=${session.id}`)).toContain('signed out already')
  })

  test('are signed out everywhere, and may sign in again', async () => {
    const { id, key } = await aKey()
    const browsers = [await pages.signedIn(key), await pages.signedIn(key)]
    const { after } = await act(`people/sign-out?keyId=${id}`)
    const statuses = await Promise.all(browsers.map(async (one) => (await one.get(at('settings'))).status))

    expect(after).toContain('Signed out.')
    expect(statuses).toEqual([303, 303])
    expect((await (await pages.signedIn(key)).get(at('settings'))).status).toBe(200)
  })

  test('are warned before they sign out themselves', async () => {
    const { id, key } = (await harness.operate('POST', '/internal/keys', { name: 'night shift', scopes: ['operator'] }))
      .body
    browser = await pages.signedIn(key)
    const asked = `people/sign-out?keyId=${id}&of=${encodeURIComponent('@platform')}`
    const { body, after } = await act(asked)

    expect(
      linksIn(await (await pages.signedIn(harness.operatorKey)).get(at('people')).then((one) => one.body)),
    ).toEqual(expect.arrayContaining([expect.stringContaining('of=%40platform')]))
    expect(body).toContain('It is this browser too')
    expect(after).not.toContain('Signed out.')
    expect((await browser.get(at('people'))).status).toBe(303)
  })
})

describe('the audit trail', () => {
  test('has who, what, which, and the values before and after', async () => {
    const silence = { rule: 'sim-overage', lasts: 'P1D', reason: '<b>\u202Ereason' }
    const { id } = (await harness.tenant.inside('POST', '/internal/silences', silence)).body
    const found = await shown(`audit?subject=silence&subjectId=${id}`)
    const key = await aKey({ name: 'traced' })

    expect(found).toContain('<bdi>addSilence</bdi>')
    expect(found).toContain('by <a')
    expect(found).toContain('<bdi>tests</bdi>')
    expect(linksIn(found)).toContain(at(`silences/${id}`))
    expect(found).toContain('Before: it is not there.')
    expect(found).toContain('&quot;reason&quot;: &quot;&lt;b&gt;\u202Ereason&quot;')
    expect(found).toContain('1 change')
    expect(await shown(`audit?subject=key&subjectId=${key.id}`)).toContain('&quot;name&quot;: &quot;traced&quot;')
    expect(await shown('audit?action=none')).toContain('No change matches.')
    expect((await browser.get(at('audit?subject=none'))).status).toBe(400)
    expect((await browser.get(at('audit?date=2026-13-01'))).status).toBe(400)
  })

  test('leads to the pages of what was changed', async () => {
    const { ask, inside } = harness.tenant
    const order = (await ask('POST', '/api/orders', { type: 1, quantity: 1 })).body.id
    const url = 'https://ops.meadow.example/hook'
    const webhook = (await inside('POST', '/internal/webhooks', { url })).body.id
    const mail = encodeURIComponent(await writeMail(harness, harness.tenant))
    const resent = encodeURIComponent((await inside('POST', `/internal/mails/${mail}/resend`)).body.id)
    await inside('POST', '/internal/cycles/2026-10/close')
    const links = linksIn(await shown('audit'))

    for (const path of [`orders/${order}`, `webhooks/${webhook}`, `mails/${resent}`, 'month/2026-10']) {
      expect(links).toContain(at(path))
      expect((await browser.get(at(path))).status, path).toBe(200)
    }
  })

  test('cuts long values, and pages', async () => {
    for (let n = 0; n < 26; n++) await aKey({ name: 'x'.repeat(100) })
    const { id } = (
      await harness.tenant.inside('POST', '/internal/silences', { rule: 'r', lasts: 'P1D', reason: 'y'.repeat(500) })
    ).body
    const first = await shown('audit?subject=key')

    expect(linksIn(first)).toContain(at('audit?subject=key&page=2'))
    expect(first.match(/id="change-/g)).toHaveLength(25)
    expect((await shown(`audit?subject=silence&subjectId=${id}`)).length).toBeLessThan(15_000)
  })
})

describe('settings', () => {
  test('are shown, with what is fixed to operators alone', async () => {
    const body = await shown('settings')
    const theirs = await (await pages.signedIn((await aKey()).key)).get(at('settings'))

    expect(body).toContain('EUR, fixed')
    expect(linksIn(body)).toContain(at('enforcement'))
    expect(theirs.body).toContain('Alerts of all levels')
    expect(theirs.body).not.toContain('fixed')
  })

  test.each([
    ['rename', { name: 'Renamed' }, { name: 'Other' }, 'The tenant is renamed.'],
    ['billing-email', { email: 'new@example.com' }, { email: 'o@example.com' }, 'mails go to the new address'],
    ['notices', { level: '1', escalateAfter: '', feedEvery: 'PT2H' }, { level: '2' }, 'The notices are changed.'],
  ])('are changed by %s: once, and not over the change of another', async (name, fields, others, said) => {
    const stale = (await browser.get(at(`settings/${name}`))).body
    const { sent, form, after } = await act(`settings/${name}`, fields)
    const again = await browser.post(at(`settings/${name}`), form)
    const seen = fieldIn(stale, 'seen').replaceAll('&quot;', '"')
    const late = await browser.post(at(`settings/${name}`), { key: crypto.randomUUID(), seen, ...others })
    const entries = (await harness.tenant.inside('GET', '/internal/audit?subject=tenant&pageSize=1')).body

    expect(sent.status).toBe(303)
    expect(after).toContain(said)
    expect(again.status).toBe(303)
    expect(late.status).toBe(412)
    expect(late.body).toContain('It has changed in the meantime.')
    expect(entries.data[0].after).not.toEqual(entries.data[0].before)
  })

  test('have what was changed', async () => {
    const body = await shown('settings')

    expect(body).toContain('<bdi>Renamed</bdi>')
    expect(body).toContain('<bdi>new@example.com</bdi>')
    expect(body).toContain('Warning and Critical alerts')
    expect(body).toContain('Every 2 h')
    expect(body).toContain('Never')
  })

  test('refuse what the interface refuses, with what was typed', async () => {
    const { sent } = await act('settings/notices', { timeZone: 'Mars/Olympus' })

    expect(sent.status).toBe(400)
    expect(sent.body).toContain('value="Mars/Olympus"')
  })
})

/** Contacts sign in by a mail, over a real mail server: its link, its code, its limits, and what they end with. */
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { renderSignInMail } from '../../../adapters/channels/mail/render-sign-in-mail.ts'
import type { Transport } from '../../../adapters/channels/mail/transport.ts'
import { sendSignIns } from '../../../service/channels/send-sign-ins.ts'
import { aMailbox } from '../../service/channels/post.ts'
import { aTenant, NOON, type Tenant, times, useHarness } from '../harness.ts'
import { type Browser, escaped, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A page that is not there costs the least. */
const SIGNED_IN = 404
const AT_THE_DOOR = 303
const look = async (browser: Browser, at = 0) => harness.at(NOON + at, async () => (await browser.get('/none')).status)

let tenant: Tenant
let email: string
let mails = 0

beforeEach(async () => {
  tenant = await aTenant(harness, 'Meadow <b>')
  email = `billing-${(mails += 1)}@meadow.example`
  await tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail: email })
})

const addCopy = async (copy: string): Promise<number> =>
  (await tenant.inside('POST', '/internal/addresses', { kind: 'copy', email: copy })).body.id

const send = (transport: Pick<Transport, 'send'>, at = 0) =>
  harness.at(NOON + at, () =>
    sendSignIns(harness.store, { send: mailChannel(transport).send, render: renderSignInMail }),
  )

/** A browser that has asked for a mail, and that mail. */
async function asked(to = email, form: Record<string, string> = {}) {
  const { transport, arrived } = await aMailbox()
  const browser = pages.open()
  const answer = await browser.post('/sign-in/mail', { email: to, ...form })
  await send(transport)
  // Others may have waited.
  const mail = (await arrived()).find((one) => one.to === to.trim().toLowerCase())
  const text = mail?.text ?? ''
  const link = /https:\/\/console\.meadow\.example(\/sign-in\/mail\/\S+)/.exec(text)?.[1] ?? ''
  return { browser, answer, mail, text, link, code: /^\d{4} \d{4}$/m.exec(text)?.[0] ?? '', arrived, transport }
}

describe('the link of a mail', () => {
  test('signs in the browser that asked, once, for billing alone', async () => {
    const { browser, answer, mail, link } = await asked(` ${email.toUpperCase()}\n`, { next: '/t/x/alerts?page=2' })
    const page = await browser.get(link)
    const sent = await browser.post(link, {})
    const again = await browser.post(link, {})

    expect(answer.status).toBe(200)
    expect(mail).toMatchObject({ subject: 'Sign in to Simherd', to: email })
    expect(page.body).toContain(`You sign in as <bdi>${email}</bdi>, for <bdi>${escaped('Meadow <b>')}</bdi>.`)
    expect(sent).toMatchObject({ status: 303, headers: { location: '/t/x/alerts?page=2' } })
    expect(await look(browser)).toBe(SIGNED_IN)
    expect((await browser.get('/none')).body).toContain(`<bdi>${email}</bdi>`)
    expect((await browser.get(`/t/${tenant.id}/sims`)).status).toBe(403)
    expect([again.status, again.body.includes('This link was used')]).toEqual([401, true])
  })

  test('is not used up by programs that open it and press its button', async () => {
    const { browser, link, code } = await asked()
    const program = pages.open()
    const looks = await times(3, () => program.get(link))
    const pressed = await program.post(link, {})

    expect(looks.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(looks[0]?.body).toContain('action="/sign-in/code"')
    expect(looks[0]?.body).not.toContain(code)
    expect(pressed.status).toBe(401)
    expect(await look(program)).toBe(AT_THE_DOOR)
    expect((await browser.post(link, {})).status).toBe(303)
  })

  test('signs in one of those that use it at the same time', async () => {
    const { browser, link } = await asked()
    const answers = await Promise.all([1, 2, 3].map(() => browser.post(link, {})))

    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 401, 401])
  })

  test('ends after 15 minutes, and another text is none', async () => {
    const { browser, link } = await asked()
    const at = (ms: number) => harness.at(NOON + ms, async () => (await browser.get(link)).status)
    const [id, signature] = (link.split('/').at(-1) ?? '').split('.')

    expect([await at(15 * MINUTE - 1), await at(15 * MINUTE)]).toEqual([200, 401])
    for (const other of [`${Number(id) + 1}.${signature}`, `${id}.${'x'.repeat(43)}`, '1', "'"]) {
      expect((await browser.get(`/sign-in/mail/${other}`)).status, other).toBe(401)
    }
  })
})

describe('the code of a mail', () => {
  test('signs in any browser, once, however it is typed', async () => {
    const { link, code, browser } = await asked()
    const other = pages.open()
    const sent = await other.post('/sign-in/code', { email: email.toUpperCase(), code: ` ${code.replace(' ', '-')} ` })
    const again = await pages.open().post('/sign-in/code', { email, code })

    expect(sent).toMatchObject({ status: 303, headers: { location: '/' } })
    expect(await look(other)).toBe(SIGNED_IN)
    expect(again.status).toBe(401)
    expect((await browser.post(link, {})).status).toBe(401)
  })

  test('signs in by its own address only, and no more after five wrong ones; the link does', async () => {
    const { link, code, browser } = await asked()
    const wrong = code.replace(/^\d/, (digit) => String((Number(digit) + 1) % 10))
    const ofOther = await pages.open().post('/sign-in/code', { email: 'other@meadow.example', code })
    const tries = await times(5, () => pages.open().post('/sign-in/code', { email, code: wrong }))
    const right = await pages.open().post('/sign-in/code', { email, code })

    expect([ofOther, ...tries, right].map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => 401))
    expect(right.body).toContain('wrong codes were typed 5 times')
    expect(right.body).toContain(`value="${email}"`)
    expect((await browser.post(link, {})).status).toBe(303)
  })
})

describe('a mail that signs in', () => {
  test('goes to contacts only, and the page is the same for every address', async () => {
    await addCopy('copy@meadow.example')
    const others = [
      await asked('copy@meadow.example'),
      await asked('nobody@meadow.example'),
      await asked('%@meadow.example'),
    ]
    const shown = others.map(({ answer }, n) =>
      answer.body.replaceAll(['copy@meadow.example', 'nobody@meadow.example', '%@meadow.example'][n] ?? '', 'ADDRESS'),
    )

    expect(others.map(({ mail }) => mail?.to)).toEqual(['copy@meadow.example', undefined, undefined])
    expect(new Set(shown).size).toBe(1)
  })

  test('is one of each tenant that mails the address', async () => {
    const second = await aTenant(harness, 'Second')
    await second.inside('POST', '/internal/addresses', { kind: 'escalation', email })
    const { arrived, browser } = await asked()
    const texts = (await arrived()).map(({ text }) => text ?? '')
    const own = texts.find((text) => text.includes('for Second.')) ?? ''
    await browser.post(/(\/sign-in\/mail\/\S+)/.exec(own)?.[1] ?? '', {})

    expect(texts).toHaveLength(2)
    expect((await browser.get('/')).headers['location']).toContain(second.id)
  })

  test('leaves five times an hour, and once a minute for a browser', async () => {
    const { transport, arrived } = await aMailbox()
    const browser = pages.open()
    const ask = (at: number, by = pages.open()) => harness.at(NOON + at, () => by.post('/sign-in/mail', { email }))
    await times(2, () => ask(0, browser))
    await ask(MINUTE, browser)
    const counts: number[] = []
    for (const asks of [[2, 3], [4, 5], [60]]) {
      for (const at of asks) await ask(at * MINUTE)
      await send(transport, Number(asks.at(-1)) * MINUTE)
      counts.push((await arrived()).filter(({ to }) => to === email).length)
    }

    expect(counts).toEqual([4, 5, 6])
  })

  test('is sent again while it can be used, and then no more', async () => {
    const mailbox = await aMailbox()
    const { transport } = mailbox
    const later = { send: async () => ({ outcome: 'later' as const, code: 451, response: '451', why: 'busy' }) }
    const ask = () => pages.open().post('/sign-in/mail', { email })
    await ask()
    await send(later)
    await send(transport, MINUTE)
    await ask()
    await send(transport, 15 * MINUTE)

    expect((await mailbox.arrived()).filter(({ to }) => to === email)).toHaveLength(1)
  })
})

describe('a contact', () => {
  test('is signed in for 30 days after the last visit', async () => {
    const { browser, link } = await asked()
    await browser.post(link, {})

    expect([await look(browser, 29 * DAY), await look(browser, 59 * DAY - 1), await look(browser, 89 * DAY)]).toEqual([
      SIGNED_IN,
      SIGNED_IN,
      AT_THE_DOOR,
    ])
  })

  test('ends with the address', async () => {
    const id = await addCopy('leaves@meadow.example')
    const { browser, link } = await asked('leaves@meadow.example')
    await browser.post(link, {})
    const waiting = await asked('leaves@meadow.example')
    const before = await look(browser)
    await tenant.inside('DELETE', `/internal/addresses/${id}`)

    expect([before, await look(browser)]).toEqual([SIGNED_IN, AT_THE_DOOR])
    expect((await waiting.browser.post(waiting.link, {})).status).toBe(401)
  })

  test('is signed out everywhere when the key is revoked, and may come again', async () => {
    const { browser, link } = await asked()
    await browser.post(link, {})
    const keys = (await tenant.inside('GET', '/internal/keys')).body
    const own = keys.find(({ name }: { name: string }) => name === email)
    await tenant.inside('DELETE', `/internal/keys/${own.id}`)
    const after = await look(browser)
    const again = await asked()

    expect(own).toMatchObject({ scopes: ['billing'] })
    expect(after).toBe(AT_THE_DOOR)
    expect((await again.browser.post(again.link, {})).status).toBe(303)
  })

  test('is in the audit trail', async () => {
    const { browser, link } = await asked()
    await browser.post(link, {})
    const { body } = await tenant.inside('GET', '/internal/audit?subject=session')

    expect(body.data).toMatchObject([{ action: 'signIn', actorName: email, before: null }])
  })
})

test('texts that sign in are not stored', async () => {
  const { link, code } = await asked()
  const { rows } = await sql<{ row: string }>`select to_jsonb(m)::text as row from sign_in_mails m`.execute(
    harness.root,
  )
  const all = rows.map(({ row }) => row).join()

  expect(all).not.toContain((link.split('.').at(-1) ?? '').slice(0, 20))
  expect(all).not.toContain(code.replace(' ', ''))
})

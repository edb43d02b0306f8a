/** The pages of mails, and of addresses and webhooks: what they show, and what each act does, once. */
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { markBad } from '../../../service/channels/rows/addresses.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { writeMail } from '../channels/a-mail.ts'
import { anActiveSim, aPool, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const path = (below: string) => `/t/${harness.tenant.id}/${below}`
const page = async (below: string) => (await browser.get(path(below))).body
const mailPath = (id: string) => `mails/${encodeURIComponent(id)}`
const inside = (method: string, url: string, body?: unknown) => harness.tenant.inside(method, `/internal/${url}`, body)
const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

/** Sends the form of a page twice, and follows it. */
async function sendTwice(below: string, query = '', fields: Record<string, string> = {}) {
  const asked = await page(below + query)
  const form = { key: fieldIn(asked, 'key'), ...fields }
  const sent = [await browser.post(path(below), form), await browser.post(path(below), form)]
  const led = sent.map(({ status, headers }) => [status, headers['location']])
  const after = textOf((await browser.get(String(sent[0]?.headers['location']), OWN)).body)
  expect(led[0]).toEqual([303, expect.any(String)])
  expect(led[1]).toEqual(led[0])
  return { asked: textOf(asked), after, next: String(led[0]?.[1]) }
}

describe('mails', () => {
  test('are listed with their state, and found by it and by what they are about', async () => {
    const sim = await anActiveSim(harness, harness.tenant)
    const about = { kind: 'sim', id: sim.id, label: 'meter <12>' } as const
    const sent = await writeMail(harness, harness.tenant, { subject: 'Well', about })
    const failed = await writeMail(harness, harness.tenant, { attempts: [['gone', '550 who <b>']] })
    const [all, given, ofSim, none] = [
      await page('mails?status=&simId=&poolId=&alert='),
      await page('mails?status=failed'),
      await page(`mails?simId=${sim.id}`),
      await page('mails?poolId=999'),
    ]

    expect(linksIn(all)).toEqual(expect.arrayContaining([path(mailPath(sent)), path(mailPath(failed))]))
    expect(textOf(given)).toMatch(/Over to billing@example\.com .*Given up 1 attempt 550 who &lt;b&gt;/)
    expect(linksIn(given)).not.toContain(path(mailPath(sent)))
    expect(linksIn(ofSim).filter((link) => link?.startsWith(path('mails/')))).toEqual([path(mailPath(sent))])
    expect(none).toContain('No mail matches.')
    expect((await browser.get(path('mails?status=lost'))).status).toBe(400)
    expect((await browser.get(path(mailPath('<none@simherd>')))).status).toBe(404)
  })

  test('are shown as sent, with every attempt, and never as HTML', async () => {
    const { tenant } = harness
    const poolId = await aPool(tenant)
    const about = { kind: 'pool', id: poolId, label: 'Meters' } as const
    const attempts = [
      ['later', '451 <i>busy</i>'],
      ['delivered', '250 OK'],
    ] as const
    const id = await writeMail(harness, tenant, { text: 'One\n<b>two</b>', attempts, about })
    const body = await page(mailPath(id))

    expect(body).toContain('>One\n&lt;b&gt;two&lt;/b&gt;</pre>')
    expect(body).not.toContain('onclick')
    expect(textOf(body)).toMatch(
      /Not accepted now, next attempt 2026-11-20 12:01 UTC 451 &lt;i&gt;busy.* Accepted 250 OK/,
    )
    expect(linksIn(body)).toEqual(expect.arrayContaining([path(`pools/${poolId}`), path('alerts?rule=pool-overage')]))
    expect(body).toContain('<bdi>notices.csv</bdi>')
  })

  test('of a long text are cut', async () => {
    const id = await writeMail(harness, harness.tenant, { text: 'x'.repeat(60_000) })
    const body = await page(mailPath(id))

    expect(/x{100,}/.exec(body)?.[0]).toHaveLength(40_000)
    expect(body).toContain('The rest: <code>simherd mails show</code>')
  })

  test('show the words of others as text', async () => {
    for (const subject of HOSTILE_NAMES.filter((name) => name.isWellFormed() && !name.includes('\0'))) {
      const id = await writeMail(harness, harness.tenant, { subject })
      expect(await page(mailPath(id))).toContain(`<bdi>${escaped(subject)}</bdi>`)
    }
  })

  test('are led to from the page of an alert', async () => {
    const sim = await anActiveSim(harness, harness.tenant)
    await writeAlerts(harness, harness.tenant, [{ rule: 'r', kind: 'sim', id: sim.id, state: { mailed: ['fired'] } }])
    const key = `r/sim/${sim.id}/2026-11/fired`
    const id = await writeMail(harness, harness.tenant, { key })
    const [alert] = (await inside('GET', `alerts?simId=${sim.id}`)).body.data

    expect(linksIn(await page(`alerts/${alert.id}`))).toEqual(
      expect.arrayContaining([path(mailPath(id)), path(`mails?alert=${alert.id}`)]),
    )
    expect(linksIn(await page(`mails?alert=${alert.id}`))).toContain(path(mailPath(id)))
  })

  test('are sent again as a new mail, once', async () => {
    const id = await writeMail(harness, harness.tenant)
    const { asked, after, next } = await sendTwice(`${mailPath(id)}/resend`)
    const again = (await inside('GET', mailPath(id))).body.resentAs
    const ofNew = await page(mailPath(again[0]))

    expect(asked).toContain('Send this mail again?')
    expect(again).toHaveLength(1)
    expect(next).toBe(path(`${mailPath(again[0])}?done=resend`))
    expect(after).toContain('This is the new mail')
    expect(linksIn(ofNew)).toContain(path(mailPath(id)))
    expect(linksIn(await page(mailPath(id)))).toContain(path(mailPath(again[0])))
    expect(ofNew).not.toContain('/resend')
    expect(await page(`${mailPath(again[0])}/resend`)).toContain('It is still tried.')
  })

  test('that were given up are tried again, once', async () => {
    const id = await writeMail(harness, harness.tenant, { attempts: [['refused', '554 no']] })
    const { after } = await sendTwice(`${mailPath(id)}/retry`)

    expect(after).toContain('It is tried again')
    expect((await inside('GET', mailPath(id))).body).toMatchObject({ status: 'pending', attempts: 0 })
    expect((await inside('GET', 'audit?action=retryMail')).body.data).toHaveLength(1)
    expect(await page(`${mailPath(id)}/retry`)).toContain('It has not been given up.')
  })
})

describe('addresses', () => {
  const addresses = async (): Promise<{ id: number; kind: string; email: string; badSince: string | null }[]> =>
    (await inside('GET', 'addresses')).body
  const idOf = async (email: string) => (await addresses()).find((one) => one.email === email)?.id ?? 0

  test('are added for escalations and removed, once', async () => {
    const added = await sendTwice('addresses/add', '', { email: 'night@example.com', level: 'escalation' })
    const id = await idOf('night@example.com')
    const removed = await sendTwice('addresses/remove', `?address=${id}`, { address: String(id) })

    expect(added.after).toContain('night@example.com Critical alerts not acknowledged in time Remove…')
    expect(removed.after).not.toContain('night@example.com')
    expect(await page(`addresses/remove?address=${id}`)).toContain('It is not among the addresses any more.')
  })

  test('that servers refuse are cleared', async () => {
    const { id } = (await inside('POST', 'addresses', { kind: 'copy', email: 'field@example.com' })).body
    await inTenant(harness.store, harness.tenant.id, (tx) => markBad(tx, 'field@example.com'))
    const before = await page('addresses')
    const { after } = await sendTwice('addresses/clear', `?address=${id}`, { address: String(id) })

    expect(textOf(before)).toMatch(/Servers refuse it since .* Clear…/)
    expect(after).not.toContain('Servers refuse it')
  })

  test('for billing are confirmed when they have changed', async () => {
    await harness.tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail: 'new@example.com' })
    const [before, id] = [textOf(await page('addresses')), await idOf('new@example.com')]
    const { after } = await sendTwice('addresses/confirm', `?address=${id}`, { address: String(id) })

    expect(before).toMatch(/not confirmed: the previous address gets them too Confirm…/)
    expect(before).toMatch(/billing@example\.com .* Remove…/)
    expect(after).toContain('new@example.com Every mail, confirmed')
    expect(after).not.toContain('billing@example.com')
  })
})

describe('webhooks', () => {
  const url = `https://ops.meadow.example/${'w'.repeat(200)}`
  const aWebhook = async (): Promise<number> => {
    for (const { id } of (await inside('GET', 'webhooks')).body.data) await inside('DELETE', `webhooks/${id}`)
    return (await inside('POST', 'webhooks', { url, description: '<b>', events: ['alert.fired'] })).body.id
  }
  const deliveries = async (id: number) => (await inside('GET', `webhooks/${id}/deliveries`)).body.data

  test('are listed, tested once, and show their deliveries', async () => {
    const id = await aWebhook()
    const [list, { after }] = [await page('webhooks'), await sendTwice(`webhooks/${id}/test`)]
    const [delivery, ...others] = await deliveries(id)

    expect(linksIn(list)).toContain(path(`webhooks/${id}`))
    expect(textOf(list)).toContain('&lt;b&gt; alert.fired In use')
    expect(others).toEqual([])
    expect(after).toMatch(
      new RegExp(`webhook\\.test ${delivery.id}, just now Replay… ${delivery.id} Pending 0 attempts`),
    )
    expect(await page(`webhooks/${id}?status=failed`)).toContain('None.')
    expect((await browser.get(path('webhooks/999999'))).status).toBe(404)
  })

  test('are disabled and enabled, and their deliveries replayed, once', async () => {
    const id = await aWebhook()
    const { id: delivery } = (await inside('POST', `webhooks/${id}/test`)).body
    const disabled = await sendTwice(`webhooks/${id}/disable`)
    const replaying = await page(`webhooks/${id}/replay?delivery=${delivery}`)
    const enabled = await sendTwice(`webhooks/${id}/enable`)
    const replayed = await sendTwice(`webhooks/${id}/replay`, `?delivery=${delivery}`, { delivery: String(delivery) })
    const { rows } = await sql`select 1 from audit_log where action = 'replayWebhookDelivery'`.execute(harness.root)

    expect(disabled.after).toMatch(/Disabled just now ?: A person has disabled it\./)
    expect(disabled.after).toContain('Failed')
    expect(replaying).toContain('It is disabled.')
    expect(enabled.after).toContain('In use')
    expect(replayed.after).toContain('The event is sent again')
    expect((await deliveries(id))[0].status).toBe('pending')
    expect(rows).toHaveLength(1)
    expect((await browser.get(path(`webhooks/${id}/replay?delivery=x`))).status).toBe(400)
  })
})

import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { buildPublic } from '../../../api/server.ts'
import { type AlertLink, LINKS_LAST_MS, type Link, sealLink } from '../../../domain/channels/link.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { linkKey } from '../../../service/channels/rows/link-key.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { evaluationOptions, watch } from '../../service/harness.ts'
import { asShipped, only } from '../../service/watchdog/alert-world.ts'
import { anActiveSim, aPool, type Tenant, times, useHarness } from '../harness.ts'
import { used } from '../specification/estate.ts'

const harness = useHarness()
const RULE = 'sim-usage-warning'
const HOSTILE = `<script>alert(1)</script>"'&{{rule}}`

/** A pool's SIM for which a warning fires. @returns its id */
async function overWarned(tenant: Tenant, tag: string): Promise<number> {
  const poolId = await aPool(tenant, { warningThresholdPct: 80 })
  const { id } = await anActiveSim(harness, tenant, { poolId }, { tag })
  await used(harness, tenant, id, { bytesDown: 900_000_000 })
  await watch(harness.store, evaluationOptions(), tenant.id)
  return id
}

let key: Uint8Array
beforeAll(async () => {
  key = await inPlatform(harness.store, linkKey)
  await activateRules(harness.store, only({ [RULE]: asShipped }), 'the tests')
})

const tokenOf = (link: Link, expiresAt = harness.now + LINKS_LAST_MS) => sealLink(key, link, expiresAt)
const aboutSim = (id: number, over: Partial<AlertLink> = {}): AlertLink => ({
  purpose: 'ack',
  tenantId: harness.tenant.id,
  rule: RULE,
  subject: { kind: 'sim', id },
  cycle: '2026-11',
  ...over,
})
const get = (token: string) => harness.outside.inject({ method: 'GET', url: `/n/${token}` })
const FORM = 'application/x-www-form-urlencoded'
const post = (token: string, payload = '', type = FORM) =>
  harness.outside.inject({ method: 'POST', url: `/n/${token}`, payload, headers: { 'content-type': type } })
/** Presses the button of a page. */
const press = (token: string, html: string) =>
  post(`${token}${/ action="([^"]*)"/.exec(html)?.[1]?.replace('&#x3D;', '=')}`)
const titleOf = (html: string) => /<h1>(.*)<\/h1>/.exec(html)?.[1]
const trailOf = async (tenant: Tenant) =>
  (await tenant.inside('GET', '/internal/audit?actor=mail-link&pageSize=50')).body.data
const silencesOf = async (tenant: Tenant, id: number) => {
  const { body } = await tenant.inside('GET', '/internal/silences?open=true&pageSize=50')
  return body.data.filter(({ simId }: { simId: number }) => simId === id)
}
const alertOf = async (id: number) => (await harness.tenant.inside('GET', `/internal/alerts?simId=${id}`)).body.data[0]
const settingsOf = async (tenant: Tenant) => (await tenant.inside('GET', '/internal/tenant/notices')).body
const unsubscribe = (tenant: Tenant): Link => ({ purpose: 'unsubscribe', tenantId: tenant.id })

describe('GET /n/{token}', () => {
  test('shows what a link would do, and does nothing', async () => {
    const id = await overWarned(harness.tenant, 'meter-1')
    const pages = []
    for (const link of [aboutSim(id), aboutSim(id, { purpose: 'mute' }), unsubscribe(harness.tenant)]) {
      pages.push(...(await times(2, () => get(tokenOf(link)))))
    }

    for (const { statusCode, body } of pages) {
      expect([statusCode, body]).toEqual([200, expect.stringContaining('<form method="post" action="?">')])
    }
    expect(pages[0]?.body).toContain('meter-1')
    expect(await alertOf(id)).toMatchObject({ acknowledgedAt: null })
    expect(await silencesOf(harness.tenant, id)).toEqual([])
    expect(await settingsOf(harness.tenant)).toMatchObject({ mailsFrom: LogLevel.Info })
    expect(await trailOf(harness.tenant)).toEqual([])
  })

  test('escapes names, and lets a page run and load nothing', async () => {
    const id = await overWarned(harness.tenant, HOSTILE)
    const page = await get(tokenOf(aboutSim(id)))

    expect(page.body).not.toContain('<script')
    expect(page.body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;{{rule}}')
    expect(page.body).not.toMatch(/(src|href|url)\b ?[=(]/)
    expect(page.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'self';/,
      ),
      'x-robots-tag': 'noindex, nofollow',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
  })

  test('leads to the month in the console, if it has an address', async () => {
    const consoleUrl = 'https://console.example'
    const outside = await buildPublic({ store: harness.store, hasMailLinks: true, consoleUrl })
    onTestFinished(() => outside.close())
    const { body } = await outside.inject({ url: `/n/${tokenOf(unsubscribe(harness.other))}` })

    expect(body).toContain(`<a href="${consoleUrl}/t/${harness.other.id}/my">`)
  })

  test('answers HEAD, and refuses other methods', async () => {
    const url = `/n/${tokenOf(unsubscribe(harness.other))}`

    expect(await harness.outside.inject({ method: 'HEAD', url })).toMatchObject({ statusCode: 200, body: '' })
    expect(await harness.outside.inject({ method: 'DELETE', url })).toMatchObject({ statusCode: 405 })
    expect(await settingsOf(harness.other)).toMatchObject({ mailsFrom: LogLevel.Info })
  })
})

describe.each(['GET', 'POST'] as const)('%s /n/{token}', (method) => {
  const ask = (token: string) => harness.outside.inject({ method, url: `/n/${token}` })

  test('refuses what was not signed here, and a tenant that is not there, alike', async () => {
    const good = tokenOf(unsubscribe(harness.other))
    const nobody = tokenOf({ purpose: 'unsubscribe', tenantId: 'tffffffffffff' })
    const strange = sealLink(Buffer.alloc(32), unsubscribe(harness.other), harness.now + 1e6)
    const answers = [`${good.slice(0, -1)}_`, 'x', 'x.y', nobody, strange].map(async (token) => {
      const { statusCode, body } = await ask(token)
      return [statusCode, body]
    })
    const [first, ...others] = await Promise.all(answers)

    expect(first).toEqual([404, expect.stringContaining('This link does not work')])
    expect(others).toEqual(others.map(() => first))
    expect(await settingsOf(harness.other)).toMatchObject({ mailsFrom: LogLevel.Info })
  })

  test('says that a link has expired', async () => {
    const { statusCode, body } = await ask(tokenOf(unsubscribe(harness.other), harness.now))

    expect([statusCode, titleOf(body)]).toEqual([410, 'This link has expired'])
    expect(await settingsOf(harness.other)).toMatchObject({ mailsFrom: LogLevel.Info })
  })

  test('does not find another tenant’s SIM', async () => {
    const id = await overWarned(harness.other, 'theirs-by-name')
    const pages = []
    for (const purpose of ['ack', 'mute'] as const) pages.push(await ask(tokenOf(aboutSim(id, { purpose }))))

    expect(pages.map(({ statusCode, body }) => [statusCode, titleOf(body)])).toEqual([
      [200, 'This alert has ended'],
      [200, 'There is nothing left to silence'],
    ])
    expect(pages.map(({ body }) => body).join()).not.toContain('theirs-by-name')
    expect((await harness.other.inside('GET', `/internal/alerts?simId=${id}`)).body.data).toMatchObject([
      { acknowledgedAt: null, silencedUntil: null },
    ])
  })

  test('answers so often for one token', async () => {
    const token = tokenOf(unsubscribe(harness.other), harness.now - 1)
    const limited = tokenOf(aboutSim(method === 'GET' ? 901 : 902))
    await times(30, () => ask(limited))
    const refused = await ask(limited)

    expect([refused.statusCode, refused.headers['content-type']]).toEqual([429, 'text/html; charset=utf-8'])
    expect(await ask(token)).toMatchObject({ statusCode: 410 })
  })
})

describe('POST /n/{token}', () => {
  test('acknowledges an alert, once', async () => {
    const id = await overWarned(harness.tenant, 'meter-2')
    const token = tokenOf(aboutSim(id))
    const before = await alertOf(id)
    const first = await post(token)
    const seen = await alertOf(id)
    const second = await harness.at(harness.now + 60_000, () => post(token))
    const trail = (await trailOf(harness.tenant)).filter(({ subject }: { subject: string }) => subject === 'alert')

    expect(before.acknowledgedAt).toBeNull()
    for (const { statusCode, body } of [first, second]) {
      expect([statusCode, titleOf(body)]).toEqual([200, 'This alert is acknowledged'])
    }
    expect(seen).toMatchObject({ acknowledgedBy: 'mail-link' })
    expect(await alertOf(id)).toEqual(seen)
    expect(trail).toMatchObject([
      { action: 'acknowledgeAlert', subjectId: `${RULE}/sim/${id}`, keyId: null, after: { acknowledged: true } },
    ])
  })

  test('silences a rule and a subject for the cycle, once', async () => {
    const id = await overWarned(harness.tenant, 'meter-3')
    const token = tokenOf(aboutSim(id, { purpose: 'mute' }))
    const pages = [...(await Promise.all([post(token), post(token)])), await post(token)]
    const silences = await silencesOf(harness.tenant, id)

    for (const { body } of pages) expect(titleOf(body)).toBe('It is not mailed again in this billing cycle')
    expect(silences).toMatchObject([
      { rule: RULE, poolId: null, tag: null, level: null, endsAt: '2026-12-01T00:00:00.000Z', createdBy: 'mail-link' },
    ])
  })

  test('takes a silence back, and silences again', async () => {
    const id = await overWarned(harness.tenant, 'meter-6')
    const token = tokenOf(aboutSim(id, { purpose: 'mute' }))
    const done = await post(token)
    const undone = [await press(token, done.body), await press(token, done.body)]
    const after = await silencesOf(harness.tenant, id)
    const again = await press(token, undone[1]?.body ?? '')

    expect(undone.map(({ body }) => titleOf(body))).toEqual(['It is mailed again', 'It is mailed again'])
    expect(after).toEqual([])
    expect(titleOf(again.body)).toBe('It is not mailed again in this billing cycle')
    expect(await silencesOf(harness.tenant, id)).toHaveLength(1)
    expect((await trailOf(harness.tenant))[1]).toMatchObject({ action: 'endSilence', subject: 'silence' })
  })

  test('takes an unsubscription back to the level before', async () => {
    const settings = { ...(await settingsOf(harness.tenant)), mailsFrom: LogLevel.Warning }
    await harness.tenant.inside('PUT', '/internal/tenant/notices', settings)
    const token = tokenOf(unsubscribe(harness.tenant))
    const undone = await press(token, (await post(token)).body)

    expect(titleOf(undone.body)).toBe('Alerts are mailed again')
    expect(undone.body).toContain('from level Warning on')
    expect(await settingsOf(harness.tenant)).toEqual(settings)
  })

  test('refuses to take back to what is no level', async () => {
    const token = tokenOf(unsubscribe(harness.tenant))
    for (const level of ['2', '7', 'x']) expect((await post(`${token}?undo=${level}`)).statusCode, level).toBe(400)
  })

  test('begins a silence anew that somebody has ended', async () => {
    const id = await overWarned(harness.tenant, 'meter-4')
    const token = tokenOf(aboutSim(id, { purpose: 'mute' }))
    await post(token)
    const [{ id: silence }] = await silencesOf(harness.tenant, id)
    await harness.tenant.inside('POST', `/internal/silences/${silence}/end`)
    await post(token)

    expect(await silencesOf(harness.tenant, id)).toHaveLength(1)
  })

  test.each([
    ['the form of RFC 8058', 'List-Unsubscribe=One-Click', FORM],
    [
      'the same in parts',
      '--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
      'multipart/form-data; boundary=b',
    ],
    ['an empty form', '', FORM],
    ['a form in another charset', 'List-Unsubscribe=One-Click', `${FORM}; charset=ISO-8859-1`],
  ])('unsubscribes by %s, without its page', async (_what, body, type) => {
    const before = await settingsOf(harness.tenant)
    await harness.tenant.inside('PUT', '/internal/tenant/notices', { ...before, mailsFrom: LogLevel.Info })
    const entries = (await trailOf(harness.tenant)).length
    const token = tokenOf(unsubscribe(harness.tenant))
    const pages = [await post(token, body, type), await post(token, body, type)]
    const trail = await trailOf(harness.tenant)

    for (const { statusCode, body: html } of pages) {
      expect([statusCode, titleOf(html)]).toEqual([200, 'Only Critical alerts are mailed now'])
    }
    expect(await settingsOf(harness.tenant)).toEqual({ ...before, mailsFrom: LogLevel.Critical })
    expect(trail).toHaveLength(entries + 1)
    expect(trail[0]).toMatchObject({ action: 'changeNotices', subject: 'tenant', after: { mailsFrom: 2 } })
  })

  test('does nothing about a cycle that has ended', async () => {
    const id = await overWarned(harness.tenant, 'meter-5')
    const pages = []
    for (const purpose of ['ack', 'mute'] as const) {
      pages.push(await post(tokenOf(aboutSim(id, { purpose, cycle: '2026-10' }))))
    }

    expect(pages.map(({ body }) => titleOf(body))).toEqual(['This alert has ended', 'There is nothing left to silence'])
    expect(await alertOf(id)).toMatchObject({ acknowledgedAt: null, silencedUntil: null })
  })

  test('refuses a body that is no form of a link', async () => {
    const token = tokenOf(unsubscribe(harness.other))
    const { statusCode, headers } = await post(token, 'x'.repeat(5000))

    expect([statusCode, headers['content-type']]).toEqual([413, 'text/html; charset=utf-8'])
    expect(await settingsOf(harness.other)).toMatchObject({ mailsFrom: LogLevel.Info })
  })
})

/** The pages of tenants and SIMs, as a browser without scripts gets them. */

import { describe, expect, test } from 'vitest'
import { tryAnswer } from '../../../console/answers.ts'
import { TicketType } from '../../../domain/codes.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { complete } from '../../service/harness.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { anActiveSim, aPool, aSim, times, useHarness } from '../harness.ts'
import { escaped, idsIn, linksIn, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)

const readKey = async (tenant = harness.tenant) =>
  (await tenant.inside('POST', '/internal/keys', { name: 'reader', scopes: ['read'] })).body.key
const operator = () => pages.signedIn(harness.operatorKey)
const simsOf = (tenant = harness.tenant) => `/t/${tenant.id}/sims`

describe('the beginning', () => {
  test("leads a tenant's key to its tenant", async () => {
    const browser = await pages.signedIn(await readKey())
    const first = await browser.get('/')

    expect(first).toMatchObject({ status: 303, headers: { location: `/t/${harness.tenant.id}` } })
  })

  test('lists tenants to an operator', async () => {
    const { body } = await (await operator()).get('/')
    const { body: found } = await (await operator()).get('/?search=Theirs')

    expect(linksIn(body)).toEqual(expect.arrayContaining([`/t/${harness.tenant.id}`, `/t/${harness.other.id}`]))
    expect(linksIn(found)).not.toContain(`/t/${harness.tenant.id}`)
  })
})

describe('the SIMs', () => {
  test('are found by status, pool and text', async () => {
    const poolId = await aPool(harness.tenant, { name: 'Meters <1>' })
    const active = await anActiveSim(harness, harness.tenant, { poolId }, { tag: 'found' })
    const stock = await aSim(harness.tenant, { tag: 'found' })
    const browser = await pages.signedIn(await readKey())
    const rows = async (query: string) => {
      const { body } = await browser.get(`${simsOf()}?${query}`)
      return idsIn(body, 'sim')
    }

    expect(await rows('search=found')).toEqual([active.id, stock.id])
    expect(await rows('search=found&status=1&poolId=')).toEqual([active.id])
    expect(await rows(`poolId=${poolId}`)).toEqual([active.id])
    expect((await browser.get(`${simsOf()}?poolId=${poolId}`)).body).toContain('<bdi>Meters &lt;1&gt;</bdi>')
  })

  test('are walked by cursor, with their filters', async () => {
    const sims = await times(120, () => aSim(harness.other, { tag: 'walked' }))
    const browser = await operator()
    const seen: number[] = []
    let next: string | undefined = `${simsOf(harness.other)}?search=walked`
    while (next !== undefined) {
      const { body } = await browser.get(next)
      seen.push(...idsIn(body, 'sim'))
      expect(body).toContain('120 match')
      next = linksIn(body).find((href) => href?.includes('cursor='))
    }

    expect(seen).toEqual(sims.map(({ id }) => id))
  })

  test.each([
    ['another tenant', () => simsOf(harness.other), 403],
    ['an unknown tenant', () => '/t/nobody/sims', 403],
    ['a wrong filter', () => `${simsOf()}?status=9`, 400],
    ['a cursor of another list', () => `${simsOf()}?cursor=p0`, 400],
    ['an unknown SIM', () => `${simsOf()}/99999`, 404],
    ['no SIM at all', () => `${simsOf()}/%00'`, 400],
  ])('are refused on a page about %s', async (_, url, status) => {
    const browser = await pages.signedIn(await readKey())
    const answer = await browser.get(url())

    expect(answer).toMatchObject({ status, headers: { 'content-type': 'text/html; charset=utf-8' } })
  })
})

describe('a SIM', () => {
  test('shows an operator its rules and its state', async () => {
    const poolId = await aPool(harness.tenant, { name: 'Meters' })
    const { id, iccid } = await anActiveSim(
      harness,
      harness.tenant,
      { poolId },
      { tag: 'one', imsi: '001010000000017' },
    )
    const { status, body } = await (await operator()).get(`${simsOf()}/${id}`)

    expect(status).toBe(200)
    for (const shown of ['<bdi>one</bdi>', '001010000000017', '<bdi>Meters</bdi>', 'No rule fires.', 'Active'])
      expect(body).toContain(shown)
    expect(body).toContain(iccid.replaceAll(/(.{4})(?=.)/g, '$1 '))
  })

  test('is shown to a reading key without what only operators may see', async () => {
    const { id } = await aSim(harness.tenant)
    const { status, body } = await (await pages.signedIn(await readKey())).get(`${simsOf()}/${id}`)

    expect(status).toBe(200)
    expect(body).toContain('id="log"')
    expect(body).not.toContain('id="rules"')
    expect(body).not.toContain('Cannot be read')
  })

  test('shows its usage by day, as bars and as a table', async () => {
    const { id } = await aSim(harness.tenant)
    await recordUsage(harness.store, harness.tenant.id, [
      { recordId: 'chart', simId: id, at: '2026-11-19T23:59:59Z', bytesDown: 5_250_000 },
    ])
    const { body } = await (await operator()).get(`${simsOf()}/${id}`)

    expect(body.match(/<title>19 Nov: 5.25 MB<\/title>/g)).toHaveLength(2)
    expect(body).toContain('<th scope="row">19 Nov</th>')
    expect(body.match(/<rect [^>]*><title>/g)).toHaveLength(2 * 30)
  })

  test('shows its history to an operator, in words', async () => {
    const poolId = await aPool(harness.tenant, { name: 'North <b>' })
    const { id } = await anActiveSim(harness, harness.tenant, { poolId }, { tag: 'old' })
    await inTenant(harness.store, harness.tenant.id, (tx) => complete(tx, { simId: id, type: TicketType.Suspend }))
    const stock = await aSim(harness.tenant)
    const browser = await operator()
    const path = `${simsOf()}/${id}/history`
    const { body } = await browser.get(path)

    expect(linksIn((await browser.get(`${simsOf()}/${id}`)).body)).toContain(path)
    expect(body).toContain(`<a href="/t/${harness.tenant.id}/pools/${poolId}"><bdi>North &lt;b&gt;</bdi></a>`)
    expect(body).toContain('Suspended by a person')
    expect((await browser.get(`${simsOf()}/${stock.id}/history`)).body).toContain('has not been provisioned')
    expect((await (await pages.signedIn(await readKey())).get(path)).status).toBe(403)
  })

  test('shows the words of others as text', async () => {
    const { id } = await aSim(harness.tenant)
    const browser = await operator()
    let shown = 0
    for (const tag of HOSTILE_NAMES) {
      const set = await harness.tenant.ask('PATCH', `/api/sims/${id}/tag`, { tag })
      if (set.status !== 200) continue
      shown += 1
      const { body } = await browser.get(`${simsOf()}/${id}`)
      expect(body).toContain(`<bdi>${escaped(tag)}</bdi>`)
    }

    expect(shown).toBeGreaterThan(12)
  })

  test('has no style attributes, and scripts in files alone', async () => {
    const { id } = await aSim(harness.tenant)
    const { body } = await (await operator()).get(`${simsOf()}/${id}`)

    expect(body).not.toMatch(/<script(?! src=)|\sstyle=|\son\w+=/i)
  })
})

describe('the activation code of an eSIM', () => {
  const CODE = 'LPA:1$rsp.example.com$04386-AGYFT-A74Y8-3F815$$1'
  const anESim = () => aSim(harness.tenant, { type: 1, esimQrPayload: CODE })
  const shownTo = async () => {
    const { body } = await harness.tenant.inside('GET', '/internal/audit?subject=esim-codes')
    return body.data.map(({ keyId, subjectId }: { keyId: string; subjectId: string }) => [keyId, Number(subjectId)])
  }

  test('is on its own page alone, and each view of that is in the audit trail', async () => {
    const { id } = await anESim()
    const browser = await pages.signedIn(harness.tenant.key)
    const pathOfCode = `${simsOf()}/${id}/code`
    const before = await shownTo()
    const others = await Promise.all([simsOf(), `${simsOf()}/${id}`, pathOfCode].map((one) => browser.get(one)))
    for (const { status, body } of others) expect([status, body]).toEqual([200, expect.not.stringMatching('LPA:')])
    expect(await shownTo()).toEqual(before)

    const { status, body } = await browser.post(pathOfCode, { key: crypto.randomUUID() })
    expect(status).toBe(200)
    expect(body).toContain(`<code>${CODE}</code>`)
    expect(body).toMatch(/<img src="data:image\/png;base64,[^"]+" alt="/)
    expect(await shownTo()).toEqual([[harness.tenant.key.split('_')[1], id], ...before])
  })

  test('is offered to keys that may see it, and of eSIMs', async () => {
    const [eSim, card] = [await anESim(), await aSim(harness.tenant)]
    const [writer, reader] = [await pages.signedIn(harness.tenant.key), await pages.signedIn(await readKey())]
    const isOffered = async (browser: typeof reader, { id }: typeof card) =>
      linksIn((await browser.get(`${simsOf()}/${id}`)).body).includes(`${simsOf()}/${id}/code`)
    const offered = [isOffered(writer, eSim), isOffered(reader, eSim), isOffered(writer, card)]
    const before = await shownTo()
    const sent = await reader.post(`${simsOf()}/${eSim.id}/code`, { key: crypto.randomUUID() })

    expect(await Promise.all(offered)).toEqual([true, false, false])
    expect([sent.status, sent.body]).toEqual([
      200,
      expect.stringContaining('None is stored, or this key may not see it.'),
    ])
    expect((await writer.get(`${simsOf()}/${card.id}/code`)).body).toContain('It is a physical SIM')
    expect(await shownTo()).toEqual(before)
  })
})

describe('a part of a page', () => {
  test('that comes late is named so', async () => {
    const late = new Promise<never>(() => undefined)

    expect(await tryAnswer(late, 1)).toEqual({ missing: 'It took longer than 0.001 s.' })
  })

  test('that fails says why', async () => {
    expect(await tryAnswer(Promise.reject(new Error('Temporal is away')))).toEqual({ missing: 'Temporal is away' })
  })
})

describe('a file for browsers', () => {
  test('is kept for ever, under a name of its own', async () => {
    const { body } = await pages.open().get('/sign-in')
    const path = linksIn(body).find((href) => href?.endsWith('.css')) ?? ''
    const answer = await pages.open().get(path, { 'accept-encoding': 'br' })

    expect(path).toMatch(/^\/assets\/console\.[\w-]{12}\.css$/)
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'public, max-age=31536000, immutable', 'content-encoding': 'br' },
    })
  })
})

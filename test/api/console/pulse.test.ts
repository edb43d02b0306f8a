/** The pulse of a tenant, and sessions of pages that ask for it. */
import { expect, test, vi } from 'vitest'
import { tagOf } from '../../../console/pulse.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { aSim, NOON, useHarness } from '../harness.ts'
import { useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const operator = () => pages.signedIn(harness.operatorKey)
const pulseOf = (tenant = harness.tenant) => `/t/${tenant.id}/pulse`
/** As a script asks. */
const SCRIPT = { 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' }
let seconds = 0
/** Asks for the pulse when nobody else has asked for a while. */
const tagNow = async (browser: Awaited<ReturnType<typeof operator>>) =>
  harness.at(NOON + 3000 * ++seconds, async () => String((await browser.get(pulseOf(), SCRIPT)).headers['etag']))

test('is the same until something changes', async () => {
  const browser = await operator()
  const first = await browser.get(pulseOf(), SCRIPT)
  const etag = String(first.headers['etag'])
  const second = await browser.get(pulseOf(), { ...SCRIPT, 'if-none-match': etag })

  expect(first).toMatchObject({ status: 204, headers: { 'cache-control': 'no-store' }, body: '' })
  expect(etag).toMatch(/^"[\w-]{16}"$/)
  expect(second.status).toBe(304)
  expect(await tagNow(browser)).toBe(etag)
})

test('changes with what people do', async () => {
  const browser = await operator()
  const { id } = await aSim(harness.tenant)
  const before = await tagNow(browser)
  await harness.tenant.ask('PATCH', `/api/sims/${id}/tag`, { tag: 'another' })

  expect(await tagNow(browser)).not.toBe(before)
})

test('changes with usage no more often than in 30 seconds', async () => {
  const { body: status } = await harness.tenant.inside('GET', '/internal/status')
  const tagAt = (receivedAt: string, bytes: number) =>
    tagOf({ ...status, usage: { ...status.usage, bytes }, feed: { ...status.feed, receivedAt } })
  const { id } = await aSim(harness.tenant)
  await recordUsage(harness.store, harness.tenant.id, [
    { recordId: 'pulse', simId: id, at: '2026-11-20T11:00:00Z', bytesDown: 1 },
  ])
  const { body: later } = await harness.tenant.inside('GET', '/internal/status')

  expect(later.feed.receivedAt).toBe('2026-11-20T12:00:00.000Z')
  expect(tagAt('2026-11-20T12:00:00.000Z', 1)).toBe(tagAt('2026-11-20T12:00:29.999Z', 2))
  expect(tagAt('2026-11-20T12:00:00.000Z', 1)).not.toBe(tagAt('2026-11-20T12:00:30.000Z', 1))
})

test('costs 200 watchers one question in two seconds', async () => {
  const browsers = await Promise.all([operator(), operator()])
  const asked = vi.spyOn(harness.inside, 'inject')
  const watch = () =>
    Promise.all(Array.from({ length: 200 }, async (_, n) => (await browsers[n % 2]?.get(pulseOf(), SCRIPT))?.status))
  await harness.at(NOON + 100_000, watch)
  const answers = await harness.at(NOON + 101_999, watch)
  const once = asked.mock.calls.length
  await harness.at(NOON + 102_000, watch)

  expect(new Set(answers)).toEqual(new Set([204]))
  expect([once, asked.mock.calls.length]).toEqual([1, 2])
  asked.mockRestore()
})

test.each([
  ["a tenant's key", async () => pages.signedIn(harness.tenant.key), pulseOf, 403],
  ['an unknown tenant', operator, () => '/t/nobody/pulse', 404],
  ['nobody', async () => pages.open(), pulseOf, 303],
])('is refused to %s', async (_, open, path, status) => {
  expect((await (await open()).get(path(), SCRIPT)).status).toBe(status)
})

test('does not keep a session, as a page does that a person opens', async () => {
  const HOUR = 3_600_000
  const [watching, opening] = [await operator(), await operator()]
  const at = (hours: number, browser: typeof watching, headers = {}) =>
    harness.at(NOON + hours * HOUR, async () => (await browser.get(pulseOf(), headers)).status)
  const statuses = [
    [await at(11, watching, SCRIPT), await at(13, watching, SCRIPT)],
    [await at(11, opening), await at(13, opening)],
  ]

  expect(statuses).toEqual([
    [204, 303],
    [204, 204],
  ])
})

test('is asked for by pages of operators alone', async () => {
  const path = `/t/${harness.tenant.id}/sims`
  const [mine, theirs] = [await operator(), await pages.signedIn(harness.tenant.key)]

  expect((await mine.get(path)).body).toContain(`data-pulse="${pulseOf()}"`)
  expect((await theirs.get(path)).body).not.toMatch(/data-pulse|<script/)
})

/** The pages of silences: their list, a single one, and its end. */
import { beforeEach, describe, expect, test } from 'vitest'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { aPool, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const path = () => `/t/${harness.tenant.id}/silences`
const silence = async (fields: object = {}): Promise<number> =>
  (
    await harness.tenant.inside('POST', '/internal/silences', {
      rule: 'sim-overage',
      lasts: 'P1D',
      reason: 'Meters are replaced',
      ...fields,
    })
  ).body.id
const idsIn = (body: string) => [...body.matchAll(/id="silence-(\d+)"/g)].map(([, id]) => Number(id))

describe('the silences', () => {
  test('are listed, the open ones first asked for', async () => {
    const [open, ended] = [await silence(), await silence()]
    await harness.tenant.inside('POST', `/internal/silences/${ended}/end`)
    const now = (await browser.get(path())).body
    const then = (await browser.get(`${path()}?open=false`)).body

    expect(idsIn(now)).toContain(open)
    expect(idsIn(now)).not.toContain(ended)
    expect(idsIn(then)).toContain(ended)
    expect(idsIn(then)).not.toContain(open)
    expect(linksIn(now)).toContain(`${path()}/${open}`)
    expect(then).toContain('by <bdi>tests</bdi>')
  })

  test('say what they cover, until when, and when in the week', async () => {
    const poolId = await aPool(harness.tenant)
    const times = [{ days: [6, 7], from: '22:00', to: '06:00' }]
    const id = await silence({ rule: null, poolId, level: 1, lasts: null, times, timeZone: 'Europe/Berlin' })
    const { body } = await browser.get(`${path()}/${id}`)

    expect(body).toContain(`Pool ${poolId} and its SIMs, Warning`)
    expect(body).toContain('Until a person ends it')
    expect(body).toContain('22:00–06:00 on Sat, Sun, Europe/Berlin')
  })

  test('show the words of others as text', async () => {
    let shown = 0
    for (const reason of HOSTILE_NAMES) {
      const id = await silence({ reason })
      if (id === undefined) continue
      shown += 1
      expect((await browser.get(`${path()}/${id}`)).body).toContain(`<bdi>${escaped(reason)}</bdi>`)
      await harness.tenant.inside('POST', `/internal/silences/${id}/end`)
    }

    expect(shown).toBeGreaterThan(5)
  })
})

test('a silence is ended once, from its page', async () => {
  const id = await silence()
  const { body } = await browser.get(`${path()}/${id}`)
  const form = { key: fieldIn(body, 'key') }
  const sent = [await browser.post(`${path()}/${id}/end`, form), await browser.post(`${path()}/${id}/end`, form)]
  const after = await browser.get(String(sent[0]?.headers['location']), OWN)
  const events = (await harness.tenant.ask('GET', '/api/events')).body.data

  expect(body).toContain('Alerts that still fire are mailed, once')
  expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual([
    [303, `${path()}/${id}?done=end`],
    [303, `${path()}/${id}?done=end`],
  ])
  expect(after.body).toContain('It is ended')
  expect(after.body).not.toContain('name="key"')
  expect(events.filter(({ title }: { title: string }) => title === `Silence ${id} has been ended`)).toHaveLength(1)
  expect((await browser.get(`${path()}/${id}/end`)).body).toContain('It has ended already.')
})

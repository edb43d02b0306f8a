/** The pages of backtests: their list, a single one with its report, and how one is run and deleted. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { beginBacktest, noteBacktestProgress } from '../../../service/backtests/rows/backtests.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { times, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'
import { aReport, askBacktest, doBacktest, loadRules } from './rule-trials.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const path = (below = '', { id } = harness.tenant) => `/t/${id}/backtests${below}`
const INSIDE = '/internal/rules/backtests'

let browser: Browser
let version: number
beforeAll(async () => {
  await loadRules(harness)
  version = await loadRules(harness, ' ')
})
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const all = async () => (await harness.operate('GET', INSIDE)).body.data
afterEach(async () => {
  for (const { id } of await all()) await harness.operate('DELETE', `${INSIDE}/${id}`)
})
const shown = async (below: string) => (await browser.get(path(below))).body
/** The numbers of a row, by its words. */
const numbersOf = (body: string, words: string) => {
  const row = body.split(`<td><bdi>${words}</bdi></td>`)[1]?.split('</tr>')[0] ?? ''
  return [...row.matchAll(/<td class="number">([^<]*)/g)].map(([, number]) => number)
}
/** @returns its id */
async function done(report = {}, fields: object = {}): Promise<number> {
  const id = await askBacktest(harness, fields)
  await doBacktest(harness, aReport(report))
  return id
}

describe('the list', () => {
  test('has those of the tenant, newest first, with their state', async () => {
    const first = await done({}, { version: version - 1, cycles: 2 })
    const second = await askBacktest(harness)
    const theirs = await askBacktest(harness, { tenantId: harness.other.id })
    const body = await shown('')

    expect([...body.matchAll(/id="backtest-(\d+)"/g)].map(([, id]) => Number(id))).toEqual([second, first])
    expect(body).toContain(`<a href="${path(`/${first}`)}">Version ${version - 1} over 2 cycles</a>`)
    expect(body).toContain('Done')
    expect(body).toContain('waits for its turn')
    expect(body).toContain('<bdi>tests</bdi>')
    expect((await browser.get(path('', harness.other))).body).toContain(`id="backtest-${theirs}"`)
  })

  test('says how one is made, if there is none', async () => {
    const body = await shown('')

    expect(body).toContain('simherd rules backtest')
    expect(linksIn(body)).toContain(path('/new'))
  })
})

describe('the form', () => {
  test('runs one of a chosen version, once, even if it is sent twice', async () => {
    const body = await shown(`/new?version=${version - 1}`)
    const form = { key: fieldIn(body, 'key'), version: String(version - 1), cycles: '2' }
    const sent = [await browser.post(path('/new'), form), await browser.post(path('/new'), form)]
    const [made, ...others] = await all()
    const after = await browser.get(String(sent[1]?.headers['location']), OWN)

    expect(body).toContain(`Those in force: version ${version}</option>`)
    expect(body).toMatch(new RegExp(`<option value="${version - 1}" selected>Version ${version - 1} of 2026-`))
    expect(sent.map(({ status }) => status)).toEqual([303, 303])
    expect([made, others]).toMatchObject([{ tenantId: harness.tenant.id, version: version - 1, cycles: 2 }, []])
    expect(after.body).toContain('It is queued')
  })

  test('takes the rules in force if none are chosen', async () => {
    const form = { key: crypto.randomUUID(), version: '', cycles: '1' }

    expect((await browser.post(path('/new'), form)).status).toBe(303)
    expect(await all()).toMatchObject([{ version, cycles: 1 }])
  })

  test.each([
    ['four cycles', { version: '', cycles: '4' }, 400],
    ['no cycles', { version: '', cycles: '' }, 400],
    ['a version that is none', { version: '<b>', cycles: '3' }, 400],
    ['a version that is not there', { version: '999', cycles: '3' }, 404],
  ])('refuses %s, and keeps what was typed', async (_, typed, status) => {
    const sent = await browser.post(path('/new'), { key: crypto.randomUUID(), ...typed })

    expect(sent.status).toBe(status)
    expect(sent.body).toContain(`name="cycles" min="1" max="3" value="${typed.cycles}"`)
    expect(sent.body).toContain(`<option value="${escaped(typed.version)}" selected>`)
    expect(await all()).toEqual([])
  })

  test('says that too many wait', async () => {
    await times(20, () => askBacktest(harness))
    const sent = await browser.post(path('/new'), { key: crypto.randomUUID(), cycles: '1' })

    expect([sent.status, sent.body.includes('20 backtests wait or run already.')]).toEqual([409, true])
  })
})

describe('a backtest', () => {
  test('shows its progress, and is read again while it has not ended', async () => {
    const id = await askBacktest(harness)
    const queued = await shown(`/${id}`)
    const begun = await inPlatform(harness.store, beginBacktest)
    const copying = await shown(`/${id}`)
    await inPlatform(harness.store, async (tx) => begun && noteBacktestProgress(tx, begun, 1200, 3400))
    const running = await shown(`/${id}`)
    await doBacktest(harness, aReport())

    expect(queued).toContain('waits for its turn')
    expect(copying).toContain('copies the past')
    expect(running).toContain('1,200 of 3,400 usage records')
    for (const body of [queued, copying, running]) expect(body).toContain('data-moving')
    expect(await shown(`/${id}`)).not.toContain('data-moving')
  })

  test('says why it failed', async () => {
    const id = await askBacktest(harness)
    await doBacktest(harness, 'sim/x.json: <b>\u202Eno</b>')
    const body = await shown(`/${id}`)

    expect(body).toContain('<bdi>sim/x.json: &lt;b&gt;\u202Eno&lt;/b&gt;</bdi>')
    expect(body).not.toContain('id="rules"')
  })

  test('shows what each rule does beside what it would do, and the totals', async () => {
    const body = await shown(`/${await done()}`)

    expect(body).toContain('2026-10-01 00:00 UTC</time> to <time')
    expect(numbersOf(body, 'Entries')).toEqual(['40'])
    expect(numbersOf(body, 'Suspended')).toEqual(['8'])
    expect(numbersOf(body, 'Would suspend')).toEqual(['4'])
    expect(body).toContain('<tr class="would"><td><bdi>Would suspend')
    expect(body).toContain('role="img" aria-label="Would suspend, Number: 4"')
    expect(body.match(/Would log<\/bdi>/g)).toHaveLength(1)
    expect(numbersOf(body, 'Only in the backtest')).toEqual(['10'])
    expect(numbersOf(body, 'Mails')).toEqual(['0.2'])
    expect(numbersOf(body, 'billing@meadow.example')).toEqual(['6'])
    expect(body).toContain('0 records, 2 tickets, 1 setting')
    expect(body).toContain('Tickets take effect when they ended.')
  })

  test('of which nothing came says so', async () => {
    expect(await shown(`/${await done({ rules: [], mails: [] })}`)).toContain('No rule does anything.')
  })

  test('leads to the loudest SIMs and pools, and shows the words of others as text', async () => {
    const [label, message] = ['<b>meter', HOSTILE_NAMES.find((name) => name.includes('<')) ?? '']
    const loudest = (['sim', 'pool', 'tag', 'tenant'] as const).map((kind, n) => ({
      kind,
      id: kind === 'tenant' ? null : 7 + n,
      label,
      entries: 1,
    }))
    const examples = (['replay', 'log'] as const).map((where) => ({
      where,
      key: 'a/<i>/b',
      at: '2026-10-02T00:00:00.000Z',
      message,
    }))
    const { noise, log } = aReport()
    const report = { noise: { ...noise, loudest }, log: { ...log, examples } }
    const body = await shown(`/${await done({ ...report, mails: [{ recipient: '"<i>"@x.example', mails: 1 }] })}`)

    expect(linksIn(body)).toEqual(
      expect.arrayContaining([`/t/${harness.tenant.id}/sims/7`, `/t/${harness.tenant.id}/pools/8`]),
    )
    expect(body.split('<bdi>&lt;b&gt;meter</bdi>')).toHaveLength(4)
    expect(body.split(`<bdi>${escaped(message)}</bdi>`)).toHaveLength(3)
    expect(body).toContain('<small>Only in the log: <bdi>a/&lt;i&gt;/b</bdi></small>')
    expect(body).toContain(`<bdi>${escaped('"<i>"@x.example')}</bdi>`)
  })

  test('has at most 18 rules in its picture', async () => {
    const [rule] = aReport().rules
    const rules = Array.from({ length: 23 }, (_, n) => ({ ...rule, rule: `rule-${n}` }))
    const body = await shown(`/${await done({ rules })}`)

    expect(body.match(/<bdi>rule-\d+<\/bdi>/g)).toHaveLength(18)
    expect(body).toContain('And 5 other rules')
  })
})

describe('a comparison', () => {
  test('has the counts of both, those of the other first', async () => {
    const [rule] = aReport().rules
    const before = await done({ rules: [{ ...rule, rule: 'gone', entries: 7 }] }, { version: version - 1 })
    const id = await done({ log: { ...aReport().log, both: 31 } })
    const [alone, body] = [await shown(`/${id}`), await shown(`/${id}?with=${before}`)]

    expect(alone).toContain(`<option value="${before}">Version ${version - 1}, backtest ${before}</option>`)
    expect(body).toContain(`<option value="${before}" selected>`)
    expect(linksIn(body)).toContain(path(`/${before}`))
    expect(body).toContain('After: this one.')
    expect(numbersOf(body, 'Would suspend')).toEqual(['0', '4'])
    expect(numbersOf(body.split('<bdi>gone</bdi>')[1] ?? '', 'Entries')).toEqual(['7', '0'])
    expect(numbersOf(body, 'In both')).toEqual(['30', '31'])
  })

  test('warns of other billing cycles, and of one without a report', async () => {
    const older = await done({ from: '2026-09-01T00:00:00.000Z' })
    const id = await done()
    const waiting = await askBacktest(harness, { cycles: 2 })
    const body = await shown(`/${id}?with=${waiting}`)

    expect(await shown(`/${id}?with=${older}`)).toContain('different billing cycles')
    expect(body).toContain('One of the two has no report.')
    expect(numbersOf(body, 'In both')).toEqual(['30'])
    expect(body).not.toContain(`<option value="${waiting}"`)
  })
})

test('a backtest is deleted once, and a running one stops', async () => {
  const id = await askBacktest(harness)
  const { body } = await browser.get(path(`/${id}/delete`))
  const form = { key: fieldIn(body, 'key') }
  const sent = [await browser.post(path(`/${id}/delete`), form), await browser.post(path(`/${id}/delete`), form)]
  const after = await browser.get(String(sent[0]?.headers['location']), OWN)
  const kept = await browser.get(path(`/${await done()}/delete`))

  expect(body).toContain('It stops, without a report.')
  expect(kept.body).toContain('Its report is gone, for everyone.')
  expect(sent.map(({ status }) => status)).toEqual([303, 404])
  expect(after.body).toContain('It is deleted.')
})

test.each([
  ['/999999', 404],
  ['/x', 400],
  ['?page=0', 400],
])('there is no page %s', async (below, status) => {
  expect((await browser.get(path(below))).status).toBe(status)
})

test('a comparison with none, or with one of another tenant, is refused', async () => {
  const [id, theirs] = [await done(), await askBacktest(harness, { tenantId: harness.other.id })]

  expect((await browser.get(path(`/${id}?with=${theirs}`))).status).toBe(404)
  expect((await browser.get(path(`/${id}?with=x`))).status).toBe(400)
  expect((await browser.get(path(`/${id}`, harness.other))).status).toBe(404)
})

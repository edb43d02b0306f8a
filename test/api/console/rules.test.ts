/** The pages of rules: the set in force, a rule, a version, and putting one in force. */
import { readFile } from 'node:fs/promises'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { asShipped, inStage, only, withParams } from '../../service/watchdog/alert-world.ts'
import { putForeignRules } from '../../setup/foreign-rules.ts'
import { holding } from '../../setup/lock-waits.ts'
import { until } from '../../setup/soon.ts'
import { anActiveSim, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const RULE = 'sim-overage'
const COUNTING = 'The SIMs of each rule are being counted'
const HOSTILE = '<b>Vans</b> & "lorries"'
const path = (below = '') => `/t/${harness.tenant.id}/rules${below}`
const versionPath = (version: number) => path(`/versions/${version}`)
const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

/** A set of two rules in force, after one of them alone; another with one of them changed is only pushed. */
let [first, second, pushed] = [0, 0, 0]
const load = async (...edits: Parameters<typeof only>) =>
  (await activateRules(harness.store, only(...edits), 'Ann', { reason: HOSTILE })).version
let browser: Browser
beforeAll(async () => {
  await anActiveSim(harness, harness.tenant)
  await anActiveSim(harness, harness.tenant, {}, { isWatchdogExempt: true })
})
beforeEach(async () => {
  harness.now += 1000
  const changed = withParams({ message: 'SIM {{iccid}} is over.', for: 'PT5M' })
  first = await load({ [RULE]: asShipped })
  second = await load({ [RULE]: asShipped, 'sim-silent': inStage('shadow') })
  const files = only({ [RULE]: changed })
  pushed = (await harness.operate('POST', '/internal/rules/versions', { files, author: 'Bob' })).body.version
  browser = await pages.signedIn(harness.operatorKey)
})
/** A page of the rules with their figures, which come later on a busy machine. */
const countedPage = (below = '') =>
  until('the SIMs are counted', async () => {
    const { body } = await browser.get(path(below))
    return !body.includes(COUNTING) && body
  })
const inForce = async () => (await harness.operate('GET', '/internal/rules')).body.version
const historyOf = async (version: number) =>
  (await harness.operate('GET', `/internal/rules/versions?version=${version}`)).body.data

describe('the rules', () => {
  test('are listed with their stage and activity, and the versions below', async () => {
    const body = await countedPage()
    const text = textOf(body)

    expect(text).toContain(`Set Version ${second} Since`)
    expect(text).toMatch(/By Ann Reason .*Reached \d of \d tenants/)
    expect(text).toMatch(/sim-silent SIMs shadow \d+ 0 never/)
    expect(body).toContain(`<bdi>${escaped(HOSTILE)}</bdi>`)
    expect(linksIn(body)).toEqual(
      expect.arrayContaining([path(`/${RULE}`), versionPath(pushed), `${versionPath(first)}/activate`]),
    )
    expect(text.indexOf(`Version ${pushed} pushed`)).toBeGreaterThan(0)
    expect(text).toContain(`Version ${second} put in force`)
  })

  test('are shown one by one, with whom they are for and their text', async () => {
    const body = await countedPage(`/${RULE}`)

    expect(textOf(body)).toContain('For SIMs: tariffType Standard')
    expect(textOf(body)).toContain('Stage enforce: it logs, mails and suspends')
    expect(textOf(body)).toMatch(/Attached to \d of \d Effective for \d/)
    expect(body).toContain('aria-label="Text of sim/sim-overage.json"')
    expect(body).toContain(escaped('"name":"sim-overage"'))
    expect(linksIn(body)).toContain(`/t/${harness.tenant.id}/alerts?rule=${RULE}`)
    expect(linksIn(body)).toContain(versionPath(second))
    expect((await browser.get(path('/sim-none'))).status).toBe(404)
  })

  test('do not wait for a long count, and show it at a later view', async () => {
    await load({ [RULE]: withParams({ message: 'Another set.' }), 'sim-silent': inStage('shadow') })
    const release = await holding(harness.databaseUrl, 'lock table watchdog_log in access exclusive mode')
    for (const below of ['', `/${RULE}`]) {
      const { status, body } = await browser.get(path(below))
      expect([status, body]).toEqual([200, expect.stringMatching(`<p class="missing" data-moving>${COUNTING}`)])
      expect(textOf(body)).toContain(`${RULE} `)
    }
    await release()

    expect(textOf(await countedPage())).toMatch(/sim-silent SIMs shadow \d+ 0 never/)
  })

  test('tell of a set that this build refuses', async () => {
    const foreign = only({ [RULE]: asShipped }).map(({ file, text }) => ({
      file,
      text: text.replaceAll('overageMB', 'overageToday'),
    }))
    const refused = await putForeignRules(harness.root, foreign, new Date(harness.now))
    const list = await browser.get(path())
    const page = await browser.get(versionPath(refused))

    expect(list.body).toContain(`Version ${refused} was put in force, and this build refuses it: <bdi>sim/sim-overage`)
    expect(textOf(list.body)).toContain(`Set Version ${second} Since`)
    expect(textOf(page.body)).toContain('Refused by this build')
    expect(textOf(page.body)).toContain(`Cannot be read: Version ${refused} of the rules has`)
    expect(linksIn(page.body)).toContain(`${versionPath(second)}/activate`)
  })
})

describe('a version', () => {
  test('shows what it changes, its history and its files', async () => {
    const states = await Promise.all(
      [first, second, pushed].map(async (version) => textOf((await browser.get(versionPath(version))).body)),
    )
    const [was, is, never] = states

    expect(was).toContain(`Version ${first} Was in force`)
    expect(is).toContain(`Version ${second} In force`)
    expect(is).toContain(`Rules that differ from version ${first}: 1. sim-silent added`)
    expect(never).toContain(`Version ${pushed} Never in force By Bob`)
    expect(never).toContain(
      `Rules that differ from version ${second}: 2. sim-overage changed for Before 0 s After 300 s`,
    )
    expect(never).toContain('sim-silent removed')
    expect(never).toContain('sim/sim-overage.json')
    expect((await browser.get(versionPath(999_999))).status).toBe(404)
    expect((await browser.get(versionPath(0))).status).toBe(400)
  })

  test('shows the tests that it has passed, and so does each of its rules', async () => {
    const file = 'sim/sim-overage.test.json'
    const text = await readFile(new URL(`../../../rules/${file}`, import.meta.url), 'utf8')
    const files = [...only({ [RULE]: asShipped, 'sim-silent': asShipped }), { file, text }]
    const { version } = (await harness.operate('POST', '/internal/rules/versions', { files })).body
    const [page, form] = [
      await browser.get(versionPath(version)),
      await browser.get(`${versionPath(version)}/activate`),
    ]
    await harness.operate('POST', `/internal/rules/versions/${version}/activate`, {})
    const [tested, untested] = [await browser.get(path(`/${RULE}`)), await browser.get(path('/sim-silent'))]
    const copies = Array.from({ length: 23 }, (_, n) => `sim/tests-${n}.test.json`)
    const set = { files: [...files.slice(0, 2), ...copies.map((copy) => ({ file: copy, text }))] }
    const { version: last } = (await harness.operate('POST', '/internal/rules/versions', set)).body
    const many = await browser.get(versionPath(last))

    expect(textOf(page.body)).toMatch(
      /Tests passed when they were stored sim\/sim-overage\.test\.json suspends, .* \d tests/,
    )
    expect(linksIn(tested.body)).toContain(`${versionPath(version)}?file=sim%2Fsim-overage.test.json`)
    expect(textOf(tested.body)).toContain('suspends, resolves on a correction')
    expect(textOf(untested.body)).toContain('passed when they were stored None.')
    expect(textOf(many.body)).toContain('and 3 test files more')
    expect(textOf(form.body)).toMatch(/The examples of its rules and \d tests passed when it was stored\./)
  })

  test('of long files shows one at a time', async () => {
    const files = Array.from({ length: 2 }, (_, n) => ({
      file: `sim/long-${n}.json`,
      text: only({ [RULE]: asShipped })[0]?.text.replace('sim-overage', `long-${n}`) + ' '.repeat(40_000),
    }))
    const { version } = (await harness.operate('POST', '/internal/rules/versions', { files })).body
    const { body } = await browser.get(versionPath(version))
    const link = `${versionPath(version)}?file=sim%2Flong-1.json`

    expect(body).not.toContain('<pre')
    expect(linksIn(body)).toContain(link)
    expect((await browser.get(link)).body.match(/<pre.*/g)).toEqual([expect.stringContaining('sim/long-1.json')])
  })

  test('is put in force once, and taken back', async () => {
    const page = `${versionPath(pushed)}/activate`
    const { body } = await browser.get(page)
    const form = { key: fieldIn(body, 'key'), expect: fieldIn(body, 'expect'), reason: HOSTILE }
    const sent = [await browser.post(page, form), await browser.post(page, form)]
    const after = await browser.get(String(sent[0]?.headers['location']), OWN)
    const back = `${versionPath(second)}/activate`

    expect(textOf(body)).toContain(`In force now version ${second}`)
    expect(textOf(body)).toContain('After 300 s')
    expect(sent.map(({ status }) => status)).toEqual([303, 303])
    expect(after.body).toContain('It is in force')
    expect(textOf(after.body)).toContain(`Roll back to version ${second}`)
    expect(linksIn(after.body)).toContain(back)
    expect(await historyOf(pushed)).toMatchObject([
      { change: 'activated', author: 'tests', reason: HOSTILE },
      { change: 'pushed', author: 'Bob' },
    ])
    expect((await browser.get(page)).body).toContain('It is in force already.')

    const again = (await browser.get(back)).body
    await browser.post(back, { ...form, key: fieldIn(again, 'key'), expect: fieldIn(again, 'expect') })
    expect(await inForce()).toBe(second)
  })

  test('is not put in force over one that has come since, or without a reason', async () => {
    const page = `${versionPath(pushed)}/activate`
    const form = { key: fieldIn((await browser.get(page)).body, 'key'), expect: String(second) }
    const unsaid = await browser.post(page, { ...form, reason: '' })
    await load({ [RULE]: asShipped })
    const late = await browser.post(page, { ...form, reason: HOSTILE })

    expect(unsaid.status).toBe(400)
    expect(late.status).toBe(409)
    expect(late.body).toContain('It has changed in the meantime.')
    expect(late.body).toContain(`${escaped(HOSTILE)}</textarea>`)
    expect(fieldIn(late.body, 'expect')).toBe(String(first))
    expect(await inForce()).toBe(first)
  })
})

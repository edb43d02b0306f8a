/** A page that keeps itself up to date, in Chromium: what a person does stays. */
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { grouped } from '../../../console/parts/marks.ts'
import { beginBacktest, noteBacktestProgress } from '../../../service/backtests/rows/backtests.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { anActiveSim, aPool, aSim, times, useHarness } from '../harness.ts'
import { hasChromium, signIn, useChromium } from './chromium.ts'
import { aReport, askBacktest, doBacktest, loadRules } from './rule-trials.ts'

const SUITE = 'a live page in a browser'
const harness = useHarness()

describe.runIf(await hasChromium(SUITE))(SUITE, () => {
  const shown = useChromium(harness)
  let tenant: string
  beforeAll(async () => {
    tenant = `${shown.url}/t/${harness.tenant.id}`
    await aPool(harness.tenant, { name: 'Meters' })
    await times(40, () => aSim(harness.tenant, { tag: 'stock' }))
  })

  /** A signed-in page, whose time the test moves. */
  async function openPage(path: string): Promise<Page> {
    const context = await shown.browser.newContext({ viewport: { width: 1280, height: 600 } })
    onTestFinished(() => context.close())
    const page = await context.newPage()
    await page.goto(shown.url)
    await signIn(page, harness.operatorKey)
    await page.clock.install()
    await page.goto(path)
    await page.getByText('Live', { exact: true }).waitFor()
    return page
  }
  /** Lets the page be read again, as it is each minute. */
  async function refresh(page: Page): Promise<void> {
    const read = page.waitForResponse((answer) => answer.url() === page.url())
    await page.clock.fastForward(61_000)
    await (await read).finished()
  }

  test('shows a SIM that comes in, and its new state', async () => {
    const page = await openPage(`${tenant}/sims?search=newcomer`)
    await page.getByText('No SIM matches.').waitFor()
    const { id } = await anActiveSim(harness, harness.tenant, {}, { tag: 'newcomer' })
    // The service remembers a pulse for two seconds.
    const row = page.locator(`#sim-${id}`)
    const countNow = () => page.clock.runFor(3000).then(() => row.count())
    await expect.poll(countNow, { timeout: 10_000, interval: 500 }).toBe(1)

    expect(await row.textContent()).toContain('Active')
  })

  test('shows the progress of a backtest, which the pulse does not know of, and then its report', async () => {
    const id = await askBacktest(harness, { version: await loadRules(harness) })
    const page = await openPage(`${tenant}/backtests/${id}`)
    const after = async (words: string) => {
      const countNow = () => page.clock.runFor(3000).then(() => page.getByText(words).count())
      await expect.poll(countNow, { timeout: 10_000, interval: 500 }).toBe(1)
    }
    const begun = await inPlatform(harness.store, beginBacktest)
    await inPlatform(harness.store, async (tx) => begun && noteBacktestProgress(tx, begun, 12, 34))
    await after('12 of 34 usage records')
    await doBacktest(harness, aReport())
    await after('kept from it by stage')
    let read = 0
    page.on('request', (request) => (read += request.url() === page.url() ? 1 : 0))
    await page.clock.runFor(30_000)

    expect(read).toBe(0)
  })

  test('keeps text, selection, open details, scroll and focus over 50 refreshes', async () => {
    const { id, iccid } = await anActiveSim(harness, harness.tenant, {}, { tag: 'watched' })
    const sims = await openPage(`${tenant}/sims`)
    const sim = await openPage(`${tenant}/sims/${id}`)
    await sims.getByLabel('Pool').selectOption('Meters')
    await sims.getByLabel('ICCID, IMSI').pressSequentially('half a wo')
    await sims.evaluate('document.activeElement.setSelectionRange(2, 4); scrollTo(0, 300)')
    await sim.getByText('As a table').click()
    await sim.evaluate(`getSelection().selectAllChildren(document.querySelector('.lead')); scrollTo(0, 200)`)
    const stateOf = async () => [
      await sims.evaluate(
        '[document.activeElement.name, document.activeElement.value, document.activeElement.selectionStart, document.activeElement.selectionEnd, scrollY]',
      ),
      await sims.getByLabel('Pool').locator('option:checked').textContent(),
      await sim.evaluate(
        `[String(getSelection()), scrollY, document.activeElement.textContent, document.querySelector('details[open] th').textContent]`,
      ),
    ]
    const before = await stateOf()
    for (let n = 1; n <= 50; n++) {
      await harness.tenant.ask('PATCH', `/api/sims/${id}/tag`, { tag: n % 2 ? 'watched' : `watched ${n}` })
      await Promise.all([refresh(sims), refresh(sim)])
    }
    const words = await sim.locator('h1').textContent()

    expect(words).toContain('watched 50')
    expect(before).toEqual([
      ['search', 'half a wo', 2, 4, 300],
      'Meters',
      [grouped(iccid), 200, 'As a table', 'Day in UTC'],
    ])
    expect(await stateOf()).toEqual(before)
  })

  test('keeps ticks, whatever rows come in', async () => {
    const ticked = await times(2, () => aSim(harness.tenant, { tag: 'tick' }))
    const page = await openPage(`${tenant}/sims?search=tick&status=0`)
    for (const { id } of ticked) await page.locator(`#sim-${id} input`).check()
    await page.getByLabel('that match').check()
    await page.locator(`#sim-${ticked[0]?.id} input`).uncheck()
    await page.mouse.move(0, 0)
    await aSim(harness.tenant, { tag: 'tick' })
    await refresh(page)
    await page.getByText('or all 3 that match').waitFor()
    const boxes = await page.evaluate(`[...document.querySelectorAll('main input:checked')].map(({ value }) => value)`)
    await page.getByRole('button', { name: 'Suspend' }).click()

    expect(boxes).toEqual(['true', String(ticked[1]?.id)])
    expect(await page.locator('h1').textContent()).toBe('No SIM would be suspended')
  })

  test('lets new rows wait while the pointer is on the list', async () => {
    const page = await openPage(`${tenant}/sims?search=row&status=0`)
    await aSim(harness.tenant, { tag: 'row one' })
    await refresh(page)
    await page.locator('tbody tr').first().hover()
    await times(2, () => aSim(harness.tenant, { tag: 'row more' }))
    await refresh(page)
    const waiting = await page.locator('tbody tr').count()
    await page.getByRole('button', { name: 'Show 2 new' }).click()

    expect([waiting, await page.locator('tbody tr').count()]).toEqual([1, 3])
  })

  test('says that the session has ended, and asks no more', async () => {
    const page = await openPage(tenant)
    await page.context().clearCookies()
    await page.clock.runFor(3000)
    await page.getByText('Signed out: load the page again').waitFor()
    let asked = 0
    page.on('request', () => (asked += 1))
    await page.clock.runFor(120_000)

    expect(asked).toBe(0)
  })

  test('says that the service does not answer, and goes on when it does', async () => {
    const page = await openPage(tenant)
    await page.route('**/pulse', (route) => route.abort())
    await page.clock.runFor(3000)
    await page.getByText('Not live: the service does not answer').waitFor()
    await page.unroute('**/pulse')
    await page.clock.runFor(6000)
    await page.getByText('Live', { exact: true }).waitFor()
  })

  test('works in ten tabs beside each other', async () => {
    const first = await openPage(tenant)
    const tabs = await times(10, () => first.context().newPage())
    await Promise.all(tabs.map((tab) => tab.goto(tenant)))
    await Promise.all(tabs.map((tab) => tab.getByText('Live', { exact: true }).waitFor()))

    expect(await Promise.all(tabs.map((tab) => tab.title()))).toEqual(Array(10).fill(await first.title()))
  })
})

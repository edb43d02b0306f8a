/** What a person does in the console, in Chromium. How each page looks: pages.test.ts. */
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { endTicket } from '../../service/harness.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, useHarness } from '../harness.ts'
import { hasChromium, openPage, signIn, useChromium } from './chromium.ts'
import { faultsAt, faultsInEachWay } from './page-faults.ts'
import { aLongReport, askBacktest, doBacktest, loadRules } from './rule-trials.ts'

const SUITE = 'the console in a browser'
const harness = useHarness()

describe.runIf(await hasChromium(SUITE))(SUITE, () => {
  const shown = useChromium(harness)
  let tenant: string
  let simId: number
  beforeAll(async () => {
    tenant = `${shown.url}/t/${harness.tenant.id}`
    simId = (await anActiveSim(harness, harness.tenant, {}, { tag: 'w'.repeat(128) })).id
  })
  async function open() {
    const opened = await openPage(shown)
    onTestFinished(() => opened.context.close())
    return opened
  }
  async function openSignedIn() {
    const opened = await open()
    await signIn(opened.page, harness.operatorKey)
    return opened
  }

  test('signs in, shows a SIM, and signs out', async () => {
    const { page, said } = await open()
    const faults: Record<string, readonly string[]> = {}
    faults['door'] = await faultsAt(page, shown.url)
    await page.getByLabel('E-mail address').fill('nobody@example.com')
    await page.getByRole('button', { name: 'Mail me a link' }).click()
    faults['code'] = await faultsInEachWay(page)
    await page.goto(shown.url)
    await signIn(page, harness.operatorKey)
    await page.getByRole('link', { name: 'Ours' }).click()
    faults['overview'] = await faultsInEachWay(page)
    faults['sim'] = await faultsAt(page, `${tenant}/sims/${simId}`)
    const heading = await page.locator('main h1').textContent()
    await page.emulateMedia({ media: 'screen' })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.goto(`${tenant}/sims/${simId}`)

    expect({ faults, said }).toEqual({ faults: { door: [], code: [], overview: [], sim: [] }, said: [] })
    expect(heading).toContain('w'.repeat(128))
    expect(await page.getByLabel('API key').isVisible()).toBe(true)
  })

  test('silences an alert', async () => {
    await writeAlerts(harness, harness.tenant, [{ rule: 'sim-overage', kind: 'sim', id: simId }])
    const { body } = await harness.tenant.inside('GET', `/internal/alerts?simId=${simId}`)
    const { page, said } = await openSignedIn()
    await page.goto(`${tenant}/alerts/${body.data[0].id}/silence`)
    await page.getByLabel('For how long').selectOption('1 hour')
    await page.getByLabel('Reason').fill('The meter is replaced')
    await page.getByRole('button', { name: 'Silence' }).click()
    const done = page.locator('main').getByRole('status')

    expect(await done.textContent()).toContain('It is silenced')
    expect(await page.getByText('The meter is replaced').first().isVisible()).toBe(true)
    expect(await faultsInEachWay(page)).toEqual([])
    expect(said).toEqual([])
  })

  test('puts rules in force', async () => {
    await loadRules(harness)
    const files = (await readRuleFiles('')).map(({ file, text }) => ({ file, text: `${text} ` }))
    const { version } = (await harness.operate('POST', '/internal/rules/versions', { files, author: 'a' })).body
    const { page, said } = await openSignedIn()
    await page.goto(`${tenant}/rules/versions/${version}/activate`)
    await page.getByLabel('Reason').fill('The pilot is over')
    await page.getByRole('button', { name: 'Activate' }).click()

    expect(await page.locator('h1').textContent()).toContain('In force')
    expect(said).toEqual([])
  })

  test('compares two backtests', async () => {
    const version = await loadRules(harness, '  ')
    const one = await askBacktest(harness, { version })
    const other = await askBacktest(harness, { version })
    await doBacktest(harness, aLongReport())
    await doBacktest(harness, aLongReport())
    const { page, said } = await openSignedIn()
    await page.goto(`${tenant}/backtests/${other}`)
    await page.getByLabel('Compare with').selectOption(`Version ${version}, backtest ${one}`)
    await page.getByRole('button', { name: 'Compare' }).click()

    const bar = page.getByRole('img', { name: 'Would suspend, Before: 123,456' }).first()
    expect(await bar.isVisible()).toBe(true)
    expect(said).toEqual([])
  })

  test('makes a key, and shows its secret once', async () => {
    const { page, said } = await openSignedIn()
    await page.goto(`${tenant}/keys/new`)
    await page.getByLabel('Name').fill('export')
    await page.getByRole('checkbox', { name: 'Costs' }).check()
    await page.getByRole('button', { name: 'Make it' }).click()
    const secret = await page.locator('code').first().textContent()
    await page.reload()

    expect(secret).toMatch(/^sim_[0-9a-f]{12}_[\w-]{43}$/)
    expect(await page.getByRole('alert').textContent()).toContain('shown then')
    expect(said).toEqual([expect.stringContaining('409')])
  })

  test('is worked by keyboard alone: a SIM is found, suspended, and brought back', async () => {
    const sim = await anActiveSim(harness, harness.tenant, {}, { tag: 'pump 7' })
    const { page } = await open()
    const { keyboard } = page
    const enter = async () => {
      const loaded = page.waitForEvent('load')
      await keyboard.press('Enter')
      await loaded
    }
    /** Goes on to the element with this name, and no further than through the page once. */
    const tabTo = async (name: string) => {
      const focused = () => page.evaluate<string>('document.activeElement.name || document.activeElement.innerText')
      const passed: string[] = []
      while (passed.at(-1) !== name) {
        if (passed.length > 50) throw new Error(`${name} is not among ${passed.join(', ')}`)
        await keyboard.press('Tab')
        passed.push((await focused()).trim())
      }
    }
    const follow = async (...names: string[]) => {
      for (const name of names) {
        await tabTo(name)
        await enter()
      }
    }
    const carryOut = async () => {
      const tickets = (await harness.tenant.ask('GET', '/api/tickets')).body
      const { id } = tickets.find((one: { simId: number; status: number }) => one.simId === sim.id && one.status === 0)
      await inTenant(harness.store, harness.tenant.id, (tx) => endTicket(tx, sim.id, id))
    }

    await page.locator('[autofocus]:focus').waitFor()
    await keyboard.type(harness.operatorKey)
    await enter()
    await follow('Ours')
    await keyboard.press('/')
    await keyboard.type('pump 7')
    await enter()
    await follow('Suspend…', 'Suspend')
    await carryOut()
    await page.getByRole('link', { name: 'Bring back…' }).waitFor()
    await follow('Bring back…', 'Bring back')
    await carryOut()
    await page.getByRole('link', { name: 'Suspend…' }).waitFor()

    expect(await page.locator('h1').textContent()).toContain('Active')
  })

  test('prints what it shows, without what is for clicking', async () => {
    const { page } = await openSignedIn()
    await page.goto(`${tenant}/sims/${simId}`)
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' })

    expect(await page.getByRole('heading').allTextContents()).toContain('Identity')
    expect(await page.getByRole('button').or(page.getByRole('navigation')).count()).toBe(0)
    expect(await page.evaluate('getComputedStyle(document.body).colorScheme')).toBe('light')
  })
})

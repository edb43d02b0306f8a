/** The pages in Chromium: valid, accessible, quiet, and no wider than the window, however they are shown. */
import type { BrowserContextOptions } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { beginBacktest, noteBacktestProgress } from '../../../service/backtests/rows/backtests.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { openSession } from '../../../service/tenants/open-session.ts'
import { inPlatform, inTenant } from '../../../store/tenancy.ts'
import { endTicket, failTicket } from '../../service/harness.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { only, withParams } from '../../service/watchdog/alert-world.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { writeMail } from '../channels/a-mail.ts'
import { anActiveSim, aPool, aSim, useHarness } from '../harness.ts'
import { hasChromium, signIn, useChromium } from './chromium.ts'
import { faultsOf } from './page-faults.ts'
import { aLongReport, askBacktest, doBacktest, loadRules, writeShadowLog } from './rule-trials.ts'

const SUITE = 'the console in a browser'
const harness = useHarness()

describe.runIf(await hasChromium(SUITE))(SUITE, () => {
  const shown = useChromium(harness)
  let simPath: string
  let poolPath: string
  let alertPath: string
  let decisionPath: string
  let silencePath: string
  const ticketPaths: string[] = []
  const bulkPaths: string[] = []
  const orderPaths: string[] = []
  beforeAll(async () => {
    const poolId = await aPool(harness.tenant, { name: 'n'.repeat(50) })
    const { id } = await anActiveSim(harness, harness.tenant, { poolId }, { tag: 'w'.repeat(128) })
    await recordUsage(harness.store, harness.tenant.id, [
      { recordId: 'a', simId: id, at: '2026-11-20T00:00:00Z', bytesDown: 1_234_567_890 },
      { recordId: 'b', simId: id, at: '2026-11-20T12:00:00Z', bytesDown: 1_234_567_890 },
    ])
    await aSim(harness.tenant, { tag: '\u202Eright to left' })
    await aSim(harness.tenant, { tag: 'watt' })
    await harness.tenant.inside('POST', '/internal/addresses', { kind: 'copy', email: `${'c'.repeat(60)}@example.com` })
    await recordUsage(harness.store, harness.tenant.id, [
      { recordId: 'c', simId: id, at: '2026-10-20T00:00:00Z', smsCount: 9 },
    ])
    await harness.tenant.inside('GET', '/internal/cycles/2026-10/plan')
    await recordUsage(harness.store, harness.tenant.id, [
      { recordId: 'd', simId: id, at: '2026-10-21T00:00:00Z', smsCount: 90, bytesUp: 1_234_567_890 },
    ])
    await recordUsage(harness.store, harness.tenant.id, [
      { recordId: 'e', simId: id, at: '2026-09-21T00:00:00Z', smsCount: 1 },
    ])
    await harness.tenant.inside('POST', '/internal/cycles/2026-10/close')
    const leaving = await anActiveSim(harness, harness.tenant, { poolId }, { tag: 'l'.repeat(128) })
    await harness.tenant.ask('POST', `/api/sims/${leaving.id}/queue-unprovision`)
    const tenant = `/t/${harness.tenant.id}`
    simPath = `${tenant}/sims/${id}`
    poolPath = `${tenant}/pools/${poolId}`
    await writeAlerts(harness, harness.tenant, [
      { rule: 'r'.repeat(60), kind: 'sim', id, state: { withheld: ['silenced', 'held', 'nodata', 'mode'] } },
      { rule: 'sim-overage', kind: 'pool', id: poolId, state: { error: 'e'.repeat(300) } },
    ])
    const { body } = await harness.tenant.inside('GET', `/internal/alerts?simId=${id}`)
    alertPath = `${tenant}/alerts/${body.data[0].id}`
    await harness.tenant.inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 0, guardPct: 0 })
    const ask = { rule: 'r'.repeat(60), cycle: '2026-11', poolId, simIds: [id], workflowId: 'w' }
    const { holdId } = (await harness.tenant.inside('POST', '/internal/enforcement/permits', ask)).body
    decisionPath = `${tenant}/decisions/${holdId}`
    for (const isFailed of [true, false]) {
      const ticket = (await harness.tenant.ask('POST', '/api/tickets/refresh', { simId: id })).body.id
      ticketPaths.push(`${tenant}/tickets/${ticket}`)
      const failure = { code: 'carrier_refused', text: 'x'.repeat(300), detail: 'y'.repeat(3000) }
      if (isFailed) await inTenant(harness.store, harness.tenant.id, (tx) => failTicket(tx, ticket, failure))
    }
    const [ids, texts] = [{ ids: [id, 999_999_999] }, { message: 'z'.repeat(1600) }]
    for (const ask of [{ type: 'suspend' }, { type: 'send-sms', ...texts }]) {
      const run = (await harness.tenant.inside('POST', '/internal/bulk-tickets', { ...ask, sims: ids })).body.id
      bulkPaths.push(`${tenant}/bulk/${run}`)
    }
    const types = ['suspend', 'send-sms', 'provision']
    bulkPaths.push(`${tenant}/bulk`, `${bulkPaths[0]}/cancel`)
    bulkPaths.push(...types.flatMap((type) => ['', '&all=true'].map((all) => `${tenant}/bulk/new?type=${type}${all}`)))
    const fees = { simMonthlyFee: 1e6, smsFee: 0.123456, voiceFee: 999_999.123456, overageFeePerGb: 8 }
    const tariff = { displayName: 'v'.repeat(100), description: 'd'.repeat(1000) }
    const fixed = { fixedCapacityGb: 123_456.789, fixedBucketCost: 1e6, ...fees }
    const made = { ...tariff, type: 2, fixedPoolTariff: fixed }
    const tariffId = (await harness.tenant.inside('POST', '/internal/tariffs', made)).body.id
    orderPaths.push(
      `${tenant}/orders`,
      `${tenant}/orders?status=Shipped`,
      `${tenant}/orders/new`,
      `${tenant}/orders/prices`,
    )
    orderPaths.push(`${tenant}/tariffs`, `${tenant}/tariffs/new?type=2`, `${tenant}/tariffs/offer?tariff=${tariffId}`)
    for (const [type, ...steps] of [[1], [1, 'process'], [2, 'process', 'complete'], [1, 'fail']] as const) {
      const words = { shippingCompany: 'o'.repeat(1000), shippingExtraInfo: '\u202E<b>' }
      const order = (await harness.tenant.ask('POST', '/api/orders', { type, quantity: 10, ...words })).body.id
      const step = (name: string) =>
        harness.tenant.inside(
          'POST',
          `/internal/orders/${order}/${name}`,
          name === 'fail' && { reason: 'f'.repeat(500) },
        )
      for (const name of steps) await step(name)
      const payment = { paymentInvoiceId: 'i'.repeat(200), paymentReceiptUrl: `https://${'u'.repeat(1900)}` }
      await harness.tenant.inside('PATCH', `/internal/orders/${order}`, payment)
      orderPaths.push(
        ...['', '/ship', '/complete', '/payment', '/fail'].map((act) => `${tenant}/orders/${order}${act}`),
      )
    }
    const silence = { simId: id, lasts: 'P1D', reason: 'y'.repeat(500) }
    silencePath = `${tenant}/silences/${(await harness.tenant.inside('POST', '/internal/silences', silence)).body.id}`
  })
  /** A page of a new context, and what it should not do: speak in its console, ask others. */
  async function openPage(shownAs: BrowserContextOptions) {
    const context = await shown.browser.newContext(shownAs)
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const said: string[] = []
    page.on('console', (message) => said.push(message.text()))
    page.on('pageerror', ({ message }) => said.push(message))
    page.on('request', (request) => request.url().startsWith(`${shown.url}/`) || said.push(`asked ${request.url()}`))
    await page.goto(shown.url)
    return { page, said }
  }

  const sized = (width: number) => ({ width, height: 800 })
  const SCREENS: readonly (readonly [string, BrowserContextOptions])[] = [
    ['light, 1280 wide', { colorScheme: 'light', viewport: sized(1280) }],
    ['dark, 360 wide', { colorScheme: 'dark', viewport: sized(360) }],
  ]

  test.each(SCREENS)('signs in and shows the overview and SIMs: %s', async (_, shownAs) => {
    const { page, said } = await openPage(shownAs)
    const faults: Record<string, readonly string[]> = {}

    faults['door'] = await faultsOf(page)
    await page.getByLabel('E-mail address').fill('nobody@example.com')
    await page.getByRole('button', { name: 'Mail me a link' }).click()
    faults['code'] = await faultsOf(page)
    await page.goto(shown.url)
    await signIn(page, harness.operatorKey)
    faults['tenants'] = await faultsOf(page)
    await page.goto(`${shown.url}/t/${harness.tenant.id}`)
    faults['overview'] = await faultsOf(page)
    await page.goto(`${shown.url}/t/${harness.tenant.id}/sims`)
    faults['sims'] = await faultsOf(page)
    await page.goto(`${shown.url}${simPath}`)
    faults['sim'] = await faultsOf(page)
    const heading = await page.locator('main h1').textContent()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.goto(`${shown.url}${simPath}`)

    expect({ faults, said }).toEqual({
      faults: { door: [], code: [], tenants: [], overview: [], sims: [], sim: [] },
      said: [],
    })
    expect(heading).toContain('w'.repeat(128))
    expect(await page.getByLabel('API key').isVisible()).toBe(true)
  })

  test.each(SCREENS)('shows pools: %s', async (_, shownAs) => {
    const { page, said } = await openPage(shownAs)
    await signIn(page, harness.operatorKey)
    const faults: string[] = []
    for (const path of [`/t/${harness.tenant.id}/pools`, `${poolPath}/settings`, poolPath]) {
      await page.goto(`${shown.url}${path}`)
      faults.push(...(await faultsOf(page)))
    }
    const largest = await page.getByRole('region', { name: 'Largest SIMs' }).textContent()

    expect({ faults, said }).toEqual({ faults: [], said: [] })
    expect(largest).toContain('w'.repeat(128))
  })

  test.each(SCREENS)('shows backtests and the shadow log: %s', async (_, shownAs) => {
    const { page, said } = await openPage(shownAs)
    await signIn(page, harness.operatorKey)
    const version = await loadRules(harness)
    const path = `/t/${harness.tenant.id}/backtests`
    const ids: number[] = []
    for (const end of [aLongReport(), aLongReport(), `sim/x.json#/${'f'.repeat(300)}`]) {
      ids.push(await askBacktest(harness, { version }))
      await doBacktest(harness, end)
    }
    await writeShadowLog(harness, [{ rule: 'r'.repeat(60), simId: 1, poolId: 1, message: 'm'.repeat(500) }])
    const faults: string[] = []
    const below = ['', '/new', `/${ids[0]}`, `/${ids[1]}?with=${ids[0]}`, `/${ids[2]}`, `/${ids[2]}/delete`]
    const waiting = await askBacktest(harness, { version })
    const begun = await inPlatform(harness.store, beginBacktest)
    await inPlatform(harness.store, async (tx) => begun && noteBacktestProgress(tx, begun, 1_234_567, 50_000_000))
    for (const one of [
      ...[...below, `/${waiting}`].map((one) => `${path}${one}`),
      `/t/${harness.tenant.id}/shadow-log`,
      `/t/${harness.other.id}/shadow-log`,
      `/t/${harness.other.id}/backtests`,
    ]) {
      await page.goto(`${shown.url}${one}`)
      faults.push(...(await faultsOf(page)))
    }
    await harness.operate('DELETE', `/internal/rules/backtests/${waiting}`)
    await page.goto(`${shown.url}${path}/${ids[1]}`)
    await page.getByLabel('Compare with').selectOption(`Version ${version}, backtest ${ids[0]}`)
    await page.getByRole('button', { name: 'Compare' }).click()

    expect({ faults, said }).toEqual({ faults: [], said: [] })
    expect(await page.getByRole('img', { name: 'Would suspend, Before: 123,456' }).first().isVisible()).toBe(true)
  })

  test.each(SCREENS)('shows alerts and tickets, and acts on them: %s', async (_, shownAs) => {
    const { page, said } = await openPage(shownAs)
    await signIn(page, harness.operatorKey)
    const faults: string[] = []
    const paths = [
      `/t/${harness.tenant.id}/alerts`,
      `/t/${harness.tenant.id}/alerts?rule=none`,
      `/t/${harness.tenant.id}/find?q=w`,
      `/t/${harness.tenant.id}/find?q=nowhere`,
      alertPath,
      decisionPath,
      `${decisionPath}/discard`,
      `/t/${harness.tenant.id}/enforcement`,
      `/t/${harness.tenant.id}/enforcement/stop`,
      `/t/${harness.tenant.id}/enforcement/undo?rule=${'r'.repeat(60)}&since=2026-11-01T00:00:00Z`,
      `/t/${harness.tenant.id}/silences`,
      silencePath,
      `${simPath}/history`,
      `${simPath}/suspend`,
      `${simPath}/threshold`,
      `${simPath}/move`,
      `${simPath}/activate`,
      `/t/${harness.tenant.id}/tickets`,
      `/t/${harness.tenant.id}/tickets?simId=${simPath.split('/').at(-1)}&status=1`,
      `/t/${harness.tenant.id}/workflows`,
      `/t/${harness.tenant.id}/workflows?simId=1&cycle=2026-11&state=held`,
      ...ticketPaths,
      ...bulkPaths,
      `${ticketPaths.at(-1)}/cancel`,
      `${alertPath}/acknowledge`,
      `${alertPath}/silence`,
    ]
    for (const path of paths) {
      await page.goto(`${shown.url}${path}`)
      faults.push(...(await faultsOf(page)))
    }
    await page.getByLabel('For how long').selectOption('1 hour')
    await page.getByLabel('Reason').fill('The meter is replaced')
    await page.getByRole('button', { name: 'Silence' }).click()
    faults.push(...(await faultsOf(page)))

    expect({ faults, said }).toEqual({ faults: [], said: [] })
    expect(await page.locator('main').getByRole('status').textContent()).toContain('It is silenced')
    expect(await page.getByText('The meter is replaced').first().isVisible()).toBe(true)
  })

  test.each(SCREENS)(
    'shows the month, alerts, statements and settings of a tenant, also of an empty one: %s',
    async (_, shownAs) => {
      const { page, said } = await openPage(shownAs)
      await signIn(page, harness.operatorKey)
      const faults: string[] = []
      const below = [
        '',
        '?cycle=2026-10',
        '/alerts',
        '/alerts?ended=true',
        '/statements',
        '/settings',
        '/settings/level',
        '/settings/add',
      ]
      for (const path of [
        `/t/${harness.other.id}/my`,
        ...below.map((one) => `/t/${harness.tenant.id}/my${one}`),
        `/t/${harness.tenant.id}/my/settings/remove?address=1`,
      ]) {
        await page.goto(`${shown.url}${path}`)
        faults.push(...(await faultsOf(page)))
      }

      expect({ faults, said }).toEqual({ faults: [], said: [] })
    },
  )

  test.each(SCREENS)('shows rules, and puts a version in force: %s', async (_, shownAs) => {
    const { page, said } = await openPage(shownAs)
    await signIn(page, harness.operatorKey)
    const faults: string[] = []
    const name = `sim-${'o'.repeat(56)}`
    const renamed = (file: string, text: string) =>
      file === 'sim/sim-overage.json' ? [{ file: `sim/${name}.json`, text: text.replace('sim-overage', name) }] : []
    const shipped = await readRuleFiles('')
    const files = [...shipped, ...shipped.flatMap(({ file, text }) => renamed(file, text))]
    const message = withParams({ message: `{{iccid}} ${'m'.repeat(200)}`, stage: 'shadow' })
    const { version } = await activateRules(harness.store, only({ 'sim-overage': message }), 'a'.repeat(100))
    const body = { files, author: 'a'.repeat(100), reason: 'r'.repeat(500) }
    const pushed = (await harness.operate('POST', '/internal/rules/versions', body)).body.version
    const rules = `/t/${harness.tenant.id}/rules`
    const open = async (path: string) => {
      await page.goto(`${shown.url}${path}`)
      faults.push(...(await faultsOf(page)))
    }

    for (const below of ['', '/sim-overage', `/versions/${version}`, `/versions/${pushed}`]) await open(rules + below)
    await page.getByText(`sim/${name}.json`).click()
    faults.push(...(await faultsOf(page)))
    await open(`${rules}/versions/${pushed}/activate`)
    await page.getByLabel('Reason').fill('r'.repeat(500))
    await page.getByRole('button', { name: 'Activate' }).click()
    for (const below of ['', `/${name}`, `/versions/${pushed}`]) await open(rules + below)

    expect({ faults, said }).toEqual({ faults: [], said: [] })
    expect(await page.locator('h1').textContent()).toContain('In force')
  })

  test.each(SCREENS)('shows orders and tariffs, and their forms: %s', async (_, shownAs) => {
    const { page, said } = await openPage(shownAs)
    await signIn(page, harness.operatorKey)
    const faults: string[] = []
    for (const path of orderPaths) {
      await page.goto(`${shown.url}${path}`)
      faults.push(...(await faultsOf(page)))
    }

    expect({ faults, said }).toEqual({ faults: [], said: [] })
  })

  test.each(SCREENS)('shows billing cycles, their plans and statements: %s', async (_, shownAs) => {
    const { page, said } = await openPage(shownAs)
    await signIn(page, harness.operatorKey)
    const faults: string[] = []
    const below = ['', '/2026-11', '/2026-10', '/2026-09', '/2026-09/start', '/2026-09/retry?kind=return']
    for (const path of [`/t/${harness.other.id}/month`, ...below.map((one) => `/t/${harness.tenant.id}/month${one}`)]) {
      await page.goto(`${shown.url}${path}`)
      faults.push(...(await faultsOf(page)))
    }

    expect({ faults, said }).toEqual({ faults: [], said: [] })
  })

  test.each(SCREENS)('shows keys, people, the audit trail and settings, and makes a key: %s', async (_, shownAs) => {
    const { page, said } = await openPage(shownAs)
    const { inside, id } = harness.tenant
    const key = (await inside('POST', '/internal/keys', { name: 'k'.repeat(100), scopes: ['admin', 'billing'] })).body
    await inside('POST', '/internal/keys', { name: '\u202Ebackwards', scopes: ['read'] })
    await inPlatform(harness.store, (tx) =>
      openSession(tx, { id: key.id, tenantId: id }, { userAgent: 'w'.repeat(300) }),
    )
    await signIn(page, harness.operatorKey)
    const faults: string[] = []
    const below = [
      'keys',
      'keys?ended=true',
      `keys/rotate?id=${key.id}`,
      `keys/revoke?id=${key.id}`,
      'people',
      `people/sign-out?keyId=${key.id}`,
      'audit',
      'audit?subject=mail',
      'settings',
      'settings/rename',
      'settings/billing-email',
      'settings/notices',
    ]
    for (const path of [`/t/${harness.other.id}/people`, ...below.map((one) => `/t/${id}/${one}`)]) {
      await page.goto(`${shown.url}${path}`)
      await page.evaluate(`for (const one of document.querySelectorAll('main details')) one.open = true`)
      faults.push(...(await faultsOf(page)))
    }
    await page.goto(`${shown.url}/t/${id}/keys/new`)
    faults.push(...(await faultsOf(page)))
    await page.getByLabel('Name').fill('export')
    await page.getByRole('checkbox', { name: 'Costs' }).check()
    await page.getByRole('button', { name: 'Make it' }).click()
    faults.push(...(await faultsOf(page)))
    const secret = await page.locator('code').first().textContent()
    await page.reload()

    expect({ faults, said: said.filter((one) => !one.includes('409')) }).toEqual({ faults: [], said: [] })
    expect(secret).toMatch(/^sim_[0-9a-f]{12}_[\w-]{43}$/)
    expect(await page.getByRole('alert').textContent()).toContain('shown then')
  })

  test.each(SCREENS)('shows mails, addresses and webhooks: %s', async (_, shownAs) => {
    const { tenant } = harness
    const attempts = [
      ['later', 'x'.repeat(400)],
      ['refused', 'y'.repeat(400)],
    ] as const
    const about = { kind: 'pool', id: 1, label: 'm'.repeat(50) } as const
    const words = {
      subject: 's'.repeat(200),
      text: `${'t'.repeat(400)}\n| a | b |`,
      recipient: `${'r'.repeat(60)}@example.com`,
    }
    const id = encodeURIComponent(await writeMail(harness, tenant, { ...words, attempts, about }))
    const url = `https://ops.meadow.example/${'w'.repeat(1900)}`
    const webhook = (await tenant.inside('POST', '/internal/webhooks', { url, description: 'd'.repeat(200) })).body.id
    const delivery = (await tenant.inside('POST', `/internal/webhooks/${webhook}/test`)).body.id
    const { page, said } = await openPage(shownAs)
    await signIn(page, harness.operatorKey)
    const faults: string[] = []
    for (const path of [
      'mails',
      'mails?alert=999999',
      `mails/${id}`,
      `mails/${id}/retry`,
      'addresses',
      'addresses/add',
      'addresses/remove?address=1',
      'webhooks',
      `webhooks/${webhook}`,
      `webhooks/${webhook}/disable`,
      `webhooks/${webhook}/replay?delivery=${delivery}`,
    ]) {
      await page.goto(`${shown.url}/t/${tenant.id}/${path}`)
      faults.push(...(await faultsOf(page)).map((fault) => `${path}: ${fault}`))
    }
    await tenant.inside('DELETE', `/internal/webhooks/${webhook}`)

    expect({ faults, said }).toEqual({ faults: [], said: [] })
  })

  test('loses nothing in forced colours, with text of 200 %, or enlarged to 200 %', async () => {
    const { page, said } = await openPage({ viewport: sized(1280) })
    await signIn(page, harness.operatorKey)
    const faults: Record<string, string[]> = { forced: [], text: [], enlarged: [] }
    for (const path of [`/t/${harness.tenant.id}`, `/t/${harness.tenant.id}/sims`, simPath, poolPath, alertPath]) {
      await page.goto(`${shown.url}${path}`)
      await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
      faults['forced']?.push(...(await faultsOf(page)))
      await page.emulateMedia({ forcedColors: 'none' })
      await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
      faults['text']?.push(...(await faultsOf(page)))
      await page.evaluate(`document.documentElement.style.fontSize = ''`)
      await page.setViewportSize(sized(640))
      faults['enlarged']?.push(...(await faultsOf(page)))
      await page.setViewportSize(sized(1280))
    }

    expect({ faults, said }).toEqual({ faults: { forced: [], text: [], enlarged: [] }, said: [] })
  })

  test('is worked by keyboard alone: a SIM is found, suspended, and brought back', async () => {
    const sim = await anActiveSim(harness, harness.tenant, {}, { tag: 'pump 7' })
    const { page } = await openPage({ viewport: sized(1280) })
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
    const { page } = await openPage({ colorScheme: 'dark', viewport: sized(1280) })
    await signIn(page, harness.operatorKey)
    await page.goto(`${shown.url}${simPath}`)
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize(sized(700))

    expect(await page.getByRole('heading').allTextContents()).toContain('Identity')
    expect(await page.getByRole('button').or(page.getByRole('navigation')).count()).toBe(0)
    expect(await page.evaluate('getComputedStyle(document.body).colorScheme')).toBe('light')
    expect(await faultsOf(page)).toEqual([])
  })
})

/** Each page in Chromium, with the longest texts: valid, accessible, quiet, and no wider than the window. */
import type { Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { readRuleFolder } from '../../../process/rule-files.ts'
import { beginBacktest, noteBacktestProgress } from '../../../service/backtests/rows/backtests.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { openSession } from '../../../service/tenants/open-session.ts'
import { openBulkTickets } from '../../../service/tickets/open-bulk-tickets.ts'
import { inPlatform, inTenant, type TenantTx } from '../../../store/tenancy.ts'
import { complete, failTicket } from '../../service/harness.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { only, withParams } from '../../service/watchdog/alert-world.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { writeMail } from '../channels/a-mail.ts'
import { anActiveSim, anIccid, aPool, aSim, aTariff, aTenant, useHarness } from '../harness.ts'
import { hasChromium, openPage, signIn, useChromium } from './chromium.ts'
import { faultsAt, faultsInEachWay, shownFaultsOf } from './page-faults.ts'
import { aLongReport, askBacktest, doBacktest, loadRules, writeShadowLog } from './rule-trials.ts'
import { walkConsole } from './walk-console.ts'

const SUITE = 'each page of the console'
const harness = useHarness()

describe.runIf(await hasChromium(SUITE))(SUITE, () => {
  const shown = useChromium(harness)
  let page: Page
  let said: string[]
  let simId: number
  let poolId: number
  const faults: string[] = []
  afterEach(() => {
    expect({ faults: faults.splice(0), said: said.splice(0) }).toEqual({ faults: [], said: [] })
  })
  const inside = (...asked: Parameters<typeof harness.tenant.inside>) => harness.tenant.inside(...asked)
  /** @param paths below the tenant's page */
  async function look(paths: readonly string[], tenantId = harness.tenant.id): Promise<void> {
    for (const path of paths) {
      const found = await faultsAt(page, `${shown.url}/t/${tenantId}${path}`)
      faults.push(...found.map((fault) => `${path}: ${fault}`))
    }
  }
  /** Looks at the page that a form has led to. */
  async function lookHere(): Promise<void> {
    faults.push(...(await faultsInEachWay(page)).map((fault) => `${page.url()}: ${fault}`))
  }

  beforeAll(async () => {
    const { tenant, store } = harness
    const record = (recordId: string, at: string, used: object) =>
      recordUsage(store, tenant.id, [{ recordId, simId, at, ...used }])
    poolId = await aPool(tenant, { name: 'n'.repeat(50) })
    simId = (await anActiveSim(harness, tenant, { poolId }, { tag: 'w'.repeat(128) })).id
    await record('a', '2026-11-20T00:00:00Z', { bytesDown: 1_234_567_890 })
    await record('b', '2026-11-20T12:00:00Z', { bytesDown: 1_234_567_890 })
    await aSim(tenant, { tag: '\u202Eright to left' })
    await inside('POST', '/internal/addresses', { kind: 'copy', email: `${'c'.repeat(60)}@example.com` })
    // The cycle before differs from its plan, and the one before it was not closed.
    await record('c', '2026-10-20T00:00:00Z', { smsCount: 9 })
    await inside('GET', '/internal/cycles/2026-10/plan')
    await record('d', '2026-10-21T00:00:00Z', { smsCount: 90, bytesUp: 1_234_567_890 })
    await record('e', '2026-09-21T00:00:00Z', { smsCount: 1 })
    await inside('POST', '/internal/cycles/2026-10/close')
    const leaving = await anActiveSim(harness, tenant, { poolId }, { tag: 'l'.repeat(128) })
    await tenant.ask('POST', `/api/sims/${leaving.id}/queue-unprovision`)
    const opened = await openPage(shown)
    page = opened.page
    said = opened.said
    const { key } = (await harness.operate('POST', '/internal/keys', { name: 'k', scopes: ['operator', 'esim'] })).body
    await signIn(page, key)
  })

  test('overview, SIMs and pools', async () => {
    faults.push(...(await faultsAt(page, shown.url)))
    await look(['', '/sims', `/sims/${simId}`, `/sims/${simId}/history`])
    await look(['suspend', 'threshold', 'move', 'activate'].map((act) => `/sims/${simId}/${act}`))
    const eSim = await aSim(harness.tenant, {
      type: 1,
      esimQrPayload: `LPA:1$${'rsp.'.repeat(15)}example$${'A'.repeat(60)}`,
    })
    await look([`/sims/${eSim.id}`, `/sims/${eSim.id}/code`])
    await page.getByRole('button', { name: 'Show its activation code' }).click()
    await page.getByAltText('The code').waitFor()
    await lookHere()
    await look(['/pools', `/pools/${poolId}/settings`, `/pools/${poolId}`, '/find?q=w', '/find?q=nowhere'])
    const largest = await page.goto(`${shown.url}/t/${harness.tenant.id}/pools/${poolId}`)
    expect(await largest?.text()).toContain('w'.repeat(128))
  })

  test('alerts, silences and enforcement', async () => {
    const rule = 'r'.repeat(60)
    await writeAlerts(harness, harness.tenant, [
      { rule, kind: 'sim', id: simId, state: { withheld: ['silenced', 'held', 'nodata', 'mode'] } },
      { rule: 'sim-overage', kind: 'pool', id: poolId, state: { error: 'e'.repeat(300) } },
    ])
    const alert = (await inside('GET', `/internal/alerts?simId=${simId}`)).body.data[0].id
    const silence = (await inside('POST', '/internal/silences', { simId, lasts: 'P1D', reason: 'y'.repeat(500) })).body
    await inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 0, guardPct: 0 })
    const ask = { rule, cycle: '2026-11', poolId, simIds: [simId], workflowId: 'w' }
    const { holdId } = (await inside('POST', '/internal/enforcement/permits', ask)).body
    await look(['/alerts', '/alerts?rule=none', '/silences', `/silences/${silence.id}`])
    await look(['', '/acknowledge', '/silence'].map((act) => `/alerts/${alert}${act}`))
    await look([`/decisions/${holdId}`, `/decisions/${holdId}/discard`, '/enforcement', '/enforcement/stop'])
    await look([`/enforcement/undo?rule=${rule}&since=2026-11-01T00:00:00Z`])
  })

  test('tickets, bulk runs and workflows', async () => {
    const tickets: string[] = []
    for (const isFailed of [true, false]) {
      const ticket = (await harness.tenant.ask('POST', '/api/tickets/refresh', { simId })).body.id
      tickets.push(`/tickets/${ticket}`)
      const failure = { code: 'carrier_refused', text: 'x'.repeat(300), detail: 'y'.repeat(3000) }
      if (isFailed) await inTenant(harness.store, harness.tenant.id, (tx) => failTicket(tx, ticket, failure))
    }
    const [ids, texts] = [{ ids: [simId, 999_999_999] }, { message: 'z'.repeat(1600) }]
    const bulk: string[] = []
    for (const ask of [{ type: 'suspend' }, { type: 'send-sms', ...texts }])
      bulk.push(`/bulk/${(await inside('POST', '/internal/bulk-tickets', { ...ask, sims: ids })).body.id}`)
    const types = ['suspend', 'send-sms', 'provision']
    await look(['/tickets', `/tickets?simId=${simId}&status=1`, ...tickets, `${tickets[1]}/cancel`])
    await look(['/bulk', ...bulk, `${bulk[0]}/cancel`])
    await look(types.flatMap((type) => ['', '&all=true'].map((all) => `/bulk/new?type=${type}${all}`)))
    await look(['/workflows', '/workflows?simId=1&cycle=2026-11&state=held'])
  })

  test('rules, before and after a version is put in force', async () => {
    const name = `sim-${'o'.repeat(56)}`
    const shipped = await readRuleFolder('')
    const ofOverage = [...shipped.rules, ...shipped.tests].filter(({ file }) => file.startsWith('sim/sim-overage.'))
    const renamed = ofOverage.map(({ file, text }) => ({
      file: file.replace('sim-overage', name),
      text: text.replaceAll('sim-overage', name).replaceAll('"title": "', `"title": "${'t'.repeat(100)}`),
    }))
    const files = [...shipped.rules, ...renamed]
    const message = withParams({ message: `{{iccid}} ${'m'.repeat(200)}`, stage: 'shadow' })
    const { version } = await activateRules(harness.store, only({ 'sim-overage': message }), 'a'.repeat(100))
    const body = { files, author: 'a'.repeat(100), reason: 'r'.repeat(500) }
    const pushed = (await harness.operate('POST', '/internal/rules/versions', body)).body.version
    await look(['', '/sim-overage', ...[version, pushed].map((n) => `/versions/${n}`)].map((one) => `/rules${one}`))
    await look([`/rules/versions/${pushed}/activate`])
    await harness.operate('POST', `/internal/rules/versions/${pushed}/activate`, { reason: 'r'.repeat(500) })
    await look(['', `/${name}`, `/versions/${pushed}`].map((one) => `/rules${one}`))
  })

  test('backtests and the shadow log', async () => {
    const version = await loadRules(harness)
    const ids: number[] = []
    for (const end of [aLongReport(), aLongReport(), `sim/x.json#/${'f'.repeat(300)}`]) {
      ids.push(await askBacktest(harness, { version }))
      await doBacktest(harness, end)
    }
    await writeShadowLog(harness, [{ rule: 'r'.repeat(60), simId: 1, poolId: 1, message: 'm'.repeat(500) }])
    const waiting = await askBacktest(harness, { version })
    const begun = await inPlatform(harness.store, beginBacktest)
    await inPlatform(harness.store, async (tx) => begun && noteBacktestProgress(tx, begun, 1_234_567, 50_000_000))
    const [first, second, failed] = ids
    const below = [
      '',
      '/new',
      `/${first}`,
      `/${second}?with=${first}`,
      `/${failed}`,
      `/${failed}/delete`,
      `/${waiting}`,
    ]
    await look(below.map((one) => `/backtests${one}`))
    await look(['/shadow-log'])
    await look(['/shadow-log', '/backtests'], harness.other.id)
    await harness.operate('DELETE', `/internal/rules/backtests/${waiting}`)
  })

  test('the month of a billing contact, also of an empty tenant', async () => {
    await look(['/my'], harness.other.id)
    await look(['', '?cycle=2026-10', '/alerts', '/alerts?ended=true', '/statements'].map((one) => `/my${one}`))
    await look(['', '/level', '/add', '/remove?address=1'].map((one) => `/my/settings${one}`))
  })

  test('billing cycles, their plans and statements', async () => {
    await look(['/month'], harness.other.id)
    await look(['', '/2026-11', '/2026-10', '/2026-09'].map((one) => `/month${one}`))
    await look(['/month/2026-09/start', '/month/2026-09/retry?kind=return'])
  })

  test('orders and tariffs', async () => {
    const fees = { simMonthlyFee: 1e6, smsFee: 0.123456, voiceFee: 999_999.123456, overageFeePerGb: 8 }
    const fixed = { fixedCapacityGb: 123_456.789, fixedBucketCost: 1e6, ...fees }
    const words = { displayName: 'v'.repeat(100), description: 'd'.repeat(1000) }
    const tariff = (await inside('POST', '/internal/tariffs', { ...words, type: 2, fixedPoolTariff: fixed })).body.id
    for (const [type, ...steps] of [[1], [1, 'process'], [2, 'process', 'complete'], [1, 'fail']] as const) {
      const shipping = { shippingCompany: 'o'.repeat(1000), shippingExtraInfo: '\u202E<b>' }
      const order = (await harness.tenant.ask('POST', '/api/orders', { type, quantity: 10, ...shipping })).body.id
      for (const step of steps) {
        const body = step === 'fail' && { reason: 'f'.repeat(500) }
        await inside('POST', `/internal/orders/${order}/${step}`, body)
      }
      const payment = { paymentInvoiceId: 'i'.repeat(200), paymentReceiptUrl: `https://${'u'.repeat(1900)}` }
      await inside('PATCH', `/internal/orders/${order}`, payment)
      await look(['', '/ship', '/complete', '/payment', '/fail'].map((act) => `/orders/${order}${act}`))
    }
    await look(['', '?status=Shipped', '/new', '/prices'].map((one) => `/orders${one}`))
    await look(['', '/new?type=2', `/offer?tariff=${tariff}`].map((one) => `/tariffs${one}`))
  })

  test('mails, addresses and webhooks', async () => {
    const { tenant } = harness
    const attempts = [
      ['later', 'x'.repeat(400)],
      ['refused', 'y'.repeat(400)],
    ] as const
    const about = { kind: 'pool', id: 1, label: 'm'.repeat(50) } as const
    const words = { subject: 's'.repeat(200), text: `${'t'.repeat(400)}\n| a | b |` }
    const recipient = `${'r'.repeat(60)}@example.com`
    const mail = encodeURIComponent(await writeMail(harness, tenant, { ...words, recipient, attempts, about }))
    const url = `https://ops.meadow.example/${'w'.repeat(1900)}`
    const webhook = (await inside('POST', '/internal/webhooks', { url, description: 'd'.repeat(200) })).body.id
    const delivery = (await inside('POST', `/internal/webhooks/${webhook}/test`)).body.id
    await look(['/mails', '/mails?alert=999999', `/mails/${mail}`, `/mails/${mail}/retry`])
    await look(['', '/add', '/remove?address=1'].map((one) => `/addresses${one}`))
    await look(['', `/${webhook}`, `/${webhook}/disable`].map((one) => `/webhooks${one}`))
    await look([`/webhooks/${webhook}/replay?delivery=${delivery}`])
  })

  test('keys, people, the audit trail and settings', async () => {
    const { id } = harness.tenant
    const key = (await inside('POST', '/internal/keys', { name: 'k'.repeat(100), scopes: ['admin', 'billing'] })).body
    await inside('POST', '/internal/keys', { name: '\u202Ebackwards', scopes: ['read'] })
    await inPlatform(harness.store, (tx) =>
      openSession(tx, { id: key.id, tenantId: id }, { userAgent: 'w'.repeat(300) }),
    )
    await look(['/people'], harness.other.id)
    await look(['', '?ended=true', `/rotate?id=${key.id}`, `/revoke?id=${key.id}`, '/new'].map((one) => `/keys${one}`))
    await page.getByLabel('Name').fill('export')
    await page.getByRole('checkbox', { name: 'Costs' }).check()
    await page.getByRole('button', { name: 'Make it' }).click()
    await lookHere()
    await look(['/people', `/people/sign-out?keyId=${key.id}`, '/audit', '/audit?subject=mail'])
    await look(['', '/rename', '/billing-email', '/notices'].map((one) => `/settings${one}`))
  })

  test('the worst night: 5,000 alerts, a decision on hundreds of SIMs, and a carrier that refuses them all', async () => {
    await loadRules(harness)
    const tenant = await aTenant(harness, 'N'.repeat(100))
    const asTenant = <T>(run: (tx: TenantTx) => Promise<T>) => inTenant(harness.store, tenant.id, run)
    const pool = await aPool(tenant, { name: 'n'.repeat(50), type: 1, tariffId: await aTariff(tenant, 1) })
    const ids: number[] = []
    while (ids.length < 5000) {
      const sims = Array.from({ length: 1000 }, () => ({ iccid: anIccid(), tag: 'w'.repeat(128) }))
      const { created } = (await tenant.inside('POST', '/internal/sims', { sims })).body
      ids.push(...created.map((one: { id: number }) => one.id))
    }
    const active = ids.slice(0, 300)
    for (const id of active) {
      await asTenant((tx) => complete(tx, { simId: id, type: TicketType.Provision, poolId: pool }))
      await asTenant((tx) => complete(tx, { simId: id, type: TicketType.Activate }))
    }
    const alerts = ids.map((id, n) => ({ rule: `${n % 20}`.padEnd(60, 'r'), kind: 'sim', id }) as const)
    await writeAlerts(harness, tenant, alerts)
    await tenant.inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 0, guardPct: 0 })
    const ask = { rule: 'r'.repeat(60), cycle: '2026-11', poolId: pool, simIds: active, workflowId: 'w' }
    const { holdId } = (await tenant.inside('POST', '/internal/enforcement/permits', ask)).body
    const bulk = (await tenant.inside('POST', '/internal/bulk-tickets', { type: 'refresh', sims: { ids: active } }))
      .body
    await openBulkTickets(harness.store, async () => {}, tenant.id)
    const open = (await tenant.inside('GET', '/internal/tickets?status=0&pageSize=100')).body
    const failure = { code: 'carrier_refused', text: 'x'.repeat(300), detail: 'y'.repeat(3000) }
    for (const { id } of open.data) await asTenant((tx) => failTicket(tx, id, failure))
    await look([`/decisions/${holdId}`, `/bulk/${bulk.id}`, '/find?q=www'], tenant.id)
    const keyOf = async (scope: string) =>
      (await tenant.inside('POST', '/internal/keys', { name: 'k'.repeat(100), scopes: [scope] })).body.key
    for (const [role, least] of Object.entries({ operator: 80, admin: 25, read: 25, billing: 10 })) {
      const key = role === 'operator' ? harness.operatorKey : await keyOf(role)
      const walk = await walkConsole(shown.browser, { url: shown.url, tenantId: tenant.id }, key)
      faults.push(...walk.faults.map((fault) => `${role}: ${fault}`))
      expect({ role, pages: walk.seen.size }).toEqual({ role, pages: expect.toSatisfy((pages) => pages >= least) })
    }

    expect((await tenant.inside('GET', '/internal/alerts?pageSize=1')).body.pagination.totalItems).toBe(5000)
    expect(open.data).toHaveLength(100)
  })

  test('loses nothing in forced colours, with text of 200 %, or enlarged to 200 %', async () => {
    const alert = (await inside('GET', `/internal/alerts?simId=${simId}`)).body.data[0].id
    const lookNow = async (how: string) =>
      faults.push(...(await shownFaultsOf(page)).map((fault) => `${page.url()}, ${how}: ${fault}`))
    for (const path of ['', '/sims', `/sims/${simId}`, `/pools/${poolId}`, `/alerts/${alert}`]) {
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto(`${shown.url}/t/${harness.tenant.id}${path}`)
      await page.emulateMedia({ media: 'screen', forcedColors: 'active', reducedMotion: 'reduce' })
      await lookNow('forced colours')
      await page.emulateMedia({ forcedColors: 'none' })
      await page.evaluate(`document.documentElement.style.fontSize = '200%'`)
      await lookNow('text of 200 %')
      await page.evaluate(`document.documentElement.style.fontSize = ''`)
      await page.setViewportSize({ width: 640, height: 800 })
      await lookNow('enlarged')
    }
  })
})

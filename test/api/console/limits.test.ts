/** The most that a page may cost, and the most source that the console may have. */
import { glob, readFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { ASSETS } from '../../../console/parts/asset.ts'
import { TicketType } from '../../../domain/codes.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { openSession } from '../../../service/tenants/open-session.ts'
import { openTicket } from '../../../service/tickets/open-ticket.ts'
import { inPlatform, inTenant } from '../../../store/tenancy.ts'
import { endTicket } from '../../service/harness.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { asShipped, only } from '../../service/watchdog/alert-world.ts'
import { ownStatementsIn } from '../../setup/count-statements.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { writeMail } from '../channels/a-mail.ts'
import { anActiveSim, aPool, aTariff, NOON, type Tenant, times, useHarness } from '../harness.ts'
import { useConsole } from './form-browser.ts'
import { aLongReport, askBacktest, doBacktest, writeShadowLog } from './rule-trials.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => NOON })

/** The pages of a SIM and a pool explain all their rules, which takes 13. The first look at a month adds its cost up. */
const MOST_STATEMENTS: Readonly<Record<string, number>> = { SIM: 40, Pool: 35, Month: 35, Closed: 35, Plan: 35 }

/** Suspends a SIM in the name of a rule. */
async function suspend(rule: string, simId: number): Promise<void> {
  const cause = { by: 'watchdog', rule, cycle: '2026-11', until: 'renewal', workflowId: 'w' } as const
  await inTenant(harness.store, harness.tenant.id, async (tx) =>
    endTicket(tx, simId, await openTicket(tx, { simId, type: TicketType.Suspend, cause })),
  )
}

const aKey = async (tenant: Tenant) =>
  (await tenant.inside('POST', '/internal/keys', { name: 'n'.repeat(100), scopes: ['admin', 'billing'] })).body

describe('a page takes at most 10 calls, 30 statements and 120 kB:', () => {
  const paths: Record<string, string> = {}
  beforeAll(async () => {
    const { tenant } = harness
    const files = await readRuleFiles('')
    const pushed = (await harness.operate('POST', '/internal/rules/versions', { files })).body.version
    await activateRules(harness.store, only({ 'sim-overage': asShipped }), 'the tests')
    const tariffId = await aTariff(tenant)
    const poolId = await aPool(tenant, { tariffId })
    await times(60, () => aPool(tenant, { name: 'n'.repeat(50), tariffId }))
    const sims = await times(60, () => anActiveSim(harness, tenant, { poolId }, { tag: 'n'.repeat(128) }))
    await writeAlerts(
      harness,
      tenant,
      sims.map(({ id }) => ({ rule: 'sim-overage', kind: 'sim', id })),
    )
    const { body } = await tenant.inside('GET', '/internal/alerts')
    const path = `/t/${tenant.id}`
    const ticket = (await tenant.ask('POST', '/api/tickets/refresh', { simId: sims[0]?.id })).body.id
    await tenant.inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 0, guardPct: 0 })
    const simIds = sims.map(({ id }) => id)
    const ask = { rule: 'sim-overage', cycle: '2026-11', poolId, simIds, workflowId: 'w' }
    const { holdId } = (await tenant.inside('POST', '/internal/enforcement/permits', ask)).body
    const [sim, alert] = [`${path}/sims/${sims[0]?.id}`, `${path}/alerts/${body.data[0].id}`]
    Object.assign(paths, {
      Tenants: '/?search=',
      Overview: path,
      SIMs: `${path}/sims`,
      Pools: `${path}/pools`,
      Alerts: `${path}/alerts`,
      Find: `${path}/find?q=n`,
    })
    Object.assign(paths, {
      SIM: sim,
      History: `${sim}/history`,
      Alert: alert,
      Pool: `${path}/pools/${poolId}`,
      Decision: `${path}/decisions/${holdId}`,
      Suspend: `${sim}/suspend`,
      Settings: `${path}/pools/${poolId}/settings`,
      Silence: `${alert}/silence`,
      Enforcement: `${path}/enforcement`,
      Undo: `${path}/enforcement/undo?rule=sim-overage&since=2026-11-01T00:00:00Z`,
      Silences: `${path}/silences`,
      Rules: `${path}/rules`,
      Rule: `${path}/rules/sim-overage`,
      Version: `${path}/rules/versions/${pushed}`,
      Activate: `${path}/rules/versions/${pushed}/activate`,
      Tickets: `${path}/tickets`,
      Workflows: `${path}/workflows`,
      Ticket: `${path}/tickets/${ticket}`,
      Cancel: `${path}/tickets/${ticket}/cancel`,
    })
    for (const rule of ['sim-overage', 'pool-overage', 'other']) await suspend(rule, sims.pop()?.id ?? 0)
    for (const month of [4, 5, 6, 7, 8, 9, 10].map((n) => `2026-${String(n).padStart(2, '0')}`)) {
      await recordUsage(harness.store, tenant.id, [
        { recordId: month, simId: sims[0]?.id, at: `${month}-02T00:00:00Z` },
      ])
      await tenant.inside('POST', `/internal/cycles/${month}/close`)
    }
    await times(60, () => aTariff(tenant, 2))
    await times(60, () => tenant.ask('POST', '/api/orders', { type: 1, quantity: 1, shippingLine1: '2 Lane' }))
    const order = (await tenant.ask('POST', '/api/orders', { type: 2, quantity: 60 })).body.id
    for (const step of ['process', 'complete']) await tenant.inside('POST', `/internal/orders/${order}/${step}`)
    Object.assign(paths, {
      Orders: `${path}/orders`,
      Order: `${path}/orders/${order}`,
      Tariffs: `${path}/tariffs`,
    })
    const mail = await writeMail(harness, tenant, {
      text: 'n'.repeat(60_000),
      attempts: Array.from({ length: 50 }, () => ['later', 'n'.repeat(1000)] as const),
    })
    await times(60, () =>
      writeMail(harness, tenant, { subject: 'n'.repeat(200), attempts: [['gone', 'n'.repeat(500)]] }),
    )
    const webhook = (
      await tenant.inside('POST', '/internal/webhooks', { url: `https://ops.meadow.example/${'n'.repeat(1900)}` })
    ).body.id
    await times(60, () => tenant.inside('POST', `/internal/webhooks/${webhook}/test`))
    Object.assign(paths, {
      Post: `${path}/mails`,
      Mail: `${path}/mails/${encodeURIComponent(mail)}`,
      Addresses: `${path}/addresses`,
      Webhooks: `${path}/webhooks`,
      Webhook: `${path}/webhooks/${webhook}`,
    })
    Object.assign(paths, { Month: `${path}/my`, Closed: `${path}/my?cycle=2026-10` })
    const month = `${path}/month`
    Object.assign(paths, {
      Cycles: month,
      Plan: `${month}/2026-11`,
      Stated: `${month}/2026-10`,
      End: `${month}/2026-11/start`,
    })
    Object.assign(paths, {
      Statements: `${path}/my/statements`,
      Mails: `${path}/my/settings`,
      Told: `${path}/my/alerts`,
    })
    const { id: keyId } = (await times(60, () => aKey(tenant)))[0]
    const userAgent = 'n'.repeat(300)
    await inPlatform(harness.store, (tx) =>
      times(60, () => openSession(tx, { id: keyId, tenantId: tenant.id }, { userAgent })),
    )
    Object.assign(paths, {
      Keys: `${path}/keys`,
      People: `${path}/people`,
      Audit: `${path}/audit`,
      Tenant: `${path}/settings`,
      Revoke: `${path}/keys/revoke?id=${keyId}`,
      'Sign out': `${path}/people/sign-out?keyId=${keyId}`,
    })
    const many = simIds.slice(0, 50)
    const run = (await tenant.inside('POST', '/internal/bulk-tickets', { type: 'suspend', sims: { ids: many } })).body
      .id
    Object.assign(paths, {
      Runs: `${path}/bulk`,
      Run: `${path}/bulk/${run}`,
      Ticked: `${path}/bulk/new?type=activate&${many.map((id) => `id=${id}`).join('&')}`,
      Matching: `${path}/bulk/new?type=provision&all=true&poolId=${poolId}`,
    })
    const backtests = await times(2, () => askBacktest(harness))
    for (const _ of backtests) await doBacktest(harness, aLongReport())
    const shadow = { rule: 'r'.repeat(60), simId: 1, poolId }
    await writeShadowLog(
      harness,
      sims.map(({ id }) => ({ ...shadow, message: `${id}`.padEnd(500, 'm') })),
    )
    Object.assign(paths, {
      Backtests: `${path}/backtests`,
      Backtest: `${path}/backtests/${backtests[0]}`,
      Compared: `${path}/backtests/${backtests[1]}?with=${backtests[0]}`,
      Replay: `${path}/backtests/new`,
      Shadow: `${path}/shadow-log`,
    })
  })

  test.each([
    'Tenants',
    'Overview',
    'SIMs',
    'SIM',
    'Pools',
    'Pool',
    'Alerts',
    'Alert',
    'Decision',
    'Find',
    'History',
    'Suspend',
    'Enforcement',
    'Undo',
    'Silence',
    'Silences',
    'Rules',
    'Rule',
    'Version',
    'Activate',
    'Tickets',
    'Workflows',
    'Ticket',
    'Cancel',
    'Runs',
    'Run',
    'Ticked',
    'Matching',
    'Orders',
    'Order',
    'Tariffs',
    'Month',
    'Closed',
    'Statements',
    'Mails',
    'Told',
    'Backtests',
    'Backtest',
    'Compared',
    'Replay',
    'Shadow',
    'Cycles',
    'Plan',
    'Stated',
    'End',
    'Keys',
    'People',
    'Audit',
    'Tenant',
    'Revoke',
    'Sign out',
    'Post',
    'Mail',
    'Addresses',
    'Webhooks',
    'Webhook',
  ])('%s', async (name) => {
    const browser = await pages.signedIn(harness.operatorKey)
    const spies = [harness.outside, harness.inside].map((listener) => vi.spyOn(listener, 'inject'))
    let page = { status: 0, body: '' }
    const statements = await ownStatementsIn(async () => {
      page = await browser.get(paths[name] ?? '')
    })
    const calls = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0)
    for (const spy of spies) spy.mockRestore()

    expect(page.status).toBe(200)
    expect(calls).toBeGreaterThan(0)
    expect(calls).toBeLessThanOrEqual(10)
    expect(statements.length).toBeGreaterThan(0)
    expect(statements.length).toBeLessThanOrEqual(MOST_STATEMENTS[name] ?? 30)
    expect(page.body.length).toBeLessThan(120_000)
  })
})

describe('the console has at most', () => {
  test.each([
    ['10,500 lines of TypeScript', 'console/**/*.ts', /\n/g, 10_500],
    ['200 lines of scripts', 'console/**/*.js', /\n/g, 200],
    ['24 kB of style', 'console/**/*.css', /[^]/g, 24_000],
  ])('%s', async (_, files, unit, most) => {
    let units = 0
    for await (const file of glob(files)) units += (await readFile(file, 'utf8')).match(unit)?.length ?? 0
    expect(units).toBeGreaterThan(0)
    expect(units).toBeLessThanOrEqual(most)
  })

  test('80 kB to load, compressed', () => {
    const all = ASSETS.reduce((sum, { bytes }) => sum + gzipSync(bytes).length, 0)
    expect(all).toBeLessThanOrEqual(80_000)
  })
})

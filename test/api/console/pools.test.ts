/** The pages of pools, as a browser without scripts gets them. */
import { beforeAll, describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { complete } from '../../service/harness.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { asShipped, only } from '../../service/watchdog/alert-world.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, aPool, aTariff, aTenant, NOON, times, useHarness } from '../harness.ts'
import { escaped, fieldIn, idsIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => NOON })
const operator = () => pages.signedIn(harness.operatorKey)
const owner = () => pages.signedIn(harness.tenant.key)
const poolsOf = (tenant = harness.tenant) => `/t/${tenant.id}/pools`
const textOf = (body: string) => body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
const GB = 1_000_000_000

/** A pool of two active SIMs, over its capacity of 1 GB. */
let poolId: number
let simIds: number[]
let alertId: number
const path = () => `${poolsOf()}/${poolId}`

beforeAll(async () => {
  const { tenant, store } = harness
  await activateRules(store, only({ 'pool-overage': asShipped }), 'the tests')
  const settings = { watchdogMode: 2, warningThresholdPct: 80, enableBurnRateAlerts: true }
  poolId = await aPool(tenant, { name: 'Meters north', type: 1, tariffId: await aTariff(tenant, 1), ...settings })
  const sims = await times(2, () => anActiveSim(harness, tenant, { poolId }, { tag: 'meter' }))
  simIds = sims.map(({ id }) => id)
  const elsewhere = await anActiveSim(harness, tenant, { poolId: await aPool(tenant) })
  await recordUsage(
    store,
    tenant.id,
    [...simIds, elsewhere.id].map((simId, n) => ({
      recordId: `p${n}`,
      simId,
      at: '2026-11-20T12:00:00Z',
      bytesDown: (n + 0.5) * GB,
    })),
  )
  await writeAlerts(harness, tenant, [
    { rule: 'pool-overage', kind: 'pool', id: poolId },
    { rule: 'sim-overage', kind: 'sim', id: simIds[0] ?? 0 },
  ])
  const { body } = await tenant.inside('GET', `/internal/alerts?poolId=${poolId}`)
  alertId = body.data[0].id
})

describe('the pools', () => {
  test('are listed to a key of the tenant, with usage and mode', async () => {
    const browser = await owner()
    const { status, body } = await browser.get(poolsOf())
    const [row = ''] = body.split('<tr id="').filter((one) => one.startsWith(`pool-${poolId}"`))

    expect(status).toBe(200)
    expect(linksIn(row)).toContain(path())
    expect(textOf(row)).toContain('Meters north Dynamic pool, 2 of 2 SIMs active Enforce 200 % 2 of 1 GB over')
    expect(row).toContain('aria-label="2 of 1 GB"')
    expect(linksIn((await browser.get(`/t/${harness.tenant.id}`)).body)).toEqual(
      expect.arrayContaining([poolsOf(), path()]),
    )
  })

  test('are walked by cursor', async () => {
    const tenant = await aTenant(harness, 'Walked')
    const tariffId = await aTariff(tenant)
    const pools = await times(110, () => aPool(tenant, { tariffId }))
    const browser = await operator()
    const seen: number[][] = []
    let next: string | undefined = poolsOf(tenant)
    while (next !== undefined) {
      const { body } = await browser.get(next)
      seen.push(idsIn(body, 'pool'))
      expect(body).toContain('110 pools')
      next = linksIn(body).find((href) => href?.includes('cursor='))
    }

    expect(seen.flat()).toEqual(pools)
    expect(seen.map(({ length }) => length)).toEqual([50, 50, 10])
  })

  test('that are not there yet name the request that makes one', async () => {
    const tenant = await aTenant(harness, 'Empty')
    const { body } = await (await operator()).get(poolsOf(tenant))

    expect(body).toContain('<code>POST /api/pools</code> makes one.')
  })

  test.each([
    ['another tenant', () => poolsOf(harness.other), 403],
    ['a cursor of another list', () => `${poolsOf()}?cursor=s0`, 400],
    ['an unknown pool', () => `${poolsOf()}/99999`, 404],
    ['no pool at all', () => `${poolsOf()}/north`, 400],
  ])('are refused on a page about %s', async (_, url, status) => {
    expect((await (await owner()).get(url())).status).toBe(status)
  })
})

describe('a pool', () => {
  test('shows an operator its state, usage, largest SIMs, rules and settings', async () => {
    const { status, body } = await (await operator()).get(path())
    const text = textOf(body)

    expect(status).toBe(200)
    expect(body).toContain('<bdi>Meters north</bdi>')
    expect(linksIn(body)).toEqual(
      expect.arrayContaining([
        `/t/${harness.tenant.id}/alerts/${alertId}`,
        `/t/${harness.tenant.id}/sims?poolId=${poolId}`,
      ]),
    )
    expect(body).not.toContain('<bdi>sim-overage</bdi>')
    expect(body).toContain('<title>20 Nov: 2 GB</title>')
    expect(idsIn(body, 'sim')).toEqual(simIds.toReversed())
    for (const words of [
      '1.5 GB 75 %',
      '500 MB 25 %',
      'Used 2 of 1 GB',
      'Overage 1 GB, over',
      'Tariff Tariff of type 1 , Dynamic Pool',
      'Capacity shared by its SIMs',
      'Watchdog Enforce: it logs, mails and suspends',
      'Enforcement on',
      'Warns at 80 %',
      'Burn rate alerts',
      'pool-overage ends if overageMB falls by 1 GB to 0 MB firing',
    ])
      expect(text).toContain(words)
    expect(body).not.toContain('annot be read')
    expect(body).not.toMatch(/<script(?! src=)|\sstyle=|\son\w+=/i)
  })

  test('says who is over, is suspended, or has left, and that enforcement is stopped', async () => {
    const { tenant, store } = harness
    const id = await aPool(tenant)
    const [over, left, idle] = await times(3, () => anActiveSim(harness, tenant, { poolId: id }))
    const use = (simId: number, gb: number) => ({
      recordId: `u${simId}`,
      simId,
      at: '2026-11-20T12:00:00Z',
      bytesDown: gb * GB,
    })
    await recordUsage(store, tenant.id, [use(over?.id ?? 0, 1.5), use(left?.id ?? 0, 0.5)])
    await inTenant(store, tenant.id, async (tx) => {
      await complete(tx, { simId: over?.id ?? 0, type: TicketType.Suspend })
      await complete(tx, { simId: left?.id ?? 0, type: TicketType.Provision, unassign: true })
    })
    const enforce = (enabled: boolean) => tenant.inside('PATCH', '/internal/tenant/enforcement', { enabled })
    await enforce(false)
    const { body } = await (await operator()).get(`${poolsOf()}/${id}`)
    await enforce(true)
    const text = textOf(body)

    expect(idsIn(body, 'sim')).toEqual([over?.id, left?.id])
    expect(idsIn(body, 'sim')).not.toContain(idle?.id)
    expect(linksIn(body)).toContain(`/t/${tenant.id}/sims?poolId=${id}&status=2`)
    for (const words of [
      'Overage 500 MB, some SIMs over',
      'Suspended 1 SIM',
      '500 MB 25 % left the pool',
      'each SIM has its own limit',
      'Enforcement stopped: no SIM is suspended',
    ])
      expect(text).toContain(words)
  })

  test('shows a key of the tenant no more than it may see', async () => {
    const { status, body } = await (await owner()).get(path())

    expect(status).toBe(200)
    for (const id of ['usage', 'log', 'cycle', 'settings']) expect(body).toContain(`id="${id}"`)
    for (const id of ['alerts', 'largest', 'rules']) expect(body).not.toContain(`id="${id}"`)
    expect(textOf(body)).not.toContain('Enforcement')
    expect(body).not.toContain('annot be read')
  })

  test('shows the words of others as text', async () => {
    const browser = await operator()
    const id = await aPool(harness.tenant)
    let shown = 0
    for (const name of HOSTILE_NAMES) {
      const set = await harness.tenant.ask('PUT', `/api/pools/${id}`, { name, watchdogMode: 1 })
      if (set.status !== 200) continue
      shown += 1
      const answers = [await browser.get(`${poolsOf()}/${id}`), await browser.get(poolsOf())]
      for (const { body } of answers) expect(body).toContain(`<bdi>${escaped(name)}</bdi>`)
    }

    expect(shown).toBeGreaterThan(8)
  })

  test('names a part that cannot be read', async () => {
    const { schema } = harness.root
    await schema.alterTable('usage_ledger').renameTo('usage_ledger_away').execute()
    try {
      const { status, body } = await (await operator()).get(path())
      const [, largest = ''] = body.split('id="largest"')

      expect(status).toBe(200)
      expect(largest.split('</section>')[0]).toContain('Cannot be read:')
      expect(textOf(body)).toContain('Used 2 of 1 GB')
    } finally {
      await schema.alterTable('usage_ledger_away').renameTo('usage_ledger').execute()
    }
  })

  test.each([
    ['the SIMs', () => `sims?poolId=${poolId}`],
    ['a SIM', () => `sims/${simIds[0]}`],
    ['the alerts', () => 'alerts'],
    ['an alert', () => `alerts/${alertId}`],
    ['the overview', () => ''],
  ])('is led to from %s', async (_, below) => {
    const { body } = await (await operator()).get(`/t/${harness.tenant.id}/${below()}`.replace(/\/$/, ''))

    expect(linksIn(body)).toContain(path())
    expect(body).toContain(`<a href="${path()}"><bdi>Meters north</bdi></a>`)
  })
})

describe('the settings of a pool', () => {
  const stateOf = async (id: number) => (await harness.tenant.ask('GET', `/api/pools/${id}`)).body
  const events = async () => (await harness.tenant.ask('GET', '/api/events?searchTerm=watchdog changed')).body.data

  /** A pool with settings, and the form to change them. */
  async function formOf(browser: Awaited<ReturnType<typeof operator>>) {
    const id = await aPool(harness.tenant, { name: 'Before', warningThresholdPct: 80 })
    const url = `${poolsOf()}/${id}/settings`
    const sent = { name: 'Before', mode: '1', threshold: '80', burnRate: 'false' }
    const read = async (body: string) => ({
      ...sent,
      key: fieldIn(body, 'key'),
      seen: fieldIn(body, 'seen').replaceAll('&quot;', '"'),
    })
    const { body } = await browser.get(url)
    const fields = await read(body)
    const send = (more: Record<string, string>, from = fields) => browser.post(url, { ...from, ...more })
    return { id, body, send, read }
  }

  test('are changed once by a form, however often it is sent', async () => {
    const browser = await owner()
    const { id, body, send } = await formOf(browser)
    const before = (await events()).length
    const wish = { name: 'After', mode: '2', threshold: '', burnRate: 'true' }
    const answers = [await send(wish), await send(wish)]
    const after = await browser.get(String(answers[0]?.headers['location']), OWN)

    expect(body).toContain('value="Before"')
    expect(body).toContain('value="80"')
    expect(answers.map(({ status, headers }) => [status, headers['location']])).toEqual(
      Array(2).fill([303, `${poolsOf()}/${id}?done=settings`]),
    )
    expect(await stateOf(id)).toMatchObject({
      name: 'After',
      watchdogMode: 2,
      warningThresholdPct: null,
      enableBurnRateAlerts: true,
    })
    expect(await events()).toHaveLength(before + 1)
    expect(after.body).toContain('The settings are changed')
  })

  test('that are not sent stay as they are', async () => {
    const { id, send } = await formOf(await owner())
    await send({ name: 'Renamed' })

    expect(await stateOf(id)).toMatchObject({
      name: 'Renamed',
      watchdogMode: 1,
      warningThresholdPct: 80,
      enableBurnRateAlerts: null,
    })
  })

  test('are not changed unseen: the form shows what another person has set', async () => {
    const { id, send, read } = await formOf(await owner())
    await harness.tenant.ask('PUT', `/api/pools/${id}`, { name: 'Theirs', watchdogMode: 0 })
    const refused = await send({ name: 'Ours' })
    const unseen = await send({ name: 'Ours', seen: '' })
    const kept = await stateOf(id)
    const again = await send({ name: 'Ours' }, await read(refused.body))

    expect([refused.status, unseen.status, again.status]).toEqual([412, 412, 303])
    expect(kept).toMatchObject({ name: 'Theirs', watchdogMode: 0 })
    expect(textOf(refused.body)).toContain('It has changed in the meantime.')
    expect(refused.body).toContain('<dd><bdi>Theirs</bdi></dd>')
    expect(refused.body).toContain('value="Ours"')
    expect(await stateOf(id)).toMatchObject({ name: 'Ours', watchdogMode: 1 })
  })

  test.each([
    ['a threshold beyond 100 %', { threshold: '101' }],
    ['a threshold that is no number', { threshold: 'much' }],
    ['a name that is too short', { name: 'x' }],
  ])('are refused with %s', async (_, wrong) => {
    const { id, send } = await formOf(await owner())
    const refused = await send(wrong)

    expect(refused.status).toBe(400)
    expect(refused.body).toContain('role="alert"')
    expect(await stateOf(id)).toMatchObject({ name: 'Before', warningThresholdPct: 80 })
  })
})

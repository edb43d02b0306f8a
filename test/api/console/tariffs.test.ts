/** The page of tariffs: whose they are, what they cost, a new one, and whether it is offered. */
import { beforeEach, expect, test } from 'vitest'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { aTariff, aTenant, times, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const path = (tenant = harness.tenant) => `/t/${tenant.id}/tariffs`
const textOf = (body: string) =>
  body
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
const rowsIn = (body: string) =>
  Object.fromEntries(
    body
      .split('<tr id="tariff-')
      .slice(1)
      .map((row) => [Number(row.split('"')[0]), row.split('</tr>')[0] ?? '']),
  )
const FEES = { simMonthlyFee: 0.9, smsFee: 0.04, voiceFee: 0.115, overageFeePerGb: 8 }
const terms = (words: object) => ({ type: 0, standardTariff: { baseTariffGb: 0.1, ...FEES }, ...words })
const tariffs = async (tenant = harness.tenant) => (await tenant.ask('GET', '/api/tariffs')).body

test('tariffs are shown with their terms and their owner, the offered ones first', async () => {
  const tenant = await aTenant(harness, 'Listed')
  const fixed = { fixedCapacityGb: 5, fixedBucketCost: 40, ...FEES }
  const made = async (ask: typeof tenant.inside, body: object) => (await ask('POST', '/internal/tariffs', body)).body.id
  const withdrawn = await made(tenant.inside, terms({ displayName: 'Old' }))
  await tenant.inside('PATCH', `/internal/tariffs/${withdrawn}`, { isActive: false })
  const shared = await made(harness.operate, terms({ displayName: 'For all', description: 'Readings' }))
  const own = await made(tenant.inside, { displayName: 'Own', type: 2, fixedPoolTariff: fixed })
  const { body } = await browser.get(path(tenant))
  const rows = rowsIn(body)
  const asReader = await (await pages.signedIn(tenant.key)).get(path(tenant))

  expect(Object.keys(rows).map(Number)).toEqual(expect.arrayContaining([withdrawn, shared, own]))
  expect([...body.matchAll(/id="tariff-(\d+)"/g)].map(([, id]) => Number(id)).at(-1)).toBe(withdrawn)
  expect(textOf(`<${rows[shared]}`)).toContain(
    "For all Standard Readings 100 MB a SIM EUR 0.90 a SIM EUR 8.00 EUR 0.04 EUR 0.115 a minute of voice Offered the platform's",
  )
  expect(textOf(`<${rows[own]}`)).toContain('Own Fixed Pool 5 GB a pool EUR 0.90 a SIM EUR 40.00 a pool')
  expect(linksIn(rows[own] ?? '')).toEqual([`${path(tenant)}/offer?tariff=${own}`])
  expect(textOf(`<${rows[withdrawn]}`)).toContain('Withdrawn Offer again…')
  expect(asReader.status).toBe(200)
  expect(linksIn(asReader.body).filter((href) => href?.startsWith(`${path(tenant)}/`))).toEqual([])
  expect(asReader.body).not.toContain('<small>the platform')
})

test('tariffs come in pages, and none says what makes one', async () => {
  const [many, none] = [await aTenant(harness, 'Many'), await aTenant(harness, 'None')]
  await times(51, () => aTariff(many))
  const first = (await browser.get(path(many))).body
  const second = (await browser.get(`${path(many)}?page=2`)).body
  const ids = [first, second].flatMap((body) => Object.keys(rowsIn(body)).map(Number))

  expect(Object.keys(rowsIn(first))).toHaveLength(50)
  expect(ids.toSorted((a, b) => a - b)).toEqual((await tariffs(many)).map(({ id }: { id: number }) => id))
  expect(linksIn(first)).toContain(`${path(many)}?page=2`)
  expect(textOf((await browser.get(`${path(none)}?page=9`)).body)).toContain('New tariff makes one.')
})

test('names of tariffs are text', async () => {
  let shown = 0
  for (const displayName of HOSTILE_NAMES) {
    const { status } = await harness.tenant.inside('POST', '/internal/tariffs', terms({ displayName }))
    if (status !== 201) continue
    shown += 1
    expect((await browser.get(path())).body).toContain(`<th scope="row"><bdi>${escaped(displayName)}</bdi>`)
  }
  expect(shown).toBeGreaterThan(5)
})

const typed = {
  name: 'Meters',
  description: 'Daily',
  simMonthlyFee: '0.9',
  smsFee: '0',
  voiceFee: '0',
  overageFeePerGb: '8.5',
}

test.each([
  ['0', { baseTariffGb: '0.25' }, 'standardTariff', { baseTariffBytes: 250_000_000, overageFeePerGb: 8.5 }],
  ['1', { baseTariffGb: '1' }, 'dynamicPoolTariff', { baseTariffBytes: 1_000_000_000, simMonthlyFee: 0.9 }],
  [
    '2',
    { fixedCapacityGb: '5', fixedBucketCost: '40' },
    'fixedPoolTariff',
    { fixedCapacityBytes: 5e9, fixedBucketCost: 40 },
  ],
])('a tariff of type %s is made once, by the fields of its type', async (type, own, block, stored) => {
  const tenant = await aTenant(harness, `Makes ${type}`)
  const before = await tariffs(tenant)
  const { body } = await browser.get(`${path(tenant)}/new?type=${type}`)
  const form = { key: fieldIn(body, 'key'), type, ...typed, ...own }
  const sent = [await browser.post(`${path(tenant)}/new`, form), await browser.post(`${path(tenant)}/new`, form)]
  const made = (await tariffs(tenant)).slice(before.length)
  const after = await browser.get(String(sent[0]?.headers['location']), OWN)

  for (const name of Object.keys({ ...typed, ...own })) expect(body).toContain(`name="${name}"`)
  expect(textOf(body)).toContain('Fees In EUR.')
  expect(linksIn(body).filter((href) => href?.startsWith('new?'))).toHaveLength(2)
  expect(sent.map(({ status }) => status)).toEqual([303, 303])
  expect(made).toHaveLength(1)
  expect(made[0]).toMatchObject({ displayName: 'Meters', description: 'Daily', isActive: true, [block]: stored })
  expect(after.body).toContain('It is made, and offered.')
})

test.each([
  ['a fee that is none', { smsFee: 'cheap' }],
  ['no name', { name: '' }],
  ['no data', { baseTariffGb: '' }],
  ['more data than there is', { baseTariffGb: '100000' }],
])('a tariff with %s is refused, and the form keeps what was typed', async (_, wrong) => {
  const before = await tariffs()
  const fields = { key: crypto.randomUUID(), type: '1', ...typed, baseTariffGb: '1', ...wrong }
  const { status, body } = await browser.post(`${path()}/new`, fields)

  expect(status).toBe(400)
  expect(body).toContain('role="alert"')
  expect(body).toContain('Make a Dynamic Pool tariff?')
  expect(body).toContain('value="8.5"')
  expect(await tariffs()).toEqual(before)
})

test('an own tariff is withdrawn and offered again, each once; one of the platform is not', async () => {
  const id = await aTariff(harness.tenant)
  const shared = (await harness.operate('POST', '/internal/tariffs', terms({ displayName: 'Shared' }))).body.id
  const url = `${path()}/offer`
  const isActive = async () => (await harness.tenant.ask('GET', `/api/tariffs/${id}`)).body.isActive
  const send = async () => {
    const { body } = await browser.get(`${url}?tariff=${id}`)
    const form = { key: fieldIn(body, 'key'), tariff: fieldIn(body, 'tariff'), isActive: fieldIn(body, 'isActive') }
    const sent = [await browser.post(url, form), await browser.post(url, form)]
    return [textOf(body), ...sent.map(({ headers }) => headers['location']), await isActive()]
  }
  const done = `${url.replace('/offer', '')}?done=offer`

  expect(await send()).toEqual([expect.stringContaining('Those that have it keep it.'), done, done, false])
  expect(await send()).toEqual([expect.stringContaining('Taken back By Withdraw , in the list.'), done, done, true])
  expect((await browser.get(`${url}?tariff=${shared}`)).status).toBe(404)
})

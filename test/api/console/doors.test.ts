/** Each page and each form of the console, for each kind of caller: the interface's own outcome, and no effect without it. */
import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { asShipped, only } from '../../service/watchdog/alert-world.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { writeMail } from '../channels/a-mail.ts'
import { anActiveSim, aPool, useHarness } from '../harness.ts'
import { type Browser, linksIn, useConsole } from './form-browser.ts'
import { askBacktest } from './rule-trials.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })

/** Pages that keys of the tenant may see; what a form of them does is for the interface to allow. */
const OF_TENANTS = [
  /^\/t\/:tenant$/,
  /^\/t\/:tenant\/(sims|pools|orders)(\/:\w+)?$/,
  /\/orders\/(new|:id\/cancel)$/,
  /\/tariffs$/,
  /\/sims\/:id\/(?!history)/,
  /\/pools\/:id\/settings$/,
  /^\/t\/:tenant\/settings/,
  /^\/t\/:tenant\/addresses(\/|$)/,
]
/** Pages of costs and mails, which all keys of the tenant may see, and of alerts, which contacts may see. */
const MY = /^\/t\/:tenant\/my(\/(?!alerts)|$)/
/** Pages that a key of the tenant may see, by its scope. */
const SEEN: Readonly<Record<string, readonly RegExp[]>> = {
  read: [...OF_TENANTS, MY],
  write: [...OF_TENANTS, MY],
  admin: [...OF_TENANTS, MY],
  billing: [MY, /\/my\/alerts$/],
}
/** A contact is led on from there. */
const leadsOn = (caller: string, path: string) => caller === 'billing' && path === '/t/:tenant'
/** Forms that a writing key of the tenant may send. */
const BY_WRITERS =
  /\/orders\/(new|:id\/cancel)$|\/pools\/:id\/settings$|\/sims\/:id\/(suspend|activate|refresh|send-sms|move|take-out)$/
/** Forms that an admin key of the tenant may send. */
const BY_ADMINS = /^\/t\/:tenant\/settings\//
/** A form that changes nothing: it shows an activation code, or says that the key may not see it. */
const OF_CODES = /\/sims\/:id\/code$/
/** The scopes of the tenant's keys that may send a form. */
const sendersOf = (path: string) => [
  ...(OF_CODES.test(path) ? ['read', 'write', 'admin'] : []),
  ...(BY_WRITERS.test(path) ? ['write', 'admin'] : []),
  ...(BY_ADMINS.test(path) ? ['admin'] : []),
  ...(MY.test(path) ? ['admin', 'billing'] : []),
  ...(/\/addresses\/(add|remove)$/.test(path) ? ['admin'] : []),
]
const QUERIES: Readonly<Record<string, string>> = {
  '/t/:tenant/find': '?q=w',
  '/t/:tenant/bulk/new': '?type=suspend&all=true',
  '/t/:tenant/enforcement/undo': '?rule=r&since=2026-11-01T00:00:00Z',
  '/t/:tenant/my/settings/remove': '?address=1',
  '/t/:tenant/tariffs/offer': '?tariff=1',
  '/t/:tenant/keys/rotate': '?id=:keys',
  '/t/:tenant/keys/revoke': '?id=:keys',
  '/t/:tenant/people/sign-out': '?keyId=:keys',
  '/t/:tenant/addresses/remove': '?address=1',
  '/t/:tenant/addresses/confirm': '?address=1',
  '/t/:tenant/addresses/clear': '?address=1',
  '/t/:tenant/webhooks/:id/replay': '?delivery=1',
}

type Route = { readonly path: string }

/** Those about a tenant, as they are registered. */
function routesOf(): Route[] {
  const above: string[] = []
  return pages.app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((row) => {
      const [, indent = '', part = ''] = /^([│ ]*)[├└]── (\S+) \(/.exec(row) ?? []
      above.length = indent.length / 4
      above.push(part)
      const path = above
        .join('')
        .replace('//', '/')
        .replace(/:\w+\|/, '')
      return path.startsWith('/t/:tenant') ? [{ path }] : []
    })
}

const ids: Record<string, string | number> = {}
const browsers: Record<string, Browser> = {}
let routes: Route[]
let forms: Route[]
beforeAll(async () => {
  const { tenant, other } = harness
  routes = routesOf().filter(({ path }) => !path.endsWith('/pulse'))
  const keyOf = async (of: typeof tenant, scope: string): Promise<{ id: string; key: string }> =>
    (await of.inside('POST', '/internal/keys', { name: scope, scopes: [scope] })).body
  for (const scope of ['read', 'write', 'admin', 'billing'])
    browsers[scope] = await pages.signedIn((await keyOf(tenant, scope)).key)
  browsers['foreign'] = await pages.signedIn((await keyOf(other, 'admin')).key)
  browsers['operator'] = await pages.signedIn(harness.operatorKey)
  browsers['none'] = pages.open()
  const { id, key } = await keyOf(tenant, 'admin')
  browsers['revoked'] = await pages.signedIn(key)
  await tenant.inside('DELETE', `/internal/keys/${id}`)

  const { version } = await activateRules(harness.store, only({ 'sim-overage': asShipped }), 'the tests')
  const poolId = await aPool(tenant)
  const sim = await anActiveSim(harness, tenant, { poolId })
  await writeAlerts(harness, tenant, [{ rule: 'r', kind: 'sim', id: sim.id }])
  await tenant.inside('PATCH', '/internal/tenant/enforcement', { guardLeast: 0, guardPct: 0 })
  const permits = { rule: 'r', cycle: '2026-11', poolId, simIds: [sim.id], workflowId: 'w' }
  Object.assign(ids, {
    pools: poolId,
    sims: sim.id,
    alerts: (await tenant.inside('GET', `/internal/alerts?simId=${sim.id}`)).body.data[0].id,
    decisions: (await tenant.inside('POST', '/internal/enforcement/permits', permits)).body.holdId,
    tickets: (await tenant.ask('POST', '/api/tickets/refresh', { simId: sim.id })).body.id,
    bulk: (await tenant.inside('POST', '/internal/bulk-tickets', { type: 'refresh', sims: { ids: [sim.id] } })).body.id,
    month: '2026-11',
    workflows: encodeURIComponent(suspendOnOverageId(tenant.id, sim.id, '2026-11')),
    rules: 'sim-overage',
    versions: version,
    statements: '2026-11',
    backtests: await askBacktest(harness, { version }),
    orders: (await tenant.ask('POST', '/api/orders', { type: 1, quantity: 1 })).body.id,
    keys: id,
    mails: encodeURIComponent(await writeMail(harness, tenant, { attempts: [['refused', '554 no']] })),
    webhooks: (await tenant.inside('POST', '/internal/webhooks', { url: 'https://ops.meadow.example/' })).body.id,
    silences: (await tenant.inside('POST', '/internal/silences', { rule: 'r', lasts: 'P1D', reason: 'r' })).body.id,
  })
  // A form misses its key; a page takes no form.
  const unsent = await statusesOf(routes, 'operator', (browser, url) => browser.post(url, { rule: 'r' }))
  forms = routes.filter(({ path }) => unsent[path] === 400)
  expect(new Set(Object.values(unsent))).toEqual(new Set([400, 405]))
})

const urlOf = ({ path }: Route, { id } = harness.tenant) =>
  path.replace(':tenant', id).replace(/\/(\w+)\/:\w+/, (_, noun) => `/${noun}/${ids[noun]}`) +
  (QUERIES[path] ?? '').replace(':keys', String(ids['keys']))
const form = () => ({
  key: crypto.randomUUID(),
  rule: 'r',
  since: '2026-11-01T00:00:00Z',
  poolId: String(ids['pools']),
  message: 'm',
  reason: 'r',
  lasts: 'PT1H',
  expect: '1',
  email: 'copy@example.com',
  address: '1',
  cycles: '1',
  type: '1',
  quantity: '1',
  tariff: '1',
  kind: 'move',
  id: String(ids['keys']),
  keyId: String(ids['keys']),
  delivery: '1',
})

type Ask = (browser: Browser, url: string) => Promise<{ status: number }>
const get: Ask = (browser, url) => browser.get(url)
const send: Ask = (browser, url) => browser.post(url, form())

/** Temporal has the workflows and Schedules, and is away here: test/workflows/console.test.ts shows their pages. */
const isHere = ({ path }: Route) => !path.includes('/workflows/:id') && !path.includes('/month/schedule/')

/** The status of each page, by its path. */
async function statusesOf(some: readonly Route[], caller: string, ask: Ask, tenant = harness.tenant) {
  const browser = browsers[caller] ?? pages.open()
  const statuses: Record<string, number> = {}
  for (const route of some) statuses[route.path] = (await ask(browser, urlOf(route, tenant))).status
  return statuses
}
const each = (some: readonly Route[], status: number | ((path: string) => number)) =>
  Object.fromEntries(some.map(({ path }) => [path, typeof status === 'number' ? status : status(path)]))

/** Counts what an act of any kind adds. */
async function countEffects() {
  const { rows } = await sql`
    select (select count(*) from audit_log where subject <> 'session') as audited,
           (select count(*) from tickets) as tickets`.execute(harness.root)
  return rows[0]
}

/** Sends every form, each of which is refused. */
async function expectRefused(status: number, caller: string, ask: Ask = send, some = forms) {
  const before = await countEffects()
  expect(await statusesOf(some, caller, ask)).toEqual(each(some, status))
  expect(await countEffects()).toEqual(before)
}

test('there is an object of each noun', () => {
  expect(forms.length).toBeGreaterThan(20)
  expect(routes.map((route) => urlOf(route)).filter((url) => /undefined|\/:/.test(url))).toEqual([])
})

test.each(['none', 'revoked'])('without a session (%s) each leads to the door', async (caller) => {
  expect(await statusesOf(routes, caller, get)).toEqual(each(routes, 303))
  await expectRefused(303, caller)
})

test.each(['read', 'write', 'admin', 'billing'])(
  'to a %s key of the tenant each is as the interface says',
  async (caller) => {
    const refused = forms.filter(({ path }) => !sendersOf(path).includes(caller))

    expect(await statusesOf(routes, caller, get)).toEqual(
      each(routes, (path) => (leadsOn(caller, path) ? 303 : SEEN[caller]?.some((one) => one.test(path)) ? 200 : 403)),
    )
    await expectRefused(403, caller, send, refused)
    const sent = await statusesOf(forms, caller, send)
    expect(forms.filter(({ path }) => sent[path] === 403)).toEqual(refused)
  },
)

test.each([
  ['read', 8],
  ['billing', 4],
  ['operator', 22],
] as const)('the navigation of a key %s has the pages that are shown to it', async (caller, most) => {
  const browser = browsers[caller] ?? pages.open()
  const { body } = await browser.get(`/t/${harness.tenant.id}/my`)
  const [, navigation = ''] = /<nav aria-label="Pages">(.*?)<\/nav>/s.exec(body) ?? []
  const links = linksIn(navigation)

  expect(links).toHaveLength(most)
  for (const link of linksIn(body).filter((one) => one?.startsWith('/t/')))
    expect((await browser.get(link ?? '')).status, link).toBe(200)
})

test.each(['', 'one', '\u0000'])('a form with the key %j is refused', async (key) => {
  await expectRefused(400, 'operator', (browser, url) => browser.post(url, { ...form(), key }))
})

test("to another tenant's key each is as if the tenant were not there", async () => {
  expect(await statusesOf(routes, 'foreign', get)).toEqual(each(routes, 403))
  await expectRefused(403, 'foreign')
})

test('to an operator each is shown, and a form of another site is refused', async () => {
  const forged: Ask = (browser, url) => browser.post(url, form(), { 'sec-fetch-site': 'cross-site' })

  const here = routes.filter(isHere)
  expect(await statusesOf(here, 'operator', get)).toEqual(each(here, 200))
  await expectRefused(403, 'operator', forged)
})

test('below another tenant, an operator finds none of these objects', async () => {
  // Rules are the same below each tenant.
  const ofObject = (route: Route) => /(?<!\/versions)\/:id/.test(route.path) && isHere(route)
  const [objects, acts] = [routes.filter(ofObject), forms.filter(ofObject)]
  const before = await countEffects()

  expect(await statusesOf(objects, 'operator', get, harness.other)).toEqual(each(objects, 404))
  expect(await statusesOf(acts, 'operator', send, harness.other)).toEqual(each(acts, 404))
  expect(await countEffects()).toEqual(before)
})

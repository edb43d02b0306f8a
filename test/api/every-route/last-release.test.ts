/** This release on a migrated database of the last one, with data: responses stay the same, and work goes on. */
import { beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../../../store/migrate.ts'
import { databaseOfLastRelease, lastRelease } from '../../setup/last-release.ts'
import { asking, type Tenant, useHarness } from '../harness.ts'

const release = await lastRelease()
const harness = useHarness({
  database: async () => {
    const database = await databaseOfLastRelease()
    await migrate(database.url)
    return { ...database, rootUrl: database.url }
  },
})
const rowsOf = <T>(table: string) => (release.data[table] ?? []) as readonly T[]
/** The recorded tenant's Dynamic and Fixed pool. */
const SHARED = new Set([2, 3])
let tenant: Pick<Tenant, 'ask' | 'inside'>
beforeAll(() => {
  harness.now = release.at
  const headers = { authorization: `Bearer ${release.operatorKey}`, 'x-tenant-id': release.tenantId }
  tenant = { ask: asking(harness.outside, headers), inside: asking(harness.inside, headers) }
})

test('the recorded data includes work under way', () => {
  const { data } = release
  const tables = ['sims', 'usage_records', 'tickets', 'watchdog_log', 'mails', 'statements', 'workflow_starts']
  for (const table of tables) expect(data[table]?.length, table).toBeGreaterThan(1)
  expect(data.tickets).toContainEqual(expect.objectContaining({ status: 0 }))
})

interface Sim {
  readonly id: number
}
/** The response now. Since that release, SIMs of a shared pool no longer inherit its threshold and burn rate alerts. */
function asNow(path: string, before: unknown): unknown {
  const shared = new Set(
    rowsOf<{ id: number; pool_id: number }>('sims').flatMap(({ id, pool_id }) => (SHARED.has(pool_id) ? id : [])),
  )
  const sim = (one: Sim) =>
    shared.has(one.id) ? { ...one, warningThresholdPct: null, enableBurnRateAlerts: false } : one
  if (/^\/api\/pools\/\d+\/sims/.test(path)) return (before as readonly Sim[]).map(sim)
  // Since that release, tenants no longer see who put a rule set in force.
  if (path.startsWith('/api/events'))
    return JSON.parse(JSON.stringify(before).replace(', by a worker at the first start.', '.'))
  if (!path.startsWith('/api/sims')) return before
  const { data, ...page } = before as { readonly data: readonly Sim[] }
  return { ...page, data: data.map(sim) }
}

describe('responses of the last release', () => {
  test.each(Object.keys(release.answers))('stay the same for GET %s', async (path) => {
    const of = path.startsWith('/internal') ? tenant.inside : tenant.ask
    const { status, body } = await of('GET', path)

    expect(status).toBe(200)
    expect(body).toEqual(asNow(path, release.answers[path]))
  })
})

interface Row {
  readonly record_id: string
  readonly at: string
  readonly sim_id: number
  readonly bytes_up: number
  readonly bytes_down: number
}

test('usage records counted before are duplicates now', async () => {
  const send = (body: object) => tenant.inside('POST', '/internal/usage', { records: [body] })
  const [row] = rowsOf<Row>('usage_records')
  const sent = { recordId: row?.record_id, at: row?.at, simId: row?.sim_id }

  const again = await send({ ...sent, bytesUp: row?.bytes_up, bytesDown: row?.bytes_down })
  const fresh = await send({ ...sent, recordId: 'new', at: new Date(release.at).toISOString(), bytesUp: 5 })

  expect(again.body).toMatchObject({ accepted: 0, duplicates: 1, rejected: [] })
  expect(fresh.body).toMatchObject({ accepted: 1, duplicates: 0, rejected: [] })
})

test('new tickets queue behind open ones', async () => {
  const simId = rowsOf<{ sim_id: number; status: number }>('tickets').find(({ status }) => status === 0)?.sim_id

  const { status } = await tenant.ask('POST', '/api/tickets/activate', { simId })

  expect(status).toBe(200)
  expect((await tenant.ask('GET', `/api/sims/${simId}`)).body).toMatchObject({ processingTicketCount: 2 })
})

test('keys keep working, write keys have scope esim', async () => {
  const scopesOf = async (key: string) => {
    const { status } = await asking(harness.outside, { authorization: `Bearer ${key}` })('GET', '/api/tenant')
    const { body } = await tenant.inside('GET', '/internal/keys')
    const list: { id: string; scopes: string[] }[] = body.data ?? body
    return [status, list.find(({ id }) => key.includes(id))?.scopes]
  }

  expect(await scopesOf(release.keys.reads)).toEqual([200, ['read']])
  expect(await scopesOf(release.keys.writes)).toEqual([200, ['write', 'esim']])
})

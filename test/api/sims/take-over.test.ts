/** SIMs that come in as they live at the carrier: what is accepted, what is a fault, and what is seen of it. */
import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { SimStatus } from '../../../domain/codes.ts'
import { MOST_TOTAL } from '../../../domain/usage/usage-record.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { aPool, aSim, aTariff, NOON, provisioned, useHarness } from '../harness.ts'

const harness = useHarness()
let serial = 0
const anIccid = () => `8944502102${String(++serial).padStart(9, '0')}`
const SINCE = '2026-03-01T00:00:00Z'
const USED = { usageBytes: 41_500_000, voiceSeconds: 90, smsCount: 3 }
const { Active, Suspended } = SimStatus
const ids = { pool: 0, dynamic: 0, theirs: 0, deleted: 0, tariff: 0, withdrawn: 0, shared: 0 }

beforeAll(async () => {
  const { tenant, other } = harness
  ids.tariff = await aTariff(tenant)
  ids.pool = await aPool(tenant, { tariffId: ids.tariff })
  ids.shared = await aTariff(tenant, 1)
  ids.dynamic = await aPool(tenant, { type: 1, tariffId: ids.shared })
  ids.theirs = await aPool(other)
  ids.deleted = await aPool(tenant)
  await tenant.ask('DELETE', `/api/pools/${ids.deleted}`)
  ids.withdrawn = await aTariff(tenant)
  await tenant.inside('PATCH', `/internal/tariffs/${ids.withdrawn}`, { isActive: false })
})

const take = (sims: readonly object[], query = '', of = harness.tenant) =>
  of.inside('POST', `/internal/sims${query}`, { sims })
const simOf = async (id: number) => (await harness.tenant.ask('GET', `/api/sims/${id}`)).body

describe('POST /internal/sims of SIMs that live at the carrier', () => {
  test.each<[string, () => object, () => object]>([
    [
      'an Active one in a pool',
      () => ({ status: Active, poolId: ids.pool, activatedAt: SINCE, ...USED }),
      () => ({
        status: Active,
        poolId: ids.pool,
        tariffId: null,
        provisionedAt: '2026-03-01T00:00:00.000Z',
        lastSeenAt: '2026-11-01T00:00:00.000Z',
        limitMB: 1000,
        usageMB: 41.5,
        voiceMins: 1.5,
        smsCount: 3,
        tariff: { id: ids.tariff },
        processingTicketCount: 0,
      }),
    ],
    [
      'an Active one by its own tariff',
      () => ({ status: Active, tariffId: ids.tariff, activatedAt: '2026-11-05 10:30+02:00', usageBytes: 1_000_000 }),
      () => ({
        poolId: null,
        tariffId: ids.tariff,
        usageMB: 1,
        limitMB: 1000,
        provisionedAt: '2026-11-05T08:30:00.000Z',
        lastSeenAt: '2026-11-05T08:30:00.000Z',
      }),
    ],
    [
      'an Active one with pool and own tariff',
      () => ({ status: Active, poolId: ids.pool, tariffId: ids.tariff, activatedAt: SINCE }),
      () => ({ poolId: ids.pool, tariffId: ids.tariff, usageMB: 0, lastSeenAt: null }),
    ],
    [
      'an Active one with neither',
      () => ({ status: Active, activatedAt: SINCE }),
      () => ({ status: Active, poolId: null, tariffId: null, limitMB: 0, tariff: {} }),
    ],
    [
      'a Suspended one that was Active in the cycle',
      () => ({ status: Suspended, poolId: ids.pool, activatedAt: SINCE, usageBytes: 2_000_000 }),
      () => ({ status: Suspended, poolId: ids.pool, usageMB: 2, limitMB: 1000 }),
    ],
    [
      'a Suspended one that was not',
      () => ({ status: Suspended, poolId: ids.pool, activatedAt: SINCE, usageBytes: 0 }),
      () => ({ status: Suspended, poolId: ids.pool, usageMB: 0, limitMB: 0 }),
    ],
    [
      'a Suspended one that was never Active',
      () => ({ status: Suspended, poolId: ids.pool }),
      () => ({ status: Suspended, poolId: ids.pool, provisionedAt: new Date(NOON).toISOString(), limitMB: 0 }),
    ],
    [
      'an Unprovisioned one with empty fields',
      () => ({ status: 0, poolId: null, tariffId: null, activatedAt: null, usageBytes: 0, smsCount: null }),
      () => ({ status: 0, poolId: null, provisionedAt: null }),
    ],
  ])('takes in %s', async (_, given, expected) => {
    const { body } = await take([{ iccid: anIccid(), ...given() }])

    expect(body.rejected).toEqual([])
    expect(await simOf(body.created[0].id)).toMatchObject(expected())
  })

  test('warns of one that nothing is charged for', async () => {
    const { body } = await take([{ iccid: '894450210299999901', status: Active, activatedAt: SINCE }])

    const detail =
      'the SIM is Active with neither poolId nor tariffId: it has no allowance, and nothing is charged for it'
    expect(body.warnings).toEqual([{ index: 0, field: 'poolId', detail }])
  })

  test('adds them to the figures and counts of their pool', async () => {
    const poolId = await aPool(harness.tenant)
    const here = { poolId, activatedAt: SINCE }

    const { body } = await take([
      { iccid: anIccid(), ...here, status: Active, usageBytes: 1_400_000_000 },
      { iccid: anIccid(), ...here, status: Active },
      { iccid: anIccid(), ...here, status: Suspended, usageBytes: 7_000_000 },
      { iccid: anIccid(), poolId, status: Suspended },
    ])

    const used = { usageBytes: 1_407_000_000, voiceSeconds: 0, smsCount: 0 }
    expect(body.totals).toEqual({ unprovisioned: 0, active: 2, suspended: 2, ...used })
    const pool = await harness.tenant.ask('GET', `/api/pools/${poolId}`)
    expect(pool.body).toMatchObject({ totalSimCount: 4, activeSimCount: 2, usageMB: 1407 })
    expect(pool.body).toMatchObject({ limitMB: 3000, overageMB: 400, remainingMB: 1993 })
  })

  test('notes them and their pool as changed', async () => {
    await inTenant(harness.store, harness.tenant.id, (tx) => sql`delete from changed_subjects`.execute(tx.q))
    harness.jobs.length = 0

    const { body } = await take([
      { iccid: anIccid(), status: Active, poolId: ids.pool, activatedAt: SINCE },
      { iccid: anIccid() },
    ])

    const [taken] = body.created.map(({ id }: { id: number }) => id)
    const changes = await sql`
      select sim_ids as "simIds", pool_ids as "poolIds" from changed_subjects
       where tenant_id = ${harness.tenant.id}`.execute(harness.root)
    expect(changes.rows).toEqual([{ simIds: [String(taken)], poolIds: [ids.pool] }])
    expect(harness.jobs).toContainEqual({ queue: 'evaluate', tenantId: harness.tenant.id })
  })

  test('says in audit trail and events what came in', async () => {
    const sims = [
      { iccid: anIccid(), status: Active, poolId: ids.pool, activatedAt: SINCE, usageBytes: 5_000_000 },
      { iccid: anIccid(), status: Suspended },
      { iccid: anIccid() },
      { iccid: '12' },
    ]

    const { headers } = await take(sims)

    const requestId = headers['x-request-id']
    const trail = await harness.tenant.inside('GET', `/internal/audit?requestId=${requestId}`)
    const after = { cycle: '2026-11', active: 1, suspended: 1, unprovisioned: 1, rejected: 1, usageBytes: 5_000_000 }
    expect(trail.body.data).toMatchObject([
      { action: 'importSims', subject: 'sim-import', subjectId: requestId, before: null, after },
      { subject: 'sim' },
      { subject: 'sim' },
      { subject: 'sim', after: { status: Active, poolId: ids.pool, usageBytes: 5_000_000 } },
    ])
    const events = await harness.tenant.ask('GET', '/api/events?searchTerm=taken over&pageSize=1')
    const description =
      '1 Active, 1 Suspended and 1 Unprovisioned SIMs came in as they are, with 5 MB used in billing cycle 2026-11 before.'
    expect(events.body.data).toMatchObject([{ title: 'SIMs taken over: 2', description }])
  })

  test('leaves a SIM that exists in the state it has', async () => {
    const { id, iccid } = await aSim(harness.tenant)
    await provisioned(harness, harness.tenant, id, { tariffId: ids.tariff })

    const { body } = await take([{ iccid, status: Active, poolId: ids.pool, activatedAt: SINCE, usageBytes: 9 }])

    expect(body.rejected).toMatchObject([{ code: 'sim_exists' }])
    expect(await simOf(id)).toMatchObject({ status: Suspended, poolId: null, usageMB: 0 })
  })

  test('predicts the same in a dry run, and writes nothing', async () => {
    const pool = async () => (await harness.tenant.ask('GET', `/api/pools/${ids.pool}`)).body
    const sims = [
      { iccid: anIccid(), status: Active, poolId: ids.pool, activatedAt: SINCE, usageBytes: 5 },
      { iccid: anIccid(), status: Active, poolId: ids.theirs, activatedAt: SINCE },
      { iccid: anIccid(), status: Active },
      { iccid: anIccid(), status: Suspended, smsCount: 1 },
    ]
    const before = await pool()

    const { dryRun, ...promised } = (await take(sims, '?dryRun=true')).body
    const between = await pool()
    const run = await take(sims)

    expect(dryRun).toBe(true)
    expect(between).toEqual(before)
    expect(promised).toEqual({ ...run.body, created: [{ iccid: sims[0]?.iccid }] })
    expect(run.body.rejected.map(({ index }: { index: number }) => index)).toEqual([1, 2, 3])
  })
})

describe('a SIM whose fields disagree', () => {
  const FUTURE = '2026-11-20T12:00:01Z'
  const NOW = '2026-11-20T12:00:00.000Z'
  const NO_DAY = '2026-02-30T00:00:00Z'
  const ISO = 'ISO 8601 with an offset or Z'
  const INSTANT = `a day and time there are, ${ISO}, such as 2026-03-01T00:00:00Z`
  const NONE = 'of an Unprovisioned SIM; expected none, or status 1 or 2'
  const UP_TO = 'expected a whole number from 0 to'
  const active = { status: Active, activatedAt: SINCE }
  const never = (what: string) => `of a SIM that never was Active; expected none or 0, or ${what}`

  test.each<[object, string]>([
    [{ status: 3 }, 'status: got 3; expected 0 (Unprovisioned) or 1 (Active) or 2 (Suspended)'],
    [{ status: Active }, `activatedAt: is missing; expected since when the SIM is Active, ${ISO}`],
    [{ status: Active, activatedAt: FUTURE }, `activatedAt: got "${FUTURE}"; expected no later than now, ${NOW}`],
    [{ status: Suspended, activatedAt: FUTURE }, `activatedAt: got "${FUTURE}"; expected no later than now, ${NOW}`],
    [{ status: Active, activatedAt: '01.03.2026' }, `activatedAt: got "01.03.2026"; expected ${INSTANT}`],
    [{ status: Active, activatedAt: NO_DAY }, `activatedAt: got "${NO_DAY}"; expected ${INSTANT}`],
    [{ status: Active, activatedAt: 5 }, `activatedAt: got 5; expected ${INSTANT}`],
    [{ poolId: 7 }, `poolId: got 7 ${NONE}`],
    [
      { status: 0, tariffId: 3, activatedAt: SINCE, usageBytes: 1 },
      `tariffId: got 3 ${NONE}. activatedAt: got "${SINCE}" ${NONE}. usageBytes: got 1 ${never('status 1 or 2')}`,
    ],
    [
      { status: Suspended, voiceSeconds: 1 },
      `voiceSeconds: got 1 ${never('the activatedAt from before it was suspended')}`,
    ],
    [{ status: Active, poolId: 0 }, 'poolId: got 0; expected the id of a pool'],
    [{ status: Active, tariffId: 'gold' }, 'tariffId: got "gold"; expected the id of a tariff'],
    [{ ...active, usageBytes: -1 }, `usageBytes: got -1; ${UP_TO} ${MOST_TOTAL}`],
    [{ ...active, usageBytes: MOST_TOTAL + 1 }, `usageBytes: got ${MOST_TOTAL + 1}; ${UP_TO} ${MOST_TOTAL}`],
    [{ ...active, usageBytes: '1.000' }, `usageBytes: got "1.000"; ${UP_TO} ${MOST_TOTAL}`],
    [
      { ...active, usageBytes: '4.15E+07' },
      `usageBytes: got "4.15E+07", which is a number a spreadsheet has rounded: format the column as text and export again; ${UP_TO} ${MOST_TOTAL}`,
    ],
    [{ ...active, smsCount: 0.5 }, `smsCount: got 0.5; ${UP_TO} 1000000000`],
  ])('%j is rejected', async (given, detail) => {
    const { body } = await take([{ iccid: anIccid(), ...given }])

    expect(body.created).toEqual([])
    expect(body.rejected).toEqual([{ index: 0, code: 'invalid_request', detail }])
  })

  /** @returns why an Active SIM is rejected in this place */
  const rejected = async (place: object) => {
    const { body } = await take([{ iccid: anIccid(), ...active, ...place }])
    expect(body.created).toEqual([])
    return body.rejected
  }

  test.each([
    ['a pool that does not exist', () => 999_999_999_999],
    ['a pool of another tenant', () => ids.theirs],
    ['a deleted pool', () => ids.deleted],
  ])('%s is rejected by the code of tickets', async (_, pool) => {
    const poolId = pool()

    const detail = `poolId: got ${poolId}; expected a pool of this tenant. There is no pool ${poolId}.`
    expect(await rejected({ poolId })).toEqual([{ index: 0, code: 'pool_not_found', detail }])
  })

  test.each<[string, () => { tariffId: number; poolId?: number }, string, (id: number) => string]>([
    [
      'a tariff that does not exist',
      () => ({ tariffId: 999_999 }),
      'tariff_not_found',
      (id) => `expected a tariff that this tenant may use. There is no tariff ${id}.`,
    ],
    [
      'a withdrawn tariff',
      () => ({ tariffId: ids.withdrawn }),
      'tariff_inactive',
      (id) => `expected a tariff that is active. Tariff ${id} (Tariff of type 0) takes no new assignments.`,
    ],
    [
      'a tariff for pools outside one',
      () => ({ tariffId: ids.shared }),
      'tariff_needs_pool',
      (id) =>
        `expected a Standard tariff, or a poolId too. Tariff ${id} (Tariff of type 1) is for pools; a SIM outside a pool takes a Standard tariff.`,
    ],
    [
      'a tariff without effect',
      () => ({ poolId: ids.dynamic, tariffId: ids.tariff }),
      'tariff_has_no_effect',
      (id) =>
        `expected none in this pool. Tariff ${id} (Tariff of type 0) has no effect in pool ${ids.dynamic}, whose tariff ${ids.shared} governs.`,
    ],
  ])('%s is rejected by the code of tickets', async (_, placeOf, code, expected) => {
    const place = placeOf()
    const detail = `tariffId: got ${place.tariffId}; ${expected(place.tariffId)}`
    expect(await rejected(place)).toEqual([{ index: 0, code, detail }])
  })

  test('more usage than can be counted is rejected, record by record', async () => {
    const here = { status: Active, tariffId: ids.tariff, activatedAt: SINCE }
    const sim = (usageBytes: number) => ({ iccid: anIccid(), ...here, usageBytes })
    const used = await inTenant(harness.store, harness.tenant.id, async (tx) => {
      const { rows } = await sql<{ bytes: number }>`select bytes from cycles where key = '2026-11'`.execute(tx.q)
      return rows[0]?.bytes ?? 0
    })
    const left = MOST_TOTAL - used - 10

    const { body } = await take([sim(10), sim(MOST_TOTAL), sim(20)])

    expect(body.created).toHaveLength(2)
    const detail = `usageBytes: got ${MOST_TOTAL}; expected at most ${left}, what is left of ${MOST_TOTAL} for all SIMs in cycle 2026-11`
    expect(body.rejected).toEqual([{ index: 1, code: 'invalid_request', detail }])
  })
})

test('the file of an estate may be the example of docs/take-over.md', async () => {
  const text = await readFile('docs/take-over.md', 'utf8')
  const [, example = ''] = /```csv\n([^`]+)```/.exec(text) ?? []
  const [header = [], ...rows] = example
    .split('\n')
    .map((line) => line.trim().split(','))
    .filter((cells) => cells.join('') !== '')
  const [pool, tariff] = [header.indexOf('poolId'), header.indexOf('tariffId')]
  const here = (cell: string, at: number) =>
    cell === '' ? '' : at === pool ? ids.pool : at === tariff ? ids.tariff : cell
  const csv = [header, ...rows.map((cells) => cells.map(here))].map((cells) => cells.join()).join('\n')

  const { body } = await harness.tenant.inside('POST', '/internal/sims', csv, { 'content-type': 'text/csv' })

  expect(body).toMatchObject({ rejected: [], warnings: [] })
  const used = { usageBytes: 42_700_000, voiceSeconds: 90, smsCount: 3 }
  expect(body.totals).toEqual({ unprovisioned: 1, active: 2, suspended: 2, ...used })
})

test('a shipment takes no SIM of another state', async () => {
  const { body } = await harness.tenant.ask('POST', '/api/orders', { type: 1, quantity: 1, shippingLine1: '1 Lane' })

  const sims = [{ iccid: anIccid(), status: Active, activatedAt: SINCE }]
  const parcel = { sims, shippingCarrier: 'Post', trackingNumber: '1' }
  const answer = await harness.tenant.inside('POST', `/internal/orders/${body.id}/ship`, parcel)

  expect(answer.status).toBe(400)
  expect(JSON.stringify(answer.body.errors)).toContain('no field of a SIM')
})

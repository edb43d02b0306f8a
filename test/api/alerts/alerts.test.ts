import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { MOST_LOOKED_AT } from '../../../service/alerts/rows/open-alerts.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { insertLogEntries } from '../../../store/log.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { asShipped, climbing, only } from '../../service/watchdog/alert-world.ts'
import { anActiveSim, aPool, type Tenant, useHarness } from '../harness.ts'
import { type NewAlert, writeAlerts } from './an-alert.ts'

const harness = useHarness()
let tenant: Tenant
let poolId: number
let sim: number

const list = async (query = '', from: Tenant = tenant) => (await from.inside('GET', `/internal/alerts?${query}`)).body
const rulesIn = async (query: string): Promise<string[]> =>
  (await list(query)).data.map(({ rule }: { rule: string }) => rule)

beforeAll(async () => {
  tenant = harness.tenant
  const rules = only({ 'sim-overage': asShipped, 'sim-usage-warning': climbing, 'pool-overage': asShipped })
  await activateRules(harness.store, rules, 'the tests')
  poolId = await aPool(tenant)
  sim = (await anActiveSim(harness, tenant, { poolId })).id
  const at = { at: harness.now, by: null }
  const alerts: NewAlert[] = [
    { rule: 'sim-overage', kind: 'sim', id: sim, state: { told: ['fired'] } },
    { rule: 'sim-usage-warning', kind: 'sim', id: sim, state: { step: 80, part: '/at-80', acknowledged: at } },
    { rule: 'sim-usage-warning', kind: 'sim', id: sim + 1, state: { step: 50 } },
    { rule: 'pool-overage', kind: 'pool', id: poolId, state: { withheld: ['stage'] } },
    { rule: 'gone', kind: 'tenant', id: 0, scope: '', state: { phase: 'pending' } },
    { rule: 'gone', kind: 'sim', id: sim, scope: '2026-10' },
    { rule: 'ended', kind: 'sim', id: sim, scope: '2026-10', state: { phase: 'resolved', told: ['fired'] } },
    { rule: 'never', kind: 'sim', id: sim, state: { phase: 'inactive', error: 'no such fact' } },
  ]
  await writeAlerts(harness, tenant, alerts)
  await inTenant(harness.store, tenant.id, (tx) =>
    insertLogEntries(tx, [
      {
        dedupeKey: `sim-overage/sim/${sim}/2026-11/fired`,
        rule: 'sim-overage',
        ruleVersion: 1,
        simId: sim,
        poolId,
        level: 2,
        message: 'The SIM is over its limit.',
        cycleKey: '2026-11',
        explanation: [],
      },
    ]),
  )
})

describe('GET /internal/alerts', () => {
  test('shows level, message and pool, newest first', async () => {
    const { data } = await list()

    expect(data).toMatchObject([
      { rule: 'gone', level: 0, subject: { kind: 'tenant', label: null }, poolId: null, cycle: null },
      { rule: 'pool-overage', level: 2, subject: { kind: 'pool', id: poolId }, poolId },
      { rule: 'sim-usage-warning', subject: { id: sim + 1, label: null } },
      { rule: 'sim-usage-warning', subject: { id: sim }, poolId, acknowledgedByName: null, message: null },
      { rule: 'sim-overage', level: 2, poolId, message: 'The SIM is over its limit.', isLogged: true },
    ])
    const ids = data.map(({ id }: { id: number }) => id)
    expect(ids).toEqual(ids.toSorted((a: number, b: number) => b - a))
  })

  test.each([
    ['level=2', ['pool-overage', 'sim-overage']],
    ['level=0', ['gone', 'sim-usage-warning']],
    ['level=1', ['sim-usage-warning']],
    ['level=1&acknowledged=false', []],
    ['acknowledged=true', ['sim-usage-warning']],
    ['acknowledged=false', ['gone', 'pool-overage', 'sim-usage-warning', 'sim-overage']],
    ['withheld=true', ['pool-overage']],
    ['withheld=false&level=2', ['sim-overage']],
    ['ended=true', ['ended']],
    ['ended=true&phase=firing', []],
    ['phase=pending', ['gone']],
    ['rule=sim-overage', ['sim-overage']],
    ['ended=true&rule=sim-overage', []],
  ])('filters by %s', async (query, rules) => {
    const { data, pagination } = await list(query)

    expect(data.map(({ rule }: { rule: string }) => rule)).toEqual(rules)
    expect(pagination.totalItems).toBe(rules.length)
  })

  test('filters by SIM and by pool', async () => {
    expect(await rulesIn(`simId=${sim}`)).toEqual(['sim-usage-warning', 'sim-overage'])
    expect(await rulesIn(`simId=${sim}&ended=true`)).toEqual(['ended'])
    expect(await rulesIn(`simId=${sim}&rule=sim-overage`)).toEqual(['sim-overage'])
    expect(await rulesIn(`poolId=${poolId}`)).toEqual(['pool-overage'])
  })

  test('gives levels that add up to all', async () => {
    const all = await Promise.all([0, 1, 2].map((level) => rulesIn(`level=${level}`)))

    expect(all.flat().toSorted()).toEqual((await rulesIn('')).toSorted())
  })

  test('leads by cursors through all of them', async () => {
    const seen: string[] = []
    let url: string | undefined = '/internal/alerts?pageSize=2'
    while (url !== undefined) {
      const { body, headers } = await tenant.inside('GET', url)
      seen.push(...body.data.map(({ rule }: { rule: string }) => rule))
      expect(body.pagination.totalItems).toBe(5)
      url = /<([^>]+)>; rel="next"/.exec(headers['link'] ?? '')?.[1]
    }

    expect(seen).toEqual(await rulesIn(''))
  })

  test('looks at so many for a page, and leads on', async () => {
    const many = harness.other
    await writeAlerts(harness, many, [
      { rule: 'oldest', kind: 'tenant', id: 0, scope: '', state: { acknowledged: { at: 0, by: null } } },
      { rule: 'copied', kind: 'tenant', id: 0, scope: '' },
    ])
    await inTenant(harness.store, many.id, ({ q }) =>
      sql`insert into alerts (rule, subject_kind, subject_id, scope, state, firing, rule_version, evaluated_at, explanation)
          select rule, 1, n, '', state, firing, rule_version, evaluated_at, explanation
            from alerts, generate_series(1, ${MOST_LOOKED_AT - 1}) n where rule = 'copied'`.execute(q),
    )

    const first = await many.inside('GET', '/internal/alerts?acknowledged=true')
    const next = /<([^>]+)>; rel="next"/.exec(first.headers['link'] ?? '')?.[1] ?? ''
    const second = await many.inside('GET', next)

    expect(first.body).toMatchObject({ data: [], pagination: { totalItems: 0, hasNextPage: true } })
    expect(second.body).toMatchObject({ data: [{ rule: 'oldest' }], pagination: { page: 2, hasNextPage: false } })
  })
})

describe('GET /internal/alerts/causes', () => {
  const causes = async (from: Tenant = tenant) => (await from.inside('GET', '/internal/alerts/causes')).body

  test('adds up the alerts of a rule, by level', async () => {
    expect(await causes()).toMatchObject({
      causes: [
        { rule: 'pool-overage', level: 2, kind: 'pool', alerts: 1, firing: 1, withheld: 1 },
        { rule: 'sim-overage', level: 2, kind: 'sim', alerts: 1, acknowledged: 0, newest: { poolId } },
        { rule: 'sim-usage-warning', level: 1, alerts: 1, acknowledged: 1 },
        { rule: 'gone', level: 0, kind: 'tenant', alerts: 1, firing: 0 },
        { rule: 'sim-usage-warning', level: 0, alerts: 1, newest: { level: 0, subject: { id: sim + 1 } } },
      ],
      alerts: 6,
      isWhole: true,
    })
  })

  test('agrees with the list of each cause', async () => {
    for (const { rule, level, alerts, newest } of (await causes()).causes) {
      const { data, pagination } = await list(`rule=${rule}&level=${level}`)
      expect([pagination.totalItems, data[0]]).toEqual([alerts, newest])
    }
  })

  test('looks at so many, and says so', async () => {
    const { causes: found, alerts, isWhole } = await causes(harness.other)

    expect([alerts, isWhole]).toEqual([MOST_LOOKED_AT, false])
    expect(found).toMatchObject([
      { rule: 'copied', kind: 'sim', alerts: MOST_LOOKED_AT - 1 },
      { rule: 'copied', kind: 'tenant', alerts: 1 },
    ])
  })

  test('says so too where those that it looks at are of other cycles', async () => {
    await inTenant(harness.store, harness.other.id, ({ q }) =>
      sql`update alerts set scope = '2026-10' where rule = 'copied'`.execute(q),
    )

    expect(await causes(harness.other)).toEqual({ causes: [], alerts: MOST_LOOKED_AT, isWhole: false })
  })
})

describe('GET /internal/alerts/{id}', () => {
  const detail = async (query: string) => {
    const { data } = await list(query)
    return tenant.inside('GET', `/internal/alerts/${data[0].id}`)
  }

  test('shows episodes with what followed, and who silences it', async () => {
    const silence = { simId: sim, lasts: 'P1D', reason: 'The meter is replaced' }
    const { body } = await tenant.inside('POST', '/internal/silences', silence)
    const began = new Date(harness.now).toISOString()

    const { status, body: alert } = await detail(`simId=${sim}&rule=sim-overage`)

    expect(status).toBe(200)
    expect(alert).toMatchObject({
      rule: 'sim-overage',
      message: 'The SIM is over its limit.',
      silences: [{ id: body.id, reason: silence.reason, createdByName: 'tests' }],
      suspension: null,
      episodes: [{ beganAt: began, endedAt: null, followed: { entries: [{ message: 'The SIM is over its limit.' }] } }],
    })
    await tenant.inside('POST', `/internal/silences/${body.id}/end`)
  })

  test('shows earlier episodes and their ends', async () => {
    const told = ['fired/episode-1', 'resolved/episode-1', 'fired/episode-2/at-80', 'fired/episode-2/at-100']
    const key = (mark: string) => `again/sim/${sim}${mark}`
    const entry = {
      rule: 'again',
      ruleVersion: 1,
      simId: sim,
      poolId,
      level: 1,
      cycleKey: null,
      explanation: [],
    } as const
    const logged = async (at: number, dedupeKey: string) =>
      harness.at(at, () =>
        inTenant(harness.store, tenant.id, (tx) => insertLogEntries(tx, [{ ...entry, dedupeKey, message: dedupeKey }])),
      )
    const minute = (n: number) => harness.now + n * 60_000
    await logged(minute(-9), key('/episode-1/fired'))
    await logged(minute(-8), key('/episode-1/resolved'))
    await logged(minute(-7), key('/episode-2/at-80/fired'))
    const state = { told, part: '/episode-2/at-100', episode: 2, began: minute(-7), phase: 'resolved' as const }
    await writeAlerts(harness, tenant, [{ rule: 'again', kind: 'sim', id: sim, scope: '', state }])

    const { body } = await detail(`simId=${sim}&rule=again&ended=true`)

    const iso = (n: number) => new Date(minute(n)).toISOString()
    expect(body.episodes).toMatchObject([
      {
        beganAt: iso(-7),
        endedAt: iso(0),
        end: null,
        followed: { entries: [{ message: key('/episode-2/at-80/fired') }] },
      },
      { beganAt: iso(-9), endedAt: iso(-8), end: 'resolved' },
    ])
    expect(body.silences).toEqual([])
  })

  test('does not show those of others, or that never began', async () => {
    const { data } = await list(`simId=${sim}`)
    const { rows } = await sql<{ id: number }>`select id from alerts where rule = 'never'`.execute(harness.root)

    for (const [from, id] of [
      [harness.other, data[0].id],
      [tenant, rows[0]?.id],
      [tenant, 2 ** 40],
    ] as const) {
      const { status, body } = await from.inside('GET', `/internal/alerts/${id}`)
      expect([status, body.code]).toEqual([404, 'alert_not_found'])
    }
  })
})

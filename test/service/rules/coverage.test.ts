/** Who has no effective rule and why, and what each rule did, in estates that are lived in. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import type { CoverageQuery, UncoveredReason } from '../../../domain/rules/rule-coverage.ts'
import { suspendOnOverageId } from '../../../domain/temporal/ids.ts'
import { MB } from '../../../domain/units.ts'
import type { SubjectKind } from '../../../domain/watchdog/subject.ts'
import { acknowledgeAlert } from '../../../service/alerts/acknowledge-alert.ts'
import { addSilence } from '../../../service/alerts/silence-alerts.ts'
import { updatePool } from '../../../service/pools/update-pool.ts'
import { coverage } from '../../../service/rules/coverage.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { tagSim } from '../../../service/sims/tag-sim.ts'
import { inTenant, readOnly } from '../../../store/tenancy.ts'
import { aTariff, byHand } from '../../setup/estate.ts'
import { ruleAboutSims } from '../../unit/rules/samples.ts'
import { aHarness } from '../harness.ts'
import { asShipped, aWorld, type Edit, inStage, only, type WorldOptions } from '../watchdog/alert-world.ts'

const MINUTE = 60_000
const [WARNING, OVERAGE, BURN] = ['sim-usage-warning', 'sim-overage', 'sim-burn-rate']
const warning = (edit: Edit = asShipped) => only({ [WARNING]: edit })
const matching =
  (match: object): Edit =>
  (rule) => {
    rule['match'] = match
  }

async function aCountedWorld(options: Partial<WorldOptions> = {}) {
  const world = await aWorld({ rules: warning(), mode: WatchdogMode.Monitor, ...options })
  const ask = (query: CoverageQuery = {}, tenantId = world.tenantId) =>
    inTenant(readOnly(world.store), tenantId, (tx) => coverage(tx, query, world.options.rules))
  return {
    ...world,
    ask,
    of: async (kind: SubjectKind, tenantId?: string) =>
      (await ask({}, tenantId)).subjects.find((one) => one.kind === kind),
    figures: async (rule: string, query: CoverageQuery = {}) =>
      (await ask(query)).rules.find((one) => one.rule === rule),
  }
}
type World = Awaited<ReturnType<typeof aCountedWorld>>

describe('a SIM without an effective rule', () => {
  test.each<[UncoveredReason, string, (world: World) => Promise<unknown>]>([
    ['exempt', 'exempt', (world) => world.set({ isWatchdogExempt: true })],
    ['mode', 'its own mode Disabled', (world) => world.set({ watchdogMode: WatchdogMode.Disabled })],
    [
      'mode',
      'its pool’s mode Disabled',
      (world) =>
        world.asTenant((tx) =>
          updatePool(tx, { id: world.poolId, name: 'meters', watchdogMode: WatchdogMode.Disabled }),
        ),
    ],
    ['match', 'no rules of SIMs', (world) => world.put(only({ 'pool-overage': asShipped }))],
    ['match', 'another tenant', (world) => world.put(warning(matching({ tenant: 'tz*' })))],
    ['match', 'another tariff', (world) => world.put(warning(matching({ tariffType: 'Fixed Pool' })))],
    ['stage', 'off', (world) => world.put(warning(inStage('off')))],
    ['stage', 'shadow', (world) => world.put(warning(inStage('shadow')))],
    ['settings', 'burn rate alerts off', (world) => world.put(only({ [BURN]: asShipped }))],
    ['settings', 'a threshold too low', (world) => world.put(warning(atThreshold('greaterThan', 80)))],
  ])('%s: %s', async (reason, _, change) => {
    const world = await aCountedWorld()
    await change(world)
    const words = expect.any(String)

    expect(await world.of('sim')).toEqual({
      kind: 'sim',
      total: 1,
      withRule: 0,
      without: [{ reason, words, count: 1, examples: [{ id: world.sim, label: expect.stringMatching(/^89445/) }] }],
    })
  })

  test('threshold: outside pools none is inherited', async () => {
    const world = await aCountedWorld()
    const { id: tariffId } = await world.asTenant((tx) => aTariff(tx, TariffType.Standard, 100 * MB))
    const [outside = 0] = await world.activeSims(1, { tariffId })
    const found = await world.of('sim')
    await world.asTenant((tx) => setSimWatchdog(tx, { id: outside, warningThresholdPct: 70 }))

    expect(found).toMatchObject({
      total: 2,
      withRule: 1,
      without: [{ reason: 'threshold', count: 1, examples: [{ id: outside }] }],
    })
    expect(await world.figures(WARNING)).toMatchObject({ attached: 2, effective: 2 })
  })

  test('is counted under the first reason, with five examples', async () => {
    const world = await aCountedWorld({ sims: 2 })
    const unprovisioned = await world.unprovisioned(7)
    await world.asTenant((tx) => setSimWatchdog(tx, { id: unprovisioned[0] ?? 0, isWatchdogExempt: true }))
    await world.set({ isWatchdogExempt: true, watchdogMode: WatchdogMode.Disabled })
    const found = await world.of('sim')

    expect(found).toMatchObject({ total: 9, withRule: 1 })
    expect(found?.without.map(({ reason, count }) => [reason, count])).toEqual([
      ['notProvisioned', 7],
      ['exempt', 1],
    ])
    expect(found?.without[0]?.examples.map(({ id }) => id)).toEqual(unprovisioned.slice(0, 5))
  })

  test('notProvisioned: unless a rule is about stock', async () => {
    const world = await aCountedWorld()
    const [spare = 0, exempt = 0] = await world.unprovisioned(4)
    await world.asTenant((tx) => tagSim(tx, { id: spare, tag: 'lamp' }))
    await world.asTenant((tx) => setSimWatchdog(tx, { id: exempt, isWatchdogExempt: true }))
    const stock = (match: object) =>
      ruleAboutSims('stock', { status: ['Unprovisioned'], ...match }, ['statusAgeHours', 'greaterThan', 1], [2, 1])
    await world.put([...warning(), stock({})])
    const all = [await world.of('sim'), await world.figures('stock')]
    await world.put([...warning(), stock({ tag: 'lamp' })])

    expect(all).toMatchObject([
      { total: 5, withRule: 4, without: [{ reason: 'exempt', count: 1 }] },
      { attached: 3, effective: 3 },
    ])
    expect(await world.of('sim')).toMatchObject({ withRule: 2, without: [{ reason: 'notProvisioned', count: 3 }] })
    expect(await world.figures('stock')).toMatchObject({ attached: 1, effective: 1 })
  })
})

/** The owner's threshold compared with a number, so that nothing but a setting decides. */
const atThreshold =
  (operator: string, value: number): Edit =>
  (rule) => {
    rule['conditions'] = {
      all: [
        { fact: 'warningThresholdPct', operator, value },
        { fact: 'usagePct', operator: 'greaterThan', value: 1 },
      ],
    }
    rule['examples'] = [
      { fires: true, facts: { warningThresholdPct: 90, usagePct: 2 } },
      { fires: false, facts: { warningThresholdPct: 10, usagePct: 2 } },
    ]
  }

describe('subjects', () => {
  test.each<[string, string, string, boolean]>([
    ['a tag by its pattern', 'tag', 'a*c', true],
    ['a tag that only looks like it', 'tag', 'a_c', false],
    ['a percent sign', 'tag', 'a%c', false],
    ['another case', 'tag', 'A*', false],
    ['a pool by its end', 'pool', '*ters', true],
    ['a pool in the middle', 'pool', 'm*te*s', true],
    ['a part of a pool', 'pool', 'mete', false],
  ])('fit as they do for the watchdog: %s', async (_, field, pattern, fits) => {
    const edit: Edit = matching({ [field]: pattern })
    const world = await aCountedWorld({ rules: warning(edit), sims: 2 })
    await world.rows(sql`update sims set tag = 'abc'`)
    await world.rows(sql`update sims set tag = 'abx' where id = ${world.sims[1]}`)
    const expected = fits ? (field === 'tag' ? 1 : 2) : 0

    expect(await world.of('sim')).toMatchObject({ total: 2, withRule: expected })
    expect(await world.figures(WARNING)).toMatchObject({ attached: expected, effective: expected })
  })

  test('of each kind are counted, without deleted pools', async () => {
    const world = await aCountedWorld({
      rules: only({ 'pool-usage-warning': asShipped, 'tickets-failing': asShipped }),
    })
    const gone = await world.poolOf('gone', TariffType.Standard, WatchdogMode.Monitor)
    const quiet = await world.poolOf('quiet', TariffType.Standard, WatchdogMode.Disabled)
    await world.rows(sql`update pools set deleted_at = now() where id = ${gone}`)
    await world.rows(sql`update pools set warning_threshold_pct = null where id = ${world.poolId}`)
    const { subjects } = await world.ask()

    expect(subjects).toMatchObject([
      { kind: 'sim', total: 1, withRule: 0, without: [{ reason: 'match' }] },
      {
        kind: 'pool',
        total: 2,
        withRule: 0,
        without: [
          { reason: 'mode', count: 1, examples: [{ id: quiet, label: 'quiet' }] },
          { reason: 'threshold', count: 1, examples: [{ id: world.poolId, label: 'meters' }] },
        ],
      },
      { kind: 'tenant', total: 1, withRule: 1, without: [] },
      { kind: 'tag', total: 0, withRule: 0, without: [] },
    ])
  })

  test('of another tenant are not counted', async () => {
    const world = await aCountedWorld()
    const other = await aHarness(world.store)
    await other.unprovisioned(3)
    await world.use(world.sim, 85)
    const theirs = await world.ask({}, other.tenantId)

    expect((await world.of('sim'))?.total).toBe(1)
    expect(theirs.subjects).toMatchObject([{ total: 3, withRule: 0 }, { total: 0 }, { total: 1 }, { total: 0 }])
    expect(theirs).toMatchObject({
      logSince: null,
      rules: [{ rule: WARNING, attached: 0, fired: 0, lastFiredAt: null }],
    })
  })

  test('are counted by as many statements where they are 12,000', async () => {
    const world = await aCountedWorld()
    let statements = 0
    const db = world.store.db.withPlugin({
      transformQuery: ({ node }) => {
        statements += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const counted = async () => {
      statements = 0
      const store = { ...readOnly(world.store), db }
      const found = await inTenant(store, world.tenantId, (tx) => coverage(tx, {}, world.options.rules))
      return { statements, sims: found.subjects[0] }
    }
    const few = await counted()
    await world.asTenant(async (tx) => {
      await byHand(tx)
      await sql`
        insert into sims (iccid, tag, type, status, status_since, created_at, updated_at, warning_threshold_pct)
        select (8930000000000000000 + n)::text, 'tag ' || n, 0, 1, now(), now(), now(), nullif(n % 4, 0)
          from generate_series(1, 12000) n`.execute(tx.q)
    })
    const many = await counted()

    expect(many.sims).toMatchObject({ total: 12_001, withRule: 9001, without: [{ reason: 'threshold', count: 3000 }] })
    expect([few.statements, many.statements]).toEqual([few.statements, few.statements])
    expect(few.statements).toBeLessThan(20)
  })
})

describe('a rule', () => {
  test('that fires most comes first, one that never fired has no instant', async () => {
    const rules = only({ [WARNING]: asShipped, [OVERAGE]: inStage('notify'), 'sim-sms-flood': asShipped })
    const world = await aCountedWorld({ rules, sims: 2 })
    for (const sim of world.sims) await world.use(sim, 85)
    await world.use(world.sim, 30)
    const { rules: found, since, logSince } = await world.ask()
    const firedAt = expect.stringMatching(/^2026-11-10T12:0/)

    expect(found.map(({ rule, fired, lastFiredAt }) => [rule, fired, lastFiredAt])).toEqual([
      [WARNING, 2, firedAt],
      [OVERAGE, 1, firedAt],
      ['sim-sms-flood', 0, null],
    ])
    expect({ since, logSince }).toEqual({ since: '2026-10-01T00:00:00.000Z', logSince: firedAt })
  })

  test('in shadow fires in the shadow log', async () => {
    const world = await aCountedWorld({ rules: warning(inStage('shadow')) })
    await world.use(world.sim, 85)

    expect(await world.figures(WARNING)).toMatchObject({
      stage: 'shadow',
      attached: 1,
      effective: 0,
      fired: 0,
      firedInShadow: 1,
      lastFiredAt: expect.any(String),
    })
  })

  test('is counted in the days that are asked about', async () => {
    const world = await aCountedWorld()
    await world.use(world.sim, 85)
    world.store.now += 3 * 24 * 60 * MINUTE

    expect(await world.figures(WARNING, { days: 4 })).toMatchObject({ fired: 1 })
    expect(await world.figures(WARNING, { days: 2 })).toMatchObject({ fired: 0, lastFiredAt: expect.any(String) })
  })

  test('was undone: resolved soon, acknowledged, silenced', async () => {
    const world = await aCountedWorld({ sims: 3 })
    const [first = 0, second = 0, third = 0] = world.sims
    for (const sim of world.sims) await world.use(sim, 85)
    await world.use(first, -20)
    world.store.now += 60 * MINUTE
    await world.use(second, -20)
    const caller = { actor: 'key:1', keyId: '1', requestId: 'r', action: 'acknowledgeAlert', workflowId: null }
    await inTenant({ ...world.store, clock: () => world.store.now, caller }, world.tenantId, async (tx) => {
      await acknowledgeAlert(tx, { rule: WARNING, simId: third })
      await addSilence(tx, { rule: WARNING, lasts: 'PT1H', reason: 'a test' })
      await addSilence(tx, { simId: third, lasts: 'PT1H', reason: 'names no rule' })
    })

    expect(await world.figures(WARNING)).toMatchObject({
      fired: 3,
      undone: { withinHour: 1, acknowledged: 1, silences: 1, resumed: 0 },
    })
    world.store.now += 24 * 60 * MINUTE + 1
    expect((await world.figures(WARNING, { days: 1 }))?.undone).toEqual({
      withinHour: 0,
      acknowledged: 0,
      silences: 0,
      resumed: 0,
    })
  })

  test('was undone: persons took suspensions back', async () => {
    const world = await aCountedWorld({ rules: only({ [OVERAGE]: asShipped }), sims: 4 })
    const [byPerson = 0, byUpdate = 0, byRenewal = 0, byUndo = 0] = world.sims
    const causeOf = (simId: number) => ({
      by: 'watchdog' as const,
      rule: OVERAGE,
      cycle: '2026-11',
      until: 'renewal' as const,
      workflowId: suspendOnOverageId(world.tenantId, simId, '2026-11'),
    })
    for (const simId of world.sims) await world.complete({ simId, type: TicketType.Suspend, cause: causeOf(simId) })
    await world.complete({ simId: byPerson, type: TicketType.Activate })
    for (const simId of [byUpdate, byRenewal])
      await world.complete({ simId, type: TicketType.Activate, cause: causeOf(simId) })
    await world.complete({ simId: byUndo, type: TicketType.Activate, cause: { by: 'workflow', workflowId: 'undo' } })
    await world.rows(sql`
      insert into audit_log (tenant_id, at, actor, request_id, action, subject, subject_id, after)
      values (${world.tenantId}, now(), 'key:anna', 'r', 'updateWorkflow', 'workflow', ${causeOf(byUpdate).workflowId},
              '{"update": "resume"}')`)

    expect((await world.figures(OVERAGE))?.undone).toMatchObject({ resumed: 3 })
  })
})

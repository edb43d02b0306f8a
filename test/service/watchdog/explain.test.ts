/** Whether an explanation has what a person would have to look up otherwise. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, TicketType, WatchdogMode } from '../../../domain/codes.ts'
import type { ExplainQuery } from '../../../domain/rules/explanation.ts'
import { changeEnforcement } from '../../../service/enforcement/change-enforcement.ts'
import { explain } from '../../../service/watchdog/explain/explain.ts'
import { inTenant, readOnly } from '../../../store/tenancy.ts'
import { ruleAboutSims } from '../../unit/rules/samples.ts'
import {
  asShipped,
  aWorld,
  BOTH,
  type Edit,
  firesOn,
  inStage,
  only,
  type World,
  type WorldOptions,
  withParams,
} from './alert-world.ts'

const HOUR = 3_600_000
const [WARNING, OVERAGE] = ['sim-usage-warning', 'sim-overage']
const warning = (edit: Edit = asShipped) => only({ [WARNING]: edit })

async function anExplainedWorld(options: Partial<WorldOptions> = {}) {
  const world = await aWorld({ rules: warning(), mode: WatchdogMode.Monitor, ...options })
  const ask = (query: ExplainQuery) =>
    inTenant(readOnly(world.store), world.tenantId, (tx) => explain(tx, query, world.options.rules))
  return {
    ...world,
    ask,
    /** What is said of the first rule about the first SIM. */
    now: async (query: Partial<ExplainQuery> = {}) => {
      const { rules } = await ask({ simId: world.sim, ...query })
      const [rule] = rules
      if (rule === undefined) throw new Error('no rule was explained')
      return { ...rule, says: rule.decisions.map(({ what }) => what) }
    },
    /** Of an entry of the log, the newest of a kind. */
    entry: async (kind = 'fired', rule: string = WARNING) => {
      const [row] = await world.rows(sql<{ id: number }>`
        select id from watchdog_log where dedupe_key like ${`${rule}/%/${kind}`} order by id desc limit 1`)
      const found = await ask({ entryId: row?.id ?? 0 })
      return { ...found, rule: found.rules[0] }
    },
  }
}

describe('a subject now', () => {
  test('attached, with the nearest miss', async () => {
    const world = await anExplainedWorld()
    await world.use(world.sim, 76.8)

    expect(await world.now()).toMatchObject({
      rule: WARNING,
      isAttached: true,
      misfits: [],
      stage: 'notify',
      mode: WatchdogMode.Monitor,
      isMet: false,
      phase: 'inactive',
      leaves: [
        {
          fact: 'usagePct',
          value: 76.8,
          operands: [80],
          words: 'usagePct is 76.8 %: not at least 80 % (warningThresholdPct)',
        },
      ],
      alert: null,
      followed: { entries: [], mails: [] },
    })
    expect((await world.now()).nearest.map(({ words }) => words)).toContain('holds if usagePct rises by 3.2 % to 80 %')
  })

  test('not attached: the field of its match', async () => {
    const world = await anExplainedWorld({
      rules: warning((rule) => {
        rule.match = { pool: 'vans*', tag: 'car-*' }
      }),
    })

    expect(await world.now()).toMatchObject({
      isAttached: false,
      misfits: [
        { field: 'pool', expected: 'vans*', got: 'meters', words: 'match.pool asks for vans*; the SIM has meters.' },
        { field: 'tag', expected: 'car-*' },
      ],
    })
  })

  test.each<[string, string, (world: World) => Promise<unknown>]>([
    ['exempt', 'exempt', ({ set }) => set({ isWatchdogExempt: true })],
    ['Disabled', 'mode', ({ set }) => set({ watchdogMode: WatchdogMode.Disabled })],
    ['a rule switched off', 'stage', ({ put }) => put(warning(inStage('off')))],
  ])('not attached: %s', async (_, field, change) => {
    const world = await anExplainedWorld()
    await change(world)

    expect(await world.now()).toMatchObject({ isAttached: false, misfits: [{ field }] })
  })

  test('not provisioned', async () => {
    const world = await anExplainedWorld()
    const [simId = 0] = await world.unprovisioned(1)

    expect(await world.now({ simId })).toMatchObject({
      isAttached: false,
      misfits: [
        {
          field: 'status',
          expected: 'Active or Suspended',
          got: 'Unprovisioned',
          words: 'match.status asks for Active or Suspended; the SIM has Unprovisioned.',
        },
      ],
    })
  })

  test('in stock, and then in use', async () => {
    const match = { status: ['Unprovisioned'] }
    const stock = ruleAboutSims('in-stock', match, ['statusAgeHours', 'greaterThan', 'P1D'], [25, 24])
    const world = await anExplainedWorld({ rules: [stock] })
    const [simId = 0] = await world.unprovisioned(1)
    await world.wait(HOUR)
    await world.wait(24 * HOUR)
    const stored = await world.now({ simId })
    await world.complete({ simId, type: TicketType.Provision, poolId: world.poolId })
    const used = await world.now({ simId })
    await world.evaluate()

    expect(stored).toMatchObject({ isAttached: true, isMet: true, phase: 'firing', misfits: [] })
    expect(used).toMatchObject({ isAttached: false, misfits: [{ field: 'status', got: 'Suspended' }] })
    expect((await world.entry('resolved', 'in-stock')).rule).toMatchObject({
      isMet: false,
      leaves: [{ words: 'status is Suspended: not one of Unprovisioned' }],
    })
  })

  test('that holds is told next, and has told before', async () => {
    const world = await anExplainedWorld()
    await world.record([world.usage(world.sim, { bytesDown: 85_000_000 })])
    world.store.now += 1000
    const before = await world.now()
    await world.evaluate()
    await world.mailAll()
    const after = await world.now()

    expect(before).toMatchObject({ isMet: true, phase: 'firing', says: ['tells'], alert: null })
    expect(after).toMatchObject({
      says: ['toldBefore'],
      alert: { phase: 'firing', leaves: [{ value: 85 }] },
      followed: { entries: [{ message: expect.stringContaining('85 %') }], mails: [{ status: 'pending' }] },
    })
    expect(after.nearest.map(({ words }) => words)).toContain('ends if usagePct falls by more than 5 %, below 80 %')
  })

  test('that waits for its `for`', async () => {
    const world = await anExplainedWorld({ rules: warning(withParams({ for: 'PT6H' })) })
    await world.use(world.sim, 85)
    world.store.now += 2 * HOUR
    const { decisions, says, phase } = await world.now()

    expect([phase, says]).toEqual(['pending', ['pending']])
    expect(decisions[0]?.words).toContain('4 h are left')
    expect(Date.parse(decisions[0]?.until ?? '')).toBe(world.store.now + 4 * HOUR)
  })

  test('whose rule is in shadow was told to nobody', async () => {
    const world = await anExplainedWorld({ rules: warning(inStage('shadow')) })
    await world.use(world.sim, 85)

    expect(await world.now()).toMatchObject({ stage: 'shadow', phase: 'firing', says: ['stage'] })
  })

  test('that is silenced', async () => {
    const world = await anExplainedWorld()
    const { id } = await world.silence({ rule: 'sim-*' })
    await world.use(world.sim, 85)

    const { decisions, says } = await world.now()
    expect(says).toEqual(['toldBefore', 'silenced'])
    expect(decisions[1]).toMatchObject({ silenceId: id, until: expect.stringMatching(/^\d{4}-/) })
  })

  test('that another rule inhibits', async () => {
    const world = await anExplainedWorld({ rules: BOTH })
    await world.use(world.sim, 101)

    expect(await world.now({ rule: WARNING })).toMatchObject({
      decisions: expect.arrayContaining([expect.objectContaining({ what: 'inhibited', by: OVERAGE })]),
    })
  })

  test('that the guard holds', async () => {
    const world = await anExplainedWorld({ sims: 3 })
    await world.asTenant((tx) => changeEnforcement(tx, { alertGuardLeast: 1, alertGuardPct: 0 }))
    const [first = 0, second = 0, third = 0] = world.sims
    await world.use(first, 85)
    await world.record([world.usage(third, { bytesDown: 85_000_000 })])
    const next = await world.now({ simId: third })
    await world.use(second, 85)
    const held = await world.now({ simId: second })

    expect(next.decisions).toContainEqual(expect.objectContaining({ what: 'held', holdId: null }))
    expect(held.decisions).toContainEqual(expect.objectContaining({ what: 'held', holdId: expect.any(Number) }))
    expect(held.followed.holds).toMatchObject([{ state: 'held' }])
  })

  test('that stands still, because the feed is stale', async () => {
    const world = await anExplainedWorld()
    await world.awaitUsage('PT1H')
    await world.use(world.sim, 50)
    world.store.now += 3 * HOUR
    const { says, decisions } = await world.now()

    expect(says).toEqual(['stale'])
    expect(decisions[0]?.words).toContain('usage feed is stale since 2026-11-')
  })

  test('that time alone will turn', async () => {
    const leaf = { fact: 'hoursSinceLastSeen', operator: 'greaterThanInclusive', value: 24 }
    const world = await anExplainedWorld({ rules: warning(firesOn(leaf, [24, 23])) })
    const seenAt = world.store.now
    await world.use(world.sim, 1)
    const { nearest } = await world.now()

    expect(nearest.map(({ at }) => at)).toEqual([null, expect.any(String)])
    expect(Date.parse(nearest[1]?.at ?? '') - seenAt - 24 * HOUR).toBeLessThan(10)
    expect(nearest[1]?.words).toMatch(/^holds at 2026-11-\d\d \d\d:\d\d UTC if nothing comes$/)
  })

  test('agrees with the evaluation that follows', async () => {
    const world = await anExplainedWorld({
      rules: BOTH,
      mode: WatchdogMode.Enforce,
    })
    for (const megabytes of [50, 31, 20, -25, 60]) {
      const correction = megabytes < 0 ? { correction: true } : {}
      await world.record([world.usage(world.sim, { bytesDown: megabytes * 1_000_000, ...correction })])
      world.store.now += 60_000
      const said = (await world.ask({ simId: world.sim })).rules.map(({ rule, phase }) => [rule, phase])
      await world.evaluate()
      const stored = await world.alerts()
      expect(said.toSorted()).toEqual(
        [OVERAGE, WARNING].map((rule) => [rule, stored.find((one) => one.rule === rule)?.state.phase ?? 'inactive']),
      )
    }
  })

  test('is shown the workflow that was asked', async () => {
    const world = await anExplainedWorld({ rules: only({ [OVERAGE]: asShipped }), mode: WatchdogMode.Enforce })
    await world.use(world.sim, 101)

    expect(await world.now()).toMatchObject({
      says: ['toldBefore', 'suspends'],
      alert: { lastSignal: 'overLimit' },
      followed: { workflows: [{ id: expect.stringMatching(/^suspend-on-overage:/), state: 'requested' }] },
    })
  })

  test('may be a pool, or the tenant', async () => {
    const rules = only({ 'pool-overage': asShipped, 'usage-feed-silent': asShipped })
    const world = await anExplainedWorld({ rules, tariff: TariffType['Dynamic Pool'] })
    await world.use(world.sim, 30)

    expect(await world.ask({ poolId: world.poolId })).toMatchObject({
      subject: { kind: 'pool', label: 'meters' },
      rules: [{ rule: 'pool-overage', isMet: false }],
    })
    expect(await world.ask({})).toMatchObject({ subject: { kind: 'tenant' }, rules: [{ rule: 'usage-feed-silent' }] })
  })

  test.each<[string, ExplainQuery, string]>([
    ['a SIM', { simId: 999_999 }, 'sim_not_found'],
    ['a pool', { poolId: 999_999 }, 'pool_not_found'],
    ['a rule', { rule: 'no-such-rule' }, 'rule_not_found'],
    ['an entry', { entryId: 999_999 }, 'log_entry_not_found'],
    ['two at a time', { simId: 1, poolId: 1 }, 'invalid_request'],
  ])('is refused for %s that is not there', async (_, query, code) => {
    const world = await anExplainedWorld()

    await expect(world.ask(query)).rejects.toMatchObject({ code })
  })
})

describe('an entry of the log', () => {
  test('says what was, not what is', async () => {
    const world = await anExplainedWorld()
    const { id } = await world.silence({ simId: world.sim }, 'P1D')
    await world.use(world.sim, 85)
    const before = await world.entry()
    await world.use(world.sim, -60)
    const leaf = { fact: 'usagePct', operator: 'greaterThan', value: 10 }
    await world.put(warning(firesOn(leaf, [11, 10], { stage: 'log' })))
    await world.set({ warningThresholdPct: 20, isWatchdogExempt: true })
    await world.evaluate()
    const after = await world.entry()
    const { followed: _, ...was } = before.rule ?? {}

    expect(before).toMatchObject({
      of: 'entry',
      entry: { message: expect.stringContaining('85 %') },
      rule: {
        rule: WARNING,
        isAttached: true,
        stage: 'notify',
        mode: WatchdogMode.Monitor,
        isMet: true,
        phase: 'firing',
        leaves: [{ value: 85, operands: [80], words: 'usagePct is 85 %: at least 80 % (warningThresholdPct)' }],
        decisions: [{ what: 'tells' }, { what: 'silenced', silenceId: id }],
      },
    })
    expect(after.rule).toMatchObject(was)
    expect(after.at).toBe(before.at)
  })

  test('has its mail, and the end that followed', async () => {
    const world = await anExplainedWorld()
    await world.use(world.sim, 85)
    await world.mailAll()
    await world.use(world.sim, -60)

    expect((await world.entry()).rule?.followed).toMatchObject({
      entries: [{}, { message: expect.stringContaining('25') }],
      mails: [{ status: 'pending', recipient: 'billing@meadow.example' }],
    })
  })
})

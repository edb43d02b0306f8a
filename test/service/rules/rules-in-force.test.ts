/** A rule set in the database that this build refuses, though an older or a newer build accepted it. */

import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { PoolType, TariffType, WatchdogMode } from '../../../domain/codes.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { MB } from '../../../domain/units.ts'
import { rulesDependency } from '../../../process/health.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { changeRuleFile } from '../../../service/rules/change-rule-file.ts'
import { activeRuleSet, versionInForce } from '../../../service/rules/rows/rule-sets.ts'
import { activateRules, noteRefusedRules, rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { tenantsChanged } from '../../../store/changed.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aPool, aStore, aTariff } from '../../setup/estate.ts'
import { putForeignRules } from '../../setup/foreign-rules.ts'
import { aHarness, operatorNotices, watch } from '../harness.ts'

const shipped = await readRuleFiles('')

/** A SIM in a store of its own, since rules are in force for all tenants. */
async function aWatchedSim(store: Awaited<ReturnType<typeof aStore>>) {
  await activateRules(store, shipped, 'the tests')
  const harness = await aHarness(store)
  const poolId = await harness.asTenant(async (tx) => {
    const tariff = await aTariff(tx, TariffType.Standard, 100 * MB)
    return (await aPool(tx, tariff.id, { type: PoolType.Standard, watchdogMode: WatchdogMode.Enforce })).id
  })
  const [simId = 0] = await harness.activeSims(1, { poolId })
  const options = (rules = rulesInForce()) => ({
    rules,
    groupFirstMs: 60_000,
    groupNextMs: 3_600_000,
  })
  return {
    ...harness,
    simId,
    /** Evaluates as a process that has just started; with `rules`, as one that has evaluated before. */
    evaluate: (rules?: ReturnType<typeof rulesInForce>) => watch(store, options(rules), harness.tenantId),
    use: async (bytesDown: number) => {
      store.now += 60_000
      await harness.record([harness.usage(simId, { bytesDown })])
    },
    signals: () =>
      harness.rows(sql<{ signal: string }>`select request ->> 'signal' as signal from workflow_outbox order by id`),
    isDue: async () => (await inPlatform(store, tenantsChanged)).includes(harness.tenantId),
  }
}

/** Puts a set in force that another build accepted. @returns its version */
const accepted = (store: Awaited<ReturnType<typeof aStore>>, files: readonly RuleSource[]): Promise<number> =>
  putForeignRules(store.db, files, new Date(store.now))
/** A set with a fact of another build, and without the rule that has suspended a SIM. */
const foreign = shipped
  .filter(({ file }) => !file.endsWith('sim-overage.json'))
  .map(({ file, text }) => ({ file, text: text.replace('"usagePct"', '"usageShareToday"') }))

test('a byte order mark at the start of a rule file is not stored', async () => {
  const store = await aStore()
  const marked = shipped.map(({ file, text }) => ({ file, text: `\uFEFF${text}` }))

  const { version } = await activateRules(store, marked, 'the tests')

  const { files } = (await inPlatform(store, activeRuleSet)) ?? { files: [] }
  expect(files.map(({ text }) => text[0])).toEqual(shipped.map(() => '{'))
  expect(await activateRules(store, shipped, 'the tests')).toEqual({ version, changed: false })
  expect(await changeRuleFile(store, { ...(marked[0] ?? { file: '', text: '' }), author: 'the tests' })).toEqual({
    version,
    changed: false,
  })
})

describe('a rule set that this build refuses', () => {
  test.each([
    ['in a process that has that set loaded', true],
    ['in a process that has just started', false],
  ])('leaves the last accepted set in force: %s', async (_, isLoaded) => {
    const store = await aStore()
    const harness = await aWatchedSim(store)
    const rules = rulesInForce()
    await harness.use(101 * MB)
    await harness.evaluate(rules)

    await accepted(store, foreign)
    await harness.use(1)
    await harness.evaluate(isLoaded ? rules : undefined)

    expect(await harness.signals()).toEqual([{ signal: 'overLimit' }])
    const firing = await harness.rows(sql`select 1 from alerts where rule = 'sim-overage' and firing`)
    expect(firing).toHaveLength(1)
  })

  test('keeps suspensions whose rule the accepted set lacks', async () => {
    const store = await aStore()
    const harness = await aWatchedSim(store)
    await harness.use(101 * MB)
    await harness.evaluate()
    await activateRules(store, shipped.slice(0, 1), 'the tests')
    await activateRules(store, shipped, 'the tests')
    await sql`update rule_sets set rules = ${JSON.stringify(foreign)}::jsonb where version = ${versionInForce}`.execute(
      store.db,
    )

    await harness.use(1)
    await harness.evaluate()

    expect(await harness.signals()).toEqual([{ signal: 'overLimit' }])
  })

  test('lets the watchdog stand down for exempt SIMs', async () => {
    const store = await aStore()
    const harness = await aWatchedSim(store)
    await harness.use(101 * MB)
    await harness.evaluate()
    await accepted(store, foreign)

    await harness.asTenant((tx) => sql`update sims set is_watchdog_exempt = true`.execute(tx.q))
    await harness.use(1)
    await harness.evaluate()

    expect(await harness.signals()).toEqual([{ signal: 'overLimit' }, { signal: 'standDown' }])
  })

  test('leaves subjects due if no set was accepted', async () => {
    const store = await aStore()
    const harness = await aWatchedSim(store)
    await harness.use(101 * MB)
    await harness.evaluate()
    await sql`update rule_sets set rules = ${JSON.stringify(foreign)}::jsonb`.execute(store.db)

    await harness.use(1)
    await harness.evaluate()

    expect(await harness.signals()).toEqual([{ signal: 'overLimit' }])
    expect(await harness.isDue()).toBe(true)
  })

  test('is told the operator once for each build, and no tenant', async () => {
    const store = await aStore()
    const harness = await aWatchedSim(store)
    const version = await accepted(store, foreign)
    const before = await harness.rows(sql`select id from events`)
    const look = (build = '1.0.0') => noteRefusedRules(store, rulesInForce(), build)

    const noted = [await look(), await look(), ...(await Promise.all([look(), look()])), await look('1.1.0')]

    expect(noted.filter((one) => one !== undefined)).toMatchObject([{ version }, { version }])
    const notices = (await operatorNotices(store)).filter(({ body }) => body.kind === 'rulesRefused')
    expect(notices).toMatchObject(
      ['1.0.0', '1.1.0'].map((build) => ({
        tenant: null,
        body: {
          version,
          build,
          reason: expect.stringContaining('usageShareToday'),
          instead: `version ${version - 1} stays in force`,
        },
      })),
    )
    expect(await harness.rows(sql`select id from events`)).toEqual(before)
  })

  test('is gone by without a hand in a build that takes it', async () => {
    const store = await aStore()
    const harness = await aWatchedSim(store)
    await harness.use(101 * MB)
    await harness.evaluate()
    const version = await accepted(store, foreign)
    const strict = rulesInForce()
    await harness.use(1)
    await harness.evaluate(strict)
    const told = async () => [
      (await harness.log()).map(({ key }) => key),
      await harness.rows(sql`select dedupe_key from notifications`),
      await harness.signals(),
    ]
    const before = await told()
    const refused = await inPlatform(store, strict)

    // As the right build reads the same version.
    await sql`update rule_sets set rules = ${JSON.stringify(shipped)}::jsonb where version = ${version}`.execute(
      store.db,
    )
    const right = rulesInForce()
    await harness.use(1)
    await harness.evaluate(right)

    expect(refused).toMatchObject({ version: version - 1, refused: { version } })
    expect(await inPlatform(store, right)).toMatchObject({ version, refused: null })
    expect(await rulesDependency(store, right).check()).toBe(`version ${version} is in force`)
    expect(await told()).toEqual(before)
    expect(await harness.rows(sql`select 1 from alerts where rule = 'sim-overage' and firing`)).toHaveLength(1)
  })

  test('makes processes unready until it is replaced', async () => {
    const store = await aStore()
    await aWatchedSim(store)
    const { name, check } = rulesDependency(store, rulesInForce())
    const before = await check()
    const version = await accepted(store, foreign)
    const refused = await check().catch((error: unknown) => String(error))
    await activateRules(store, shipped, 'the tests')

    expect(name).toBe('rules')
    expect(before).toBe(`version ${version - 1} is in force`)
    expect(refused).toMatch(new RegExp(`version ${version} .*usageShareToday.*version ${version - 1} stays in force`))
    expect(await check()).toBe(`version ${version - 1} is in force`)
  })
})

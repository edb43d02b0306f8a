/** A rule set in the database that this build refuses, though an older or a newer build accepted it. */

import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { MB } from '../../../domain/units.ts'
import { rulesDependency } from '../../../process/health.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { changeRuleFile } from '../../../service/rules/change-rule-file.ts'
import { activeRuleSet, versionInForce } from '../../../service/rules/rows/rule-sets.ts'
import { activateRules, noteRefusedRules, rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { tenantsChanged } from '../../../store/changed.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { putForeignRules } from '../../setup/foreign-rules.ts'
import { operatorNotices, watch } from '../harness.ts'
import { aWorld, type World } from '../watchdog/alert-world.ts'

const shipped = await readRuleFiles('')

async function aWatchedSim() {
  const world = await aWorld({ rules: shipped })
  return {
    ...world,
    /** Records bytes, and has them evaluated by a process that has just started; with `rules`, by one that has them loaded. */
    useBytes: async (bytesDown: number, rules = rulesInForce()) => {
      world.store.now += 60_000
      await world.record([world.usage(world.sim, { bytesDown })])
      await watch(world.store, { ...world.options, rules }, world.tenantId)
    },
    firing: () => world.rows(sql`select 1 from alerts where rule = 'sim-overage' and firing`),
  }
}

/** Puts a set in force that another build accepted. @returns its version */
const accepted = ({ store }: Pick<World, 'store'>): Promise<number> =>
  putForeignRules(store.db, foreign, new Date(store.now))
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
    const world = await aWatchedSim()
    const rules = rulesInForce()
    await world.useBytes(101 * MB, rules)

    await accepted(world)
    await world.useBytes(1, isLoaded ? rules : undefined)

    expect(await world.signals()).toEqual(['overLimit'])
    expect(await world.firing()).toHaveLength(1)
  })

  test('keeps suspensions whose rule the accepted set lacks', async () => {
    const world = await aWatchedSim()
    await world.useBytes(101 * MB)
    await activateRules(world.store, shipped.slice(0, 1), 'the tests')
    await activateRules(world.store, shipped, 'the tests')
    await sql`update rule_sets set rules = ${JSON.stringify(foreign)}::jsonb where version = ${versionInForce}`.execute(
      world.store.db,
    )

    await world.useBytes(1)

    expect(await world.signals()).toEqual(['overLimit'])
  })

  test('lets the watchdog stand down for exempt SIMs', async () => {
    const world = await aWatchedSim()
    await world.useBytes(101 * MB)
    await accepted(world)

    await world.asTenant((tx) => sql`update sims set is_watchdog_exempt = true`.execute(tx.q))
    await world.useBytes(1)

    expect(await world.signals()).toEqual(['overLimit', 'standDown'])
  })

  test('leaves subjects due if no set was accepted', async () => {
    const world = await aWatchedSim()
    await world.useBytes(101 * MB)
    await sql`update rule_sets set rules = ${JSON.stringify(foreign)}::jsonb`.execute(world.store.db)

    await world.useBytes(1)

    expect(await world.signals()).toEqual(['overLimit'])
    expect((await inPlatform(world.store, tenantsChanged)).includes(world.tenantId)).toBe(true)
  })

  test('is told the operator once for each build, and no tenant', async () => {
    const world = await aWatchedSim()
    const version = await accepted(world)
    const before = await world.rows(sql`select id from events`)
    const look = (build = '1.0.0') => noteRefusedRules(world.store, rulesInForce(), build)

    const noted = [await look(), await look(), ...(await Promise.all([look(), look()])), await look('1.1.0')]

    expect(noted.filter((one) => one !== undefined)).toMatchObject([{ version }, { version }])
    const notices = (await operatorNotices(world.store)).filter(({ body }) => body.kind === 'rulesRefused')
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
    expect(await world.rows(sql`select id from events`)).toEqual(before)
  })

  test('makes processes unready until it is replaced', async () => {
    const world = await aWatchedSim()
    const { name, check } = rulesDependency(world.store, rulesInForce())
    const version = await accepted(world)
    const refused = await check().catch((error: unknown) => String(error))
    await activateRules(world.store, shipped, 'the tests')

    expect(name).toBe('rules')
    expect(refused).toMatch(new RegExp(`version ${version} .*usageShareToday.*version ${version - 1} stays in force`))
    expect(await check()).toBe(`version ${version - 1} is in force`)
  })

  test('is gone by without a hand in a build that takes it', async () => {
    const world = await aWatchedSim()
    await world.useBytes(101 * MB)
    const version = await accepted(world)
    const strict = rulesInForce()
    await world.useBytes(1, strict)
    const told = async () => [
      (await world.log()).map(({ key }) => key),
      await world.rows(sql`select dedupe_key from notifications`),
      await world.signals(),
    ]
    const before = await told()
    const refused = await inPlatform(world.store, strict)

    // As the right build reads the same version.
    await sql`update rule_sets set rules = ${JSON.stringify(shipped)}::jsonb where version = ${version}`.execute(
      world.store.db,
    )
    const right = rulesInForce()
    await world.useBytes(1, right)

    expect(refused).toMatchObject({ version: version - 1, refused: { version } })
    expect(await inPlatform(world.store, right)).toMatchObject({ version, refused: null })
    expect(await rulesDependency(world.store, right).check()).toBe(`version ${version} is in force`)
    expect(await told()).toEqual(before)
    expect(await world.firing()).toHaveLength(1)
  })
})

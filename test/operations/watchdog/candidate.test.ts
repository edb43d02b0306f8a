/** A version that is tried beside the one in force: what its rules would have done is told to the operator alone. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { WatchdogMode } from '../../../domain/codes.ts'
import type { RuleSource } from '../../../domain/watchdog/rule-source.ts'
import { endCandidacy, shadowVersion } from '../../../operations/watchdog/candidate.ts'
import { activateRuleVersion, pushRules } from '../../../operations/watchdog/rule-versions.ts'
import { rulesInForce } from '../../../operations/watchdog/rules-in-force.ts'
import { setStage } from '../../../operations/watchdog/set-stage.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { forgetCandidateAlerts } from '../../../store/watchdog/candidate-alerts.ts'
import { asShipped, aWorld, type Edit, inStage, only, type WorldOptions } from './alert-world.ts'

const BY = { author: 'Ann' }
const said =
  (message: string): Edit =>
  (rule) =>
    Object.assign(rule.event.params, { message })
const IN_FORCE = only({ 'sim-overage': asShipped, 'sim-silent': asShipped })
const EDITED = only({
  'sim-overage': said('SIM {{iccid}} is over by {{overageMB}} MB.'),
  'sim-usage-warning': asShipped,
  'sim-silent': asShipped,
})

async function aTriedWorld({ rules = IN_FORCE, ...options }: Partial<WorldOptions> = {}) {
  const world = await aWorld({ rules, ...options })
  const settle = async () => {
    world.store.now += 60_000
    await world.evaluate()
    await world.evaluate()
  }
  return {
    ...world,
    settle,
    /** Pushes a set and makes it the candidate. @returns its version, and the rules that are decided beside */
    tryOut: async (files: readonly RuleSource[]) => {
      const { version } = await pushRules(world.store, files, BY)
      const tried = await shadowVersion(world.store, version, BY)
      await settle()
      return tried
    },
    end: async (version: number) => {
      await endCandidacy(world.store, version, BY)
      await settle()
    },
    activate: async (version: number) => {
      await activateRuleVersion(world.store, version, BY)
      await settle()
    },
    /** `<version> <rule> <what>`, each entry of the shadow log. */
    shadowed: async () => {
      const rows = await world.rows(sql<{ said: string }>`
        select rule_version || ' ' || rule || ' ' || does as said from shadow_log order by id`)
      return rows.map((row) => row.said)
    },
    beside: () =>
      world.rows(sql<{ rule: string; firing: boolean }>`
        select rule, firing from candidate_alerts order by rule, subject_id`),
    candidate: async () => (await inPlatform(world.store, rulesInForce())).candidate,
    /** What tenants and the carrier get. */
    earnest: async () => ({
      logged: await world.logged(),
      mailed: await world.mailed(),
      signals: await world.signals(),
      firing: (await world.alerts()).filter(({ firing }) => firing).map(({ rule }) => rule),
      would: await world.rows(sql`select rule from would_suspend`),
      webhooks: await world.rows(sql`select type from webhook_events`),
      events: await world.rows(sql`select title from events where title like 'Alert%' order by id`),
    }),
  }
}

describe('a candidate', () => {
  test('tells the operator alone what its changed rules would do', async () => {
    const world = await aTriedWorld()
    await world.use(world.sim, 101)
    const before = await world.earnest()
    const { version, rules } = await world.tryOut(EDITED)
    await world.use(world.sim, 1)

    expect(rules).toEqual(['sim-overage', 'sim-usage-warning'])
    expect((await world.shadowed()).toSorted()).toEqual([
      `${version} sim-overage log`,
      `${version} sim-overage mail`,
      `${version} sim-overage suspend`,
      `${version} sim-usage-warning log`,
    ])
    expect(await world.earnest()).toEqual(before)
    expect(await world.beside()).toEqual([
      { rule: `sim-overage@${version}`, firing: true },
      { rule: `sim-usage-warning@${version}`, firing: true },
    ])
  })

  test('does as little as the mode and its stage let it', async () => {
    const world = await aTriedWorld({ rules: only({ 'sim-silent': asShipped }), mode: WatchdogMode.Monitor })
    const { version } = await world.tryOut(only({ 'sim-overage': inStage('log'), 'sim-usage-warning': inStage('off') }))
    await world.use(world.sim, 101)

    expect(await world.shadowed()).toEqual([`${version} sim-overage log`])
  })

  test('tells its end to the shadow log', async () => {
    const world = await aTriedWorld({ rules: only({ 'sim-silent': asShipped }) })
    const { version } = await world.tryOut(only({ 'sim-overage': asShipped }))
    await world.use(world.sim, 101)
    await world.use(world.sim, -50)

    expect((await world.shadowed()).at(-1)).toBe(`${version} sim-overage log`)
    expect(await world.shadowed()).toHaveLength(4)
    expect(await world.earnest()).toMatchObject({ logged: [], mailed: [], signals: [], firing: [] })
  })

  test('has no rule in a list of rules in force', async () => {
    const world = await aTriedWorld()
    await world.tryOut(EDITED)
    const inForce = await inPlatform(world.store, rulesInForce())

    expect(inForce.rules.map(({ name }) => name)).toEqual(['sim-overage', 'sim-silent'])
    expect(inForce.decided).toHaveLength(4)
  })

  test('is what a promotion in force makes of its difference', async () => {
    const rules = only({ 'sim-overage': inStage('log'), 'sim-silent': asShipped })
    const world = await aTriedWorld({ rules })
    await world.tryOut(only({ 'sim-overage': inStage('notify'), 'sim-silent': asShipped }))
    expect((await world.candidate())?.rules.map(({ name }) => name)).toHaveLength(1)
    await setStage(world.store, 'sim-overage', { stage: 'notify', ...BY })

    expect((await world.candidate())?.rules).toEqual([])
  })
})

describe('the end of a candidacy', () => {
  type World = Awaited<ReturnType<typeof aTriedWorld>>
  const MORE = only({ 'sim-overage': asShipped })
  const over = ['sim-overage']
  const ends: [string, (world: World, version: number) => Promise<unknown>, { firing: string[]; logs: string[] }][] = [
    ['taken back', (world, version) => world.end(version), { firing: over, logs: [] }],
    [
      'put in force',
      (world, version) => world.activate(version),
      { firing: [...over, 'sim-usage-warning'], logs: ['sim-usage-warning/sim/2026-11/fired'] },
    ],
    ['another version is put in force', (world) => world.put(MORE).then(world.settle), { firing: over, logs: [] }],
    ['another version is tried', (world) => world.tryOut(MORE), { firing: over, logs: [] }],
  ]

  test.each(ends)('leaves no ghost and mails nothing twice: %s', async (_name, end, { firing, logs }) => {
    const world = await aTriedWorld()
    await world.use(world.sim, 101)
    const before = await world.earnest()
    await world.mailAll()
    const { version } = await world.tryOut(EDITED)
    const shadowed = await world.shadowed()
    await end(world, version)
    await world.use(world.sim, 1)
    await world.settle()

    const after = await world.earnest()
    expect(after.firing).toEqual(firing)
    expect(after.mailed).toEqual(before.mailed)
    expect(after.logged).toEqual([...before.logged, ...logs])
    expect(after.signals).toEqual(before.signals)
    expect(await world.shadowed()).toEqual(shadowed)
    expect((await world.candidate())?.version).not.toBe(version)
    while ((await inPlatform(world.store, (tx) => forgetCandidateAlerts(tx, 1))) > 0);
    expect((await world.beside()).filter(({ rule }) => rule.endsWith(`@${version}`))).toEqual([])
  })

  test('begins anew where the same version is tried again', async () => {
    const world = await aTriedWorld({ rules: only({ 'sim-silent': asShipped }) })
    const { version } = await world.tryOut(only({ 'sim-overage': asShipped }))
    await world.use(world.sim, 101)
    await world.end(version)
    await world.use(world.sim, -50)
    await shadowVersion(world.store, version, BY)
    await world.settle()

    expect(await world.shadowed()).toHaveLength(3)
    expect((await world.beside()).map(({ firing }) => firing)).toEqual([true])
  })
})

/** Rules about SIMs in stock: they watch Unprovisioned SIMs, and change nothing for other rules. */
import { describe, expect, test } from 'vitest'
import { TicketType } from '../../../domain/codes.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { ruleAboutSims } from '../../unit/rules/samples.ts'
import { aWorld, OVER, OVERAGE, type World } from './alert-world.ts'

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000]
const FIRED = 'in-stock/sim/episode-1/fired'
const RESOLVED = 'in-stock/sim/episode-1/resolved'

/** Tells of SIMs that have been in stock for two days. */
const inStock = (match: object = { status: ['Unprovisioned'] }, params: object = {}) =>
  ruleAboutSims('in-stock', match, ['statusAgeHours', 'greaterThan', 'P2D'], [49, 48], {
    message: 'SIM {{iccid}} has been in stock for {{statusAgeHours}}.',
    resolvedMessage: 'SIM {{iccid}} is in use.',
    ...params,
  })
const BOTH = [...OVERAGE, inStock()]
const { Provision } = TicketType

/** A SIM in stock that is told of. */
async function aStoredSim(rules = BOTH) {
  const world = await aWorld({ rules })
  const [spare = 0] = await world.unprovisioned(1)
  await world.wait(HOUR)
  await world.wait(2 * DAY)
  return { ...world, spare }
}

const lastOf = async (world: Pick<World, 'log'>) => (await world.log()).at(-1)

describe('a SIM in stock', () => {
  test('is told of in time, though nothing marks it when it comes in', async () => {
    const world = await aWorld({ rules: BOTH })
    const [spare = 0] = await world.unprovisioned(1)
    await world.wait(HOUR)
    await world.wait(47 * HOUR - MINUTE)
    const before = await world.logged()
    await world.wait(HOUR)

    expect(before).toEqual([])
    expect(await world.log()).toMatchObject([
      { simId: spare, poolId: null, message: expect.stringMatching(/has been in stock for 2 d/) },
    ])
    expect(await world.mailed()).toEqual([FIRED])
    expect(await world.notices()).toMatchObject([{ facts: { usageMB: 0, limitMB: null, usagePct: null } }])
  })

  test('is told of again only after it was in use', async () => {
    const world = await aStoredSim()
    await world.wait(DAY)
    await world.complete({ simId: world.spare, type: Provision, poolId: world.poolId })
    await world.wait(MINUTE)
    const entry = await lastOf(world)
    await world.complete({ simId: world.spare, type: Provision, unassign: true })
    await world.wait(MINUTE)
    await world.wait(2 * DAY)

    expect(entry?.message).toContain('is in use.')
    expect(await world.logged()).toEqual([FIRED, RESOLVED, 'in-stock/sim/episode-2/fired'])
  })

  test('is not told of while it is exempt', async () => {
    const world = await aWorld({ rules: BOTH })
    const [spare = 0] = await world.unprovisioned(1)
    const exempt = async (isWatchdogExempt: boolean) => {
      await world.asTenant((tx) => setSimWatchdog(tx, { id: spare, isWatchdogExempt }))
      await world.wait(3 * DAY)
    }
    await exempt(true)
    const before = await world.logged()
    await exempt(false)
    const after = await world.logged()
    await exempt(true)

    expect([before, after]).toEqual([[], [FIRED]])
    expect((await lastOf(world))?.message).toContain(': the SIM is exempt from the watchdog.')
  })

  test.each<[string, typeof BOTH]>([
    ['the rule was removed', OVERAGE],
    ['the rule was switched off', [...OVERAGE, inStock({ status: ['Unprovisioned'] }, { stage: 'off' })]],
    ['the rule no longer covers the SIM', [...OVERAGE, inStock({ status: ['Suspended'] })]],
  ])('is told of no longer: %s', async (why, rules) => {
    const world = await aStoredSim()
    await world.put(rules)
    await world.wait(MINUTE)

    expect((await lastOf(world))?.message).toContain(`: ${why}.`)
    expect(await world.alerts()).toMatchObject([{ firing: false }])
  })

  test('is not evaluated for other rules, nor where no rule is about stock', async () => {
    const aged = ruleAboutSims('aged', {}, ['statusAgeHours', 'greaterThan', 'P1D'], [25, 24])
    const world = await aStoredSim([...OVERAGE, aged])
    const keys = (await world.log()).map(({ simId, key }) => [simId, key.split('/')[0]])

    expect(keys).toEqual([[world.sim, 'aged']])
  })

  test('that used something is told of by its usage', async () => {
    const used = ruleAboutSims('used-in-stock', { status: ['Unprovisioned'] }, ['usageMB', 'greaterThan', 5], [6, 5])
    const world = await aStoredSim([...OVERAGE, used])
    await world.use(world.spare, 7)

    expect((await world.log()).map(({ simId, key }) => [simId, key.split('/')[0]])).toEqual([
      [world.spare, 'used-in-stock'],
    ])
  })
})

describe('a SIM that returns to stock', () => {
  test.each<[string, typeof BOTH]>([
    ['without a rule about stock', OVERAGE],
    ['with one', BOTH],
  ])('ends the alerts of other rules %s', async (_, rules) => {
    const world = await aWorld({ rules })
    await world.use(world.sim, 101)
    await world.complete({ simId: world.sim, type: Provision, unassign: true })
    await world.wait(MINUTE)

    expect((await lastOf(world))?.message).toContain(': the SIM is no longer provisioned.')
    expect(await world.logged()).toEqual([OVER, 'sim-overage/sim/2026-11/withdrawn'])
    expect((await world.signals()).filter((signal) => signal !== 'personActed')).toEqual(['overLimit', 'standDown'])
  })
})

test('an edit that leaves a status out withdraws the alerts of its SIMs', async () => {
  const aged = (match: object) =>
    ruleAboutSims('aged', match, ['statusAgeHours', 'greaterThan', 'P1D'], [25, 24], { once: 'episode' })
  const world = await aWorld({ rules: [aged({})] })
  await world.wait(2 * DAY)
  await world.put([aged({ status: ['Suspended'] })])
  await world.wait(MINUTE)

  expect((await lastOf(world))?.message).toContain(': the rule no longer covers the SIM.')
})

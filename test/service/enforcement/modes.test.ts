/** Evaluation, picking and the last check before a suspension use the same mode, and the interface shows it. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { refusalOf } from '../../../domain/enforcement/refusal.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { pickTargets } from '../../../rules/alerts/pick-sims.ts'
import { poolEnforcement, simEnforcement } from '../../../service/enforcement/read-enforcement.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { readSim } from '../../../service/sims/rows/sim-reads.ts'
import { aStore, aTariff } from '../../setup/estate.ts'
import { aHarness, evaluationOptions, watch } from '../harness.ts'

const store = await aStore()
await activateRules(store, await readRuleFiles(''), 'the tests')
const options = evaluationOptions()
const CYCLE = '2026-11'
const { Disabled, Monitor, Enforce } = WatchdogMode
const MODES = [Disabled, Monitor, Enforce] as const
/** Every combination of a SIM’s settings: its own mode or none, exempt or not. */
const SETTINGS = [null, ...MODES].flatMap((own) => [false, true].map((exempt) => ({ own, exempt })))

/** Active SIMs, one per setting, evaluated. All exceed their limit or share by the same amount. */
async function anEstate(tariffType: TariffType, poolMode: WatchdogMode | null) {
  const harness = await aHarness(store)
  const inPool = async (watchdogMode: WatchdogMode) => ({
    poolId: await harness.aPool(tariffType, 100, { watchdogMode }),
  })
  const outside = async () => ({ tariffId: (await harness.asTenant((tx) => aTariff(tx, tariffType, 100))).id })
  const place = await (poolMode === null ? outside() : inPool(poolMode))
  const poolId = 'poolId' in place ? place.poolId : 0
  const ids = await harness.activeSims(SETTINGS.length, place)
  const sims = SETTINGS.map((setting, i) => ({ ...setting, id: ids[i] ?? 0 }))
  for (const { id, own, exempt } of sims) {
    await harness.rows(sql`
      update sims set watchdog_mode = ${own}, is_watchdog_exempt = ${exempt} where id = ${id} returning 1`)
  }
  await harness.record(sims.map(({ id }) => harness.usage(id, { bytesUp: 150 })))
  await watch(store, options, harness.tenantId)
  const asked = await harness.rows(sql<{ id: string }>`
    select workflow_id as id from workflow_outbox where request ->> 'signal' = 'overLimit'`)
  const would = (await harness.log()).filter(({ message }) => message.includes('would have been suspended'))
  return {
    poolId,
    sims,
    asked: asked.map(({ id }) => id),
    /** SIMs that would have been suspended, according to the log. */
    would: ascending(would.map(({ simId }) => simId ?? 0)),
    shown: (id: number) => harness.asTenant(async (tx) => (await readSim(tx, { by: 'id', id }))?.sim.watchdogMode),
    /** Why the SIM’s workflow, started by a rule, does not suspend the SIM. */
    refusal: async (id: number, rule: string) =>
      refusalOf(await harness.asTenant((tx) => simEnforcement(tx, id, CYCLE, rule))),
    picked: () => harness.asTenant((tx) => poolEnforcement(tx, poolId, CYCLE, 'pool-overage')),
  }
}

const ascending = (ids: readonly number[]) => ids.toSorted((a, b) => a - b)
const idsOf = (sims: readonly { readonly id: number }[]) => ascending(sims.map(({ id }) => id))

describe('a rule about SIMs', () => {
  test.each([null, ...MODES])('uses the SIM’s mode, else its pool’s (%j)', async (poolMode) => {
    const estate = await anEstate(TariffType.Standard, poolMode)
    const inMode = (mode: WatchdogMode) =>
      estate.sims.filter(({ own, exempt }) => !exempt && (own ?? poolMode ?? Monitor) === mode)

    for (const { id, own } of estate.sims) expect(await estate.shown(id)).toBe(own ?? poolMode ?? Monitor)
    expect(ascending(estate.asked.map((id) => Number(id.split(':')[2])))).toEqual(idsOf(inMode(Enforce)))
    expect(estate.would).toEqual(idsOf(inMode(Monitor)))
    for (const { id } of estate.sims) {
      const suspends = idsOf(inMode(Enforce)).includes(id)
      expect((await estate.refusal(id, 'sim-overage')) === null).toBe(suspends)
    }
  })
})

describe('a rule about pools', () => {
  test.each(MODES)('uses the pool’s mode (%i), skips exempt and weaker SIMs', async (poolMode) => {
    const estate = await anEstate(TariffType['Dynamic Pool'], poolMode)
    const mayBePicked = idsOf(estate.sims.filter(({ own, exempt }) => !exempt && (own === null || own === Enforce)))

    const pool = await estate.picked()
    const { targets } = pickTargets('all', pool.overageBytes, pool.rows)

    expect(estate.asked.map((id) => id.split(':')[0])).toEqual(poolMode === Enforce ? ['enforce-pool'] : [])
    expect(estate.would).toEqual(poolMode === Monitor ? mayBePicked : [])
    expect(ascending(targets)).toEqual(mayBePicked)
    expect(pool.rows.slice(0, mayBePicked.length).map(({ simId }) => simId)).toEqual(mayBePicked)
    expect(pool.passedOver).toBe(SETTINGS.length - mayBePicked.length)
    for (const { id, own } of estate.sims) {
      expect(await estate.shown(id)).toBe(own ?? poolMode)
      const suspends = poolMode === Enforce && mayBePicked.includes(id)
      expect((await estate.refusal(id, 'pool-overage')) === null).toBe(suspends)
    }
  })
})

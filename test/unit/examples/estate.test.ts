import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { PoolType, SimType, TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { ICCID, IMEI, IMSI, luhnOk, MSISDN } from '../../../domain/identifiers.ts'
import { NewPool } from '../../../domain/pools/pool.ts'
import { NewSim } from '../../../domain/sims/sim.ts'
import { NewTariff, termsOf } from '../../../domain/tariffs/tariff.ts'
import { poolTakesTariff } from '../../../domain/usage/allowance.ts'
import { demoEstate } from '../../../examples/estate.ts'

const estate = demoEstate()
const { tariffs, pools, sims, monthEnd } = estate
const tariffOf = new Map(tariffs.map((tariff) => [tariff.key, tariff]))
const poolOf = new Map(pools.map((pool) => [pool.key, pool]))
const simOf = new Map(sims.map((sim) => [sim.iccid, sim]))

/** Drops fields that only the estate has: the interface does not know them. */
const without = (thing: object, ...keys: readonly string[]) =>
  Object.fromEntries(Object.entries(thing).filter(([key]) => !keys.includes(key)))

describe('demoEstate', () => {
  test('is the same for the same seed only', () => {
    expect(demoEstate()).toEqual(estate)
    expect(demoEstate(7)).not.toEqual(estate)
  })

  test('has every type of tariff, pool, SIM and mode', () => {
    expect(new Set(tariffs.map(({ type }) => type))).toEqual(new Set(Object.values(TariffType)))
    expect(new Set(pools.map(({ type }) => type))).toEqual(new Set(Object.values(PoolType)))
    expect(new Set(pools.map(({ tariff }) => tariffOf.get(tariff)?.type))).toEqual(new Set(Object.values(TariffType)))
    expect(new Set(pools.map(({ watchdogMode }) => watchdogMode))).toEqual(new Set(Object.values(WatchdogMode)))
    expect(sims).toHaveLength(300)
    for (const type of Object.values(SimType)) {
      expect(sims.filter((sim) => sim.type === type).length).toBeGreaterThan(80)
    }
  })

  test('fits the schemas of tariffs, pools and SIMs', () => {
    const refused = [
      ...tariffs.filter((tariff) => !Value.Check(NewTariff, without(tariff, 'key'))),
      ...pools.filter((pool) => !Value.Check(NewPool, { ...without(pool, 'key', 'tariff'), tariffId: 1 })),
      ...sims.filter((sim) => !Value.Check(NewSim, without(sim, 'pool', 'tariff', 'device'))),
    ]

    expect(refused).toEqual([])
    expect(tariffs.map((tariff) => termsOf(tariff).allowanceBytes > 0)).not.toContain(false)
  })

  test('gives every pool and SIM a fitting tariff', () => {
    const wrong = pools.filter(({ type, tariff }) => {
      const given = tariffOf.get(tariff)
      return given === undefined || !poolTakesTariff(type, given.type)
    })

    expect(wrong).toEqual([])
    expect(sims.filter(({ pool }) => pool !== null && !poolOf.has(pool))).toEqual([])
    expect(sims.filter(({ tariff }) => tariff !== null && !tariffOf.has(tariff))).toEqual([])
    const outside = sims.filter(({ pool }) => pool === null)
    expect(outside.length).toBeGreaterThan(0)
    expect(outside.filter(({ tariff }) => tariffOf.get(tariff ?? '')?.type !== TariffType.Standard)).toEqual([])
  })

  test('gives SIMs in shared pools no own tariff', () => {
    const queued = monthEnd.flatMap((change) => {
      const { pool, tariff } = { pool: undefined, tariff: undefined, ...change }
      return [{ pool: pool ?? simOf.get(change.iccid)?.pool ?? null, tariff: tariff ?? null }]
    })
    const idle = [...sims, ...queued].filter(({ pool, tariff }) => {
      const poolTariff = tariffOf.get(poolOf.get(pool ?? '')?.tariff ?? '')
      return poolTariff !== undefined && poolTariff.type !== TariffType.Standard && tariff !== null
    })

    expect(idle.map(({ pool, tariff }) => `${tariff} in ${pool}`)).toEqual([])
    expect(queued.filter(({ tariff }) => tariff !== null)).toHaveLength(2)
  })

  test('has unique, well-formed numbers with right check digits', () => {
    const imeis = sims.flatMap(({ device }) => [device.imei, ...(device.swap === null ? [] : [device.swap.imei])])

    expect(sims.filter(({ iccid }) => !/^89\d{17}$/.test(iccid) || !ICCID.test(iccid) || !luhnOk(iccid))).toEqual([])
    expect(sims.filter(({ imsi }) => imsi.length !== 15 || !IMSI.test(imsi))).toEqual([])
    expect(sims.filter(({ msisdn }) => !MSISDN.test(msisdn))).toEqual([])
    expect(imeis.filter((imei) => imei.length !== 15 || !IMEI.test(imei) || !luhnOk(imei))).toEqual([])
    for (const numbers of [
      sims.map(({ iccid }) => iccid),
      sims.map(({ imsi }) => imsi),
      sims.map(({ msisdn }) => msisdn),
      sims.map(({ tag }) => tag),
      imeis,
    ]) {
      expect(new Set(numbers).size).toBe(numbers.length)
    }
  })

  test('has a few exempt SIMs, swaps and silent devices', () => {
    const count = (of: (sim: (typeof sims)[number]) => boolean) => sims.filter(of).length

    expect(count((sim) => sim.isWatchdogExempt === true)).toBe(4)
    expect(count(({ device }) => device.swap !== null)).toBe(2)
    expect(count(({ device }) => device.silentAfterDays === 0)).toBe(4)
    expect(count(({ device }) => device.silentAfterDays !== null && device.silentAfterDays > 0)).toBe(7)
    expect(count(({ device }) => device.runawayAfterDays !== null)).toBeGreaterThan(10)
  })

  test('queues eleven real changes, at most one a SIM', () => {
    expect(monthEnd).toHaveLength(11)
    expect(new Set(monthEnd.map(({ iccid }) => iccid)).size).toBe(monthEnd.length)
    for (const change of monthEnd) {
      const sim = simOf.get(change.iccid)
      expect(sim).toBeDefined()
      if (change.kind === 'unassign') continue
      expect(change.pool === undefined || (poolOf.has(change.pool) && change.pool !== sim?.pool)).toBe(true)
      expect(change.tariff === undefined || (tariffOf.has(change.tariff) && change.tariff !== sim?.tariff)).toBe(true)
      expect(change.pool ?? change.tariff).toBeDefined()
    }
    expect(new Set(monthEnd.map(({ kind }) => kind))).toEqual(new Set(['reprovision', 'unassign']))
  })
})

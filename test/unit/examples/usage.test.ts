import { describe, expect, test } from 'vitest'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { demoEstate, type EstateSim } from '../../../examples/estate.ts'
import { generateUsage, usageCsv } from '../../../examples/usage.ts'
import { usageFile } from '../../../tools/usage-file.ts'
import { bytesBy, linesOf, recordsOf, shippedFile } from './usage-sums.ts'

/** One rule must fire for fewer SIMs, and suspend fewer: above 20 an hour the guard holds the rest. */
const NEWLY_FIRING = 50
const SUSPENDED = 20
const HOUR = 3_600_000
const OCTOBER = { startsAt: Date.UTC(2026, 9, 1), endsAt: Date.UTC(2026, 10, 1) }

const estate = demoEstate()
const csv = shippedFile()
const lines = linesOf(csv)
const records = recordsOf(lines)
const bySim = bytesBy(records, ({ iccid }) => iccid)

const usageOf = (sim: EstateSim) => bySim.get(sim.iccid) ?? 0
const simsIn = (pool: string | null) => estate.sims.filter((sim) => sim.pool === pool)
const watched = (sim: EstateSim) => sim.isWatchdogExempt !== true && poolOf(sim)?.watchdogMode !== WatchdogMode.Disabled
const poolOf = (sim: EstateSim) => estate.pools.find(({ key }) => key === sim.pool)
const enforced = (sim: EstateSim) => watched(sim) && poolOf(sim)?.watchdogMode === WatchdogMode.Enforce

/** Of the governing tariff: its type, the bytes for one SIM and, for a Fixed pool, the bytes for all SIMs. */
function termsFor(sim: EstateSim) {
  const named = (key: string | null | undefined) => estate.tariffs.find((tariff) => tariff.key === key)
  const [own, pools] = [named(sim.tariff), named(poolOf(sim)?.tariff)]
  const tariff = pools === undefined || (pools.type === TariffType.Standard && own !== undefined) ? own : pools
  const members = simsIn(sim.pool).length
  const fixed = tariff?.fixedPoolTariff?.fixedCapacityBytes ?? 0
  const base = tariff?.standardTariff?.baseTariffBytes ?? tariff?.dynamicPoolTariff?.baseTariffBytes ?? 0
  return { type: tariff?.type, share: fixed > 0 ? Math.floor(fixed / members) : base, fixed }
}
const excessOf = (sim: EstateSim) => Math.max(0, usageOf(sim) - termsFor(sim).share)

const pools = estate.pools.map((pool) => {
  const sims = simsIn(pool.key)
  const [first] = sims
  const { type, fixed } = first === undefined ? { type: undefined, fixed: 0 } : termsFor(first)
  const limit = fixed > 0 ? fixed : sims.reduce((sum, sim) => sum + termsFor(sim).share, 0)
  const usage = sims.reduce((sum, sim) => sum + usageOf(sim), 0)
  return { ...pool, sims, tariffType: type, limit, usage, pct: (100 * usage) / limit }
})
const sharedOver = pools.filter(({ tariffType, pct }) => tariffType !== TariffType.Standard && pct > 100)

describe('the shipped usage file', () => {
  test('equals the output of its generator', () => {
    expect(usageFile() === csv).toBe(true)
  })

  test('differs for another seed', () => {
    expect(usageCsv(generateUsage({ seed: 1, estate, cycle: OCTOBER })) === csv).toBe(false)
  })

  test('has the ingest columns and about 50,000 records', () => {
    expect(csv.split('\n', 1)).toEqual([
      'recordId,iccid,at,bytesUp,bytesDown,voiceSeconds,smsCount,sessions,imei,country,mccMnc',
    ])
    expect(lines.length).toBeGreaterThan(45_000)
    expect(lines.length).toBeLessThan(55_000)
    expect(csv.length).toBeLessThan(6_000_000)
    expect(
      lines.find(
        ({ text }) =>
          !/^r\d{6},89\d{17},2026-10-\d\dT\d\d:\d\d:\d\dZ,\d+,\d+,\d+,\d+,\d+,\d{15},(DE,00101|FR,00102)$/.test(text),
      ),
    ).toBeUndefined()
  })

  test('has sessions in every record, and more in larger ones', () => {
    const sorted = records.toSorted((a, b) => a.bytes - b.bytes)
    const sum = (of: typeof records) => of.reduce((acc, { sessions }) => acc + sessions, 0)

    expect(records.filter(({ sessions }) => sessions < 1)).toEqual([])
    expect(sum(sorted.slice(-5000))).toBeGreaterThan(2 * sum(sorted.slice(0, 5000)))
  })

  test('takes three vans abroad and back', () => {
    const abroad = Map.groupBy(
      records.filter(({ country }) => country === 'FR'),
      ({ iccid }) => iccid,
    )
    const travelled = estate.sims.filter(({ device }) => device.trip !== null)

    expect(travelled.map(({ pool }) => pool)).toEqual(['vans', 'vans', 'vans'])
    expect(new Set(abroad.keys())).toEqual(new Set(travelled.map(({ iccid }) => iccid)))
    for (const { iccid } of travelled) expect(records.findLast((record) => record.iccid === iccid)?.country).toBe('DE')
  })

  test('covers its month and nothing outside it', () => {
    const first = records.reduce((least, { at }) => Math.min(least, at), Infinity)
    const last = records.reduce((most, { at }) => Math.max(most, at), 0)

    expect(first).toBeGreaterThanOrEqual(OCTOBER.startsAt)
    expect(first).toBeLessThan(OCTOBER.startsAt + HOUR)
    expect(last).toBeLessThan(OCTOBER.endsAt)
    expect(last).toBeGreaterThan(OCTOBER.endsAt - HOUR)
  })

  test('repeats some records word for word', () => {
    const repeated = lines.length - records.length

    expect(repeated).toBeGreaterThan(300)
    expect(repeated).toBeLessThan(1_500)
    expect(new Set(lines.map(({ text }) => text)).size).toBe(records.length)
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length)
  })

  test('delivers some records over an hour late', () => {
    const seen = new Set<string>()
    let newest = 0
    const late = lines.filter(({ id, at }) => {
      const isLate = !seen.has(id) && at < newest - HOUR
      seen.add(id)
      newest = Math.max(newest, at)
      return isLate
    })

    expect(late.length).toBeGreaterThan(500)
    expect(late.length).toBeLessThan(lines.length / 20)
  })

  test('adds up to each device’s usage, within rounding', () => {
    const counts = new Map<string, number>()
    for (const { iccid } of records) counts.set(iccid, (counts.get(iccid) ?? 0) + 1)
    const off = estate.sims.filter(
      (sim) => Math.abs(usageOf(sim) - sim.device.monthBytes) > (counts.get(sim.iccid) ?? 0),
    )

    expect(off.map(({ tag }) => tag)).toEqual([])
    expect([...bySim.keys()].filter((iccid) => !estate.sims.some((sim) => sim.iccid === iccid))).toEqual([])
  })

  test('gives vans more traffic by day and on weekdays', () => {
    const vans = new Set(simsIn('vans').map(({ iccid }) => iccid))
    const hours = records.filter(({ iccid }) => vans.has(iccid)).map(({ at }) => new Date(at))
    const count = (of: (at: Date) => boolean) => hours.filter(of).length
    const perDay = (days: readonly number[], of: number) => count((at) => days.includes(at.getUTCDay())) / of

    expect(count((at) => at.getUTCHours() < 4)).toBeLessThan(
      count((at) => at.getUTCHours() >= 6 && at.getUTCHours() < 10) / 4,
    )
    expect(perDay([0, 6], 9)).toBeLessThan(0.7 * perDay([1, 2, 3, 4, 5], 22))
  })

  test('has a heavy tail of record sizes', () => {
    const sizes = records.map(({ bytes }) => bytes).toSorted((a, b) => b - a)
    const sum = (of: readonly number[]) => of.reduce((acc, bytes) => acc + bytes, 0)

    expect(sum(sizes.slice(0, sizes.length / 100))).toBeGreaterThan(sum(sizes) / 10)
  })

  test('has gaps of a day for silent devices only', () => {
    const bySimOf = Map.groupBy(records, ({ iccid }) => iccid)
    const gaps = estate.sims.map((sim) => {
      const times = (bySimOf.get(sim.iccid) ?? []).map(({ at }) => at).toSorted((a, b) => a - b)
      const silentFrom = OCTOBER.startsAt + (sim.device.silentAfterDays ?? 31) * 24 * HOUR
      const marks = [OCTOBER.startsAt, ...times, silentFrom]
      const gap = Math.max(...marks.slice(1).map((at, n) => at - (marks[n] ?? 0)))
      return { tag: sim.tag, gap, after: times.filter((at) => at >= silentFrom).length }
    })

    expect(gaps.filter(({ gap, after }) => gap > 24 * HOUR || after > 0)).toEqual([])
  })

  test('delivers an old device’s last records after its swap', () => {
    const swapped = estate.sims.filter(({ device }) => device.swap !== null)
    for (const { iccid, device } of swapped) {
      const its = lines.filter((line) => line.iccid === iccid)
      const oldest = its.findLastIndex(({ imei }) => imei === device.imei)
      const newest = its.findIndex(({ imei }) => imei === device.swap?.imei)

      expect(newest).toBeGreaterThan(0)
      expect(oldest).toBeGreaterThan(newest)
      expect(Math.max(...its.filter(({ imei }) => imei === device.imei).map(({ at }) => at))).toBeLessThan(
        Math.min(...its.filter(({ imei }) => imei !== device.imei).map(({ at }) => at)),
      )
    }
    expect(swapped).toHaveLength(2)
    expect(bytesBy(records, ({ iccid, imei }) => `${iccid} ${imei}`).size).toBe(bySim.size + swapped.length)
  })
})

describe('the shipped usage file, for the watchdog', () => {
  test('takes watched pools of each type past their thresholds', () => {
    const crossed = pools.filter((pool) => pool.pct >= (pool.warningThresholdPct ?? Infinity))

    expect(new Set(crossed.map(({ tariffType }) => tariffType))).toEqual(new Set(Object.values(TariffType)))
    expect(crossed.map(({ key }) => key)).toEqual(['vans', 'lamps', 'wells', 'weather', 'chargers'])
  })

  test('puts one Dynamic and one Fixed pool into overage', () => {
    expect(sharedOver.map(({ key, tariffType, watchdogMode }) => [key, tariffType, watchdogMode])).toEqual([
      ['vans', TariffType['Dynamic Pool'], WatchdogMode.Enforce],
      ['lamps', TariffType['Fixed Pool'], WatchdogMode.Monitor],
    ])
  })

  test.each([
    ['vans', 4],
    ['lamps', 2],
  ])('covers the overage of %s with %i SIMs', (key, expected) => {
    const pool = sharedOver.find((over) => over.key === key)
    const excesses = (pool?.sims ?? [])
      .filter(watched)
      .map(excessOf)
      .toSorted((a, b) => b - a)
    let left = (pool?.usage ?? 0) - (pool?.limit ?? 0)
    const stopped = excesses.filter((excess) => {
      const stops = left > 0 && excess > 0
      left -= stops ? excess : 0
      return stops
    })

    expect(stopped).toHaveLength(expected)
    expect(excesses.filter((excess) => excess > 0).length).toBeLessThanOrEqual(10)
  })

  test('puts a few SIMs over their own allowance', () => {
    const over = estate.sims.filter(
      (sim) => termsFor(sim).type === TariffType.Standard && watched(sim) && excessOf(sim) > 0,
    )

    expect(over.length).toBeLessThanOrEqual(15)
    expect(over.filter(enforced)).toHaveLength(8)
    expect(new Set(over.map(({ pool }) => pool))).toEqual(new Set(['households', 'chargers', null]))
  })

  test('puts exempt SIMs over in Standard and shared pools', () => {
    const over = estate.sims.filter((sim) => sim.isWatchdogExempt === true && excessOf(sim) > 0)

    expect(over.map(({ pool }) => pool)).toEqual(['households', 'vans'])
  })

  test('stays below the guards for firing and suspending', () => {
    const sims = estate.sims.filter(watched)
    const atThreshold = sims.filter((sim) => {
      const threshold = sim.warningThresholdPct ?? poolOf(sim)?.warningThresholdPct ?? Infinity
      return (100 * usageOf(sim)) / termsFor(sim).share >= threshold
    })
    const overShare = sims.filter((sim) => excessOf(sim) > 0)
    const burning = sims.filter((sim) => sim.enableBurnRateAlerts ?? poolOf(sim)?.enableBurnRateAlerts ?? false)
    const silent = sims.filter(({ device }) => device.silentAfterDays !== null)
    const suspendable = overShare.filter(enforced)
    const own = suspendable.filter((sim) => termsFor(sim).type === TariffType.Standard)

    expect({
      atThreshold: atThreshold.length,
      overShare: overShare.length,
      burning: burning.length,
      silent: silent.length,
    }).toEqual({ atThreshold: 34, overShare: 30, burning: 46, silent: 10 })
    for (const firing of [atThreshold, overShare, burning, silent]) expect(firing.length).toBeLessThan(NEWLY_FIRING)
    for (const stopped of [own, suspendable]) expect(stopped.length).toBeLessThan(SUSPENDED)
  })
})

describe('generateUsage', () => {
  test('refuses a cycle that is not whole days', () => {
    const cycle = { startsAt: OCTOBER.startsAt, endsAt: OCTOBER.startsAt + 300_000 }

    expect(() => [...generateUsage({ seed: 1, estate, cycle })]).toThrow('expected whole days in UTC')
  })

  test('gives a SIM the same usage beside any others', () => {
    const [first, second] = estate.sims
    if (first === undefined || second === undefined) throw new Error('the estate is empty')
    const of = (sims: EstateSim[]) =>
      [...generateUsage({ seed: 1, estate: { sims }, cycle: OCTOBER })]
        .filter(({ iccid }) => iccid === first.iccid)
        .map((record) => ({ ...record, recordId: 'any' }))

    expect(of([first, second])).toEqual(of([first]))
  })
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PoolType, TariffType, TicketType } from '../../../domain/codes.ts'
import { fromMoney } from '../../../domain/units.ts'
import { poolFigures as definition, governingTariff } from '../../../domain/usage/allowance.ts'
import { poolTotals, type StatementLine } from '../../../service/month-end/rows/statements.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { cases } from '../../setup/cases.ts'
import { aPool, aStore, aTariff } from '../../setup/estate.ts'
import { aHarness } from '../harness.ts'
import { at, CLOSE, CYCLE, charge, close, inOctober, statement, total } from './october.ts'
import { AMOUNTS } from './statement-model.ts'

const store = await aStore()

/** The most bytes that one record may have. */
const MOST_BYTES = 10 ** 12
const fee = fc.integer({ min: 0, max: 30_000_000 }).map((micro) => micro / 1_000_000)
const amount = fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: MOST_BYTES }))
const day = fc.integer({ min: 1, max: 29 })
const tariff = fc.record({
  type: fc.constantFrom(...Object.values(TariffType)),
  bytes: amount,
  simMonthlyFee: fee,
  fixedBucketCost: fee,
  smsFee: fee,
  voiceFee: fee,
  overageFeePerGb: fee,
})
type RandomTariff = typeof tariff extends fc.Arbitrary<infer T> ? T : never
const life = fc.record({
  pool: fc.integer({ min: 0, max: 2 }),
  own: fc.boolean(),
  joins: day,
  activated: fc.boolean(),
  suspended: fc.option(day),
  leaves: fc.option(day),
  uses: fc.array(
    fc.record({
      day: fc.integer({ min: 0, max: 30 }),
      bytes: amount,
      voiceSeconds: fc.integer({ min: 0, max: 500 }),
      smsCount: fc.integer({ min: 0, max: 9 }),
    }),
    { maxLength: 4 },
  ),
})
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never
const month = fc.record({ tariffs: fc.tuple(tariff, tariff), own: tariff, lives: fc.array(life, { maxLength: 6 }) })

/** A tariff with fees of its own. @returns its id */
const made = async (tx: TenantTx, { type, bytes, ...fees }: RandomTariff) => (await aTariff(tx, type, bytes, fees)).id

/** Rounded half up, exactly. */
const divided = (dividend: bigint, divisor: bigint) => Number((2n * dividend + divisor) / (2n * divisor))

/** Whether a SIM may have its own tariff in a pool (0: outside pools): only where no pool's tariff governs. */
const governsItself = (
  place: number,
  { tariffs, own }: { readonly tariffs: readonly RandomTariff[]; readonly own: RandomTariff },
) => (place === 0 ? own : tariffs[place - 1])?.type === TariffType.Standard

/** The expected statement of a month of random lives, computed from the records alone. */
function expected(
  { lives, tariffs, own }: { lives: readonly Life[]; tariffs: readonly RandomTariff[]; own: RandomTariff },
  sims: readonly number[],
  pools: readonly number[],
) {
  const allowance = (of: RandomTariff) => ({ type: of.type, allowanceBytes: of.bytes })
  return [0, 1, 2].flatMap((place) => {
    const poolTariff = place === 0 ? null : (tariffs[place - 1] ?? null)
    const members = lives.flatMap((one, i) => {
      const simId = sims[i] ?? 0
      const ends = one.leaves !== null && one.leaves > one.joins ? one.leaves : 99
      // Before it joined and after it left, its usage counts outside pools.
      const here = one.uses.filter((use) => (use.day >= one.joins && use.day < ends ? one.pool : 0) === place)
      const lives = one.pool === place
      const contributing = lives && one.activated
      if (here.length === 0 && !contributing) return []
      const sum = (of: (use: Life['uses'][number]) => number) => here.reduce((total, use) => total + of(use), 0)
      // A ledger row uses the last tariff in force in its cycle and pool, whenever the usage was.
      const hasOwn = lives && one.own && governsItself(place, { tariffs, own })
      return [
        {
          simId,
          contributing,
          usageBytes: sum((use) => use.bytes),
          voiceSeconds: sum((use) => use.voiceSeconds),
          smsCount: sum((use) => use.smsCount),
          own: hasOwn ? allowance(own) : null,
        },
      ]
    })
    const figures = definition(poolTariff && allowance(poolTariff), members)
    const lines = members.map((member, i) => {
      const governing = governingTariff(
        member.own && { ...own, ...member.own },
        poolTariff && { ...poolTariff, ...allowance(poolTariff) },
      )
      const overageBytes = figures.rows[i]?.overageBytes ?? 0
      const micro = (of: (fees: RandomTariff) => number) => (governing === null ? 0 : fromMoney(of(governing)))
      return {
        poolId: pools[place] ?? 0,
        simId: member.simId,
        bytes: member.usageBytes,
        voiceSeconds: member.voiceSeconds,
        smsCount: member.smsCount,
        limitBytes: figures.rows[i]?.limitBytes,
        overageBytes,
        feeMicro: member.contributing ? micro((fees) => fees.simMonthlyFee) : 0,
        smsMicro: member.smsCount * micro((fees) => fees.smsFee),
        voiceMicro: divided(BigInt(member.voiceSeconds) * BigInt(micro((fees) => fees.voiceFee)), 60n),
        overageMicro: divided(BigInt(overageBytes) * BigInt(micro((fees) => fees.overageFeePerGb)), 1_000_000_000n),
      }
    })
    return [{ poolId: pools[place] ?? 0, poolTariff, figures, lines }]
  })
}

/** Runs the random month through the service and closes it. */
async function lived({ lives, tariffs, own }: typeof month extends fc.Arbitrary<infer T> ? T : never) {
  const harness = await aHarness(store)
  store.now = at(0)
  const { ownId, pools } = await harness.asTenant(async (tx) => {
    const pools = [0]
    for (const one of tariffs) {
      const type = one.type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard
      pools.push((await aPool(tx, await made(tx, one), { type })).id)
    }
    return { ownId: await made(tx, own), pools }
  })
  const sims: number[] = []
  for (const one of lives) {
    store.now = at(one.joins)
    const hasOwn = one.own && governsItself(one.pool, { tariffs, own })
    const assignment = { poolId: pools[one.pool] || null, tariffId: hasOwn ? ownId : null }
    const [simId = 0] = await harness.unprovisioned(1)
    await harness.complete({ simId, type: TicketType.Provision, ...assignment })
    if (one.activated) await harness.complete({ simId, type: TicketType.Activate })
    if (one.activated && one.suspended !== null && one.suspended > one.joins) {
      store.now = at(one.suspended)
      await harness.complete({ simId, type: TicketType.Suspend })
    }
    if (one.leaves !== null && one.leaves > one.joins) {
      store.now = Math.max(store.now, at(one.leaves))
      const effectiveAt = new Date(at(one.leaves))
      await harness.complete({ simId, type: TicketType.Provision, unassign: true, effectiveAt })
    }
    sims.push(simId)
  }
  store.now = CLOSE
  const records = lives.flatMap((one, i) =>
    one.uses.map((use) =>
      harness.usage(sims[i] ?? 0, {
        at: new Date(at(use.day)).toISOString(),
        bytesDown: use.bytes,
        voiceSeconds: use.voiceSeconds,
        smsCount: use.smsCount,
      }),
    ),
  )
  expect((await harness.record(records)).rejected).toEqual([])
  await close(harness)
  return { harness, sims, pools }
}

/** The computed part of a line; the rest is names. */
const figuresOf = (line: StatementLine) =>
  Object.fromEntries((['poolId', 'simId', ...AMOUNTS] as const).map((name) => [name, line[name]]))

describe('a statement', () => {
  test('matches the month’s records and tariffs, line by line', async () => {
    await fc.assert(
      fc.asyncProperty(month, async (one) => {
        const { harness, sims, pools } = await lived(one)
        const lines = await statement(harness)
        const should = expected(one, sims, pools)

        expect(lines.filter(({ kind }) => kind === 'sim').map(figuresOf)).toEqual(should.flatMap((pool) => pool.lines))
        for (const { poolId, poolTariff, figures } of should) {
          const own = lines.find((line) => line.kind === 'pool' && line.poolId === poolId)
          const rows = lines.filter((line) => line.kind === 'sim' && line.poolId === poolId)
          expect(total(rows, (line) => line.overageBytes)).toBe(figures.overageBytes)
          if (own === undefined) continue
          expect(own).toMatchObject({
            bytes: figures.usageBytes,
            limitBytes: figures.limitBytes,
            overageBytes: figures.overageBytes,
            feeMicro: poolTariff?.type === TariffType['Fixed Pool'] ? fromMoney(poolTariff.fixedBucketCost) : 0,
          })
        }
        const totals = await harness.asTenant((tx) => poolTotals(tx, CYCLE))
        expect(totals.reduce((sum, { chargeMicro }) => sum + chargeMicro, 0)).toBe(total(lines, charge))
        const fixed = one.tariffs.filter((each) => each.type === TariffType['Fixed Pool'])
        const buckets = fixed.reduce((sum, { fixedBucketCost }) => sum + fromMoney(fixedBucketCost), 0)
        const ofPools = lines.filter(({ kind }) => kind === 'pool')
        expect(total(ofPools, charge)).toBe(buckets)
      }),
      { numRuns: cases(25) },
    )
  }, 60_000)

  test('charges usage from before provisioning by the SIM’s tariff', async () => {
    const harness = await inOctober(store)
    const { id: tariffId } = await harness.asTenant((tx) => aTariff(tx, TariffType.Standard, 1000))
    const [simId = 0] = await harness.unprovisioned(1)
    await harness.complete({ simId, type: TicketType.Provision, tariffId })
    store.now = CLOSE
    const used = (day: number) => harness.usage(simId, { at: new Date(at(day)).toISOString(), smsCount: 1 })
    await harness.record([used(2), used(4)])

    await close(harness)

    expect(await statement(harness)).toMatchObject([{ tariffId, smsCount: 2, smsMicro: 2 * fromMoney(0.05) }])
  })
})

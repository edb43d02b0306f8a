import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PoolType, TariffType, TicketType } from '../../../domain/codes.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'
import { fromMoney } from '../../../domain/units.ts'
import { ALL_FACTS } from '../../../rules/facts-needed.ts'
import { poolTotals } from '../../../service/month-end/rows/statements.ts'
import { readSims, readSituation } from '../../../service/watchdog/read-batch.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { cases } from '../../setup/cases.ts'
import { aPool, aStore, aTariff } from '../../setup/estate.ts'
import { aHarness, type Harness } from '../harness.ts'
import { aLine, type LineModel, OUTSIDE } from '../usage/figure-model.ts'
import { FOREVER, type PoolModel, type Terms } from '../usage/figure-world.ts'
import { at, CLOSE, CYCLE, charge, close, inOctober, statement, total } from './october.ts'
import { figures, hasAmounts, statementOf } from './statement-model.ts'

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
const month = fc.record({ tariffs: fc.tuple(tariff, tariff), own: tariff, lives: fc.array(life, { maxLength: 6 }) })

/** A tariff with fees of its own. @returns its id */
const made = async (tx: TenantTx, { type, bytes, ...fees }: RandomTariff) => (await aTariff(tx, type, bytes, fees)).id

/** As a statement goes by it: with fees in micro-units. */
const termsOf = ({ type, bytes, ...fees }: RandomTariff): Terms => ({
  type,
  allowanceBytes: bytes,
  simMonthlyFee: fromMoney(fees.simMonthlyFee),
  fixedBucketCost: type === TariffType['Fixed Pool'] ? fromMoney(fees.fixedBucketCost) : 0,
  smsFee: fromMoney(fees.smsFee),
  voiceFee: fromMoney(fees.voiceFee),
  overageFeePerGb: fromMoney(fees.overageFeePerGb),
})

/** Whether a SIM may have its own tariff in a pool (0: outside pools): only where no pool's tariff governs. */
const governsItself = (
  place: number,
  { tariffs, own }: { readonly tariffs: readonly RandomTariff[]; readonly own: RandomTariff },
) => (place === 0 ? own : tariffs[place - 1])?.type === TariffType.Standard

/** Runs the random month through the service and closes it. @returns also the month as the model has it */
async function lived({ lives, tariffs, own }: typeof month extends fc.Arbitrary<infer T> ? T : never) {
  const harness = await aHarness(store)
  store.now = at(0)
  const pools: PoolModel[] = []
  const ownId = await harness.asTenant(async (tx) => {
    for (const one of tariffs) {
      const type = one.type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard
      const { id } = await aPool(tx, await made(tx, one), { type })
      pools.push({ id, tariff: termsOf(one), createdAt: store.now, deletedAt: FOREVER })
    }
    return made(tx, own)
  })
  const lines: LineModel[] = []
  for (const one of lives) {
    const [from, to] = [at(one.joins), one.leaves !== null && one.leaves > one.joins ? at(one.leaves) : FOREVER]
    store.now = from
    const hasOwn = one.own && governsItself(one.pool, { tariffs, own })
    const assignment = { poolId: pools[one.pool - 1]?.id ?? null, tariffId: hasOwn ? ownId : null }
    const [simId = 0] = await harness.unprovisioned(1)
    await harness.complete({ simId, type: TicketType.Provision, ...assignment })
    if (one.activated) await harness.complete({ simId, type: TicketType.Activate })
    if (one.activated && one.suspended !== null && one.suspended > one.joins) {
      store.now = at(one.suspended)
      await harness.complete({ simId, type: TicketType.Suspend })
    }
    if (to !== FOREVER) {
      store.now = Math.max(store.now, to)
      await harness.complete({ simId, type: TicketType.Provision, unassign: true, effectiveAt: new Date(to) })
    }
    lines.push({
      ...aLine(simId),
      memberships: [{ ...assignment, poolId: assignment.poolId ?? OUTSIDE, from, to }],
      active: one.activated ? [{ from, to }] : [],
      records: one.uses.map(({ day, ...used }) => ({ id: '', at: at(day), sessions: 0, ...used })),
    })
  }
  store.now = CLOSE
  const records = lines.flatMap(({ simId, records }) =>
    records.map(({ at: ms, bytes: bytesDown, voiceSeconds, smsCount }) =>
      harness.usage(simId, { at: new Date(ms).toISOString(), bytesDown, voiceSeconds, smsCount }),
    ),
  )
  expect((await harness.record(records)).rejected).toEqual([])
  await close(harness)
  return { harness, past: { lines, pools, tariffs: new Map([[ownId, termsOf(own)]]) } }
}

/** What a rule reads of a SIM's charges in the ended cycle, in micro-units. */
const chargesInFacts = (harness: Harness, simId: number) =>
  harness.asTenant(async (tx) => {
    const situation = await readSituation(tx, CLOSE, cycleAt('P1M', at(1)))
    const [sim] = await readSims(tx, situation, [simId], ALL_FACTS)
    return [fromMoney(sim?.facts.cost ?? 0), fromMoney(sim?.facts.overageCost ?? 0)]
  })

describe('a statement', () => {
  test('matches the month’s records and tariffs, line by line', async () => {
    await fc.assert(
      fc.asyncProperty(month, async (one) => {
        const { harness, past } = await lived(one)
        const lines = await statement(harness)

        const should = statementOf(past, cycleAt('P1M', at(1))).filter(hasAmounts)
        expect(lines.map(figures).filter(hasAmounts)).toEqual(should)
        const rows = (await harness.ledger()).filter(({ cycle }) => cycle === CYCLE)
        expect(lines.filter(({ kind }) => kind === 'sim')).toHaveLength(rows.length)
        for (const { simId, memberships, records } of past.lines) {
          const [place] = memberships
          // The facts are of the place that it is in.
          if (place?.to !== FOREVER || records.some((record) => record.at < place.from)) continue
          const own = lines.find((line) => line.kind === 'sim' && line.simId === simId)
          expect(await chargesInFacts(harness, simId)).toEqual(own ? [charge(own), own.overageMicro] : [0, 0])
        }
        const totals = await harness.asTenant((tx) => poolTotals(tx, CYCLE))
        expect(totals.reduce((sum, { chargeMicro }) => sum + chargeMicro, 0)).toBe(total(lines, charge))
      }),
      { numRuns: cases(25) },
    )
  })

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

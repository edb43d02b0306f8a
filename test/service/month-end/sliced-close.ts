/** Closes a cycle of a world in slices, between which steps are taken and processes die. Each slice is compared with the model. */
import { sql } from 'kysely'
import { expect } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { closeCycle, prepareClose, stateSlice } from '../../../service/month-end/close-cycle.ts'
import { pageOfLines, statementTotals } from '../../../service/month-end/rows/statements.ts'
import { placesOf, type Step, take, type World } from '../usage/figure-world.ts'
import { type AMOUNTS, type Figures, figures, hasAmounts, statementOf } from './statement-model.ts'

export interface Slices {
  /** Ledger rows of a slice. */
  readonly rows: number
  /** One before each slice but the first. */
  readonly between: readonly Step[]
  /** Numbers of the slices whose process dies before the commit; they are written again. */
  readonly killed: readonly number[]
}

interface Place {
  readonly adjusts: string
  readonly poolId: number
  readonly simId: number
}

class Killed extends Error {}

/** A line's place in the statement: a pool's own comes before its SIMs. */
const isBetween = ({ poolId, simId }: { poolId: number; simId: number | null }, after: Place, to: Place) => {
  const isAfter = (place: Place) => poolId > place.poolId || (poolId === place.poolId && (simId ?? 0) > place.simId)
  return isAfter(after) && !isAfter(to)
}

const stated = async (world: World, cycle: Cycle): Promise<(Figures & { readonly id: number })[]> => {
  const rows = await world.harness.rows(
    sql<Record<(typeof AMOUNTS)[number], number> & { id: number; poolId: number; simId: number | null }>`
      select id, pool_id as "poolId", sim_id as "simId", bytes, voice_seconds as "voiceSeconds", sms_count as "smsCount",
             limit_bytes as "limitBytes", overage_bytes as "overageBytes", fee_micro as "feeMicro",
             sms_micro as "smsMicro", voice_micro as "voiceMicro", overage_micro as "overageMicro"
        from statements where cycle_key = ${cycle.key} and kind in ('sim', 'pool') order by id`,
  )
  return rows.map((row) => ({ id: row.id, ...figures(row) }))
}

async function placeNow(world: World, cycle: Cycle): Promise<Place | undefined> {
  const [place] = await world.harness.rows(sql<Place>`
    select adjusts, pool_id as "poolId", sim_id as "simId" from statement_progress where cycle_key = ${cycle.key}`)
  return place
}

export async function closeInSlices(world: World, cycle: Cycle, { rows, between, killed }: Slices): Promise<void> {
  const { harness } = world
  const steps = between.values()
  let known = new Set<number>()
  let last: Place = { adjusts: '', poolId: -1, simId: Number.MAX_SAFE_INTEGER }
  for (let slice = 0, done = false; !done; slice++) {
    if (slice > 0) {
      const { value: step } = steps.next()
      if (step !== undefined) await take(world, step)
    }
    if (killed.includes(slice)) {
      const dying = harness.asTenant(async (tx) => {
        await stateSlice(tx, cycle, rows)
        throw new Killed()
      })
      await expect(dying).rejects.toThrow(Killed)
    }
    done = await harness.asTenant((tx) => stateSlice(tx, cycle, rows))
    const now = (await placeNow(world, cycle)) ?? last
    const lines = await stated(world, cycle)
    const added = lines.filter(({ id }) => !known.has(id))
    expectToBe(world, cycle, added, { after: last, to: now.adjusts === '' ? now : { ...now, poolId: Infinity } })
    expect(await harness.asTenant((tx) => pageOfLines(tx, cycle.key, { afterLine: 0, limit: 10 }))).toMatchObject({
      lines: [],
    })
    expect(await harness.asTenant((tx) => statementTotals(tx, cycle.key))).toBeUndefined()
    known = new Set(lines.map(({ id }) => id))
    last = now
  }
  await prepareClose(world.store, harness.tenantId, cycle.key, { rows })
  await harness.asTenant((tx) => closeCycle(tx, cycle.key))
}

/** Compares the lines that a slice has added with those that the model has now between two places. */
function expectToBe(
  world: World,
  cycle: Cycle,
  added: readonly (Figures & { readonly id: number })[],
  { after, to }: { readonly after: Place; readonly to: Place },
): void {
  const isStandard = (poolId: number) =>
    placesOf(world).find(({ id }) => id === poolId)?.tariff?.type === TariffType.Standard
  // A cut pool's own line is the sum of its SIMs' lines, whenever they were written: it is compared with them at the end.
  const isOfModel = ({ poolId, simId }: Figures) => simId !== null || !isStandard(poolId)
  const should = after.adjusts === '' ? statementOf(world, cycle).filter((line) => isBetween(line, after, to)) : []
  expect(
    added
      .filter(isOfModel)
      .filter(hasAmounts)
      .map(({ id: _, ...figures }) => figures),
    `the slice of ${cycle.key} to pool ${to.poolId}, SIM ${to.simId}`,
  ).toEqual(should.filter(isOfModel).filter(hasAmounts))
}

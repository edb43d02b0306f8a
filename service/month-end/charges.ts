/** The charges of a cycle by pool, and its adjustments: those of its statement, or those that a close would write now. */
import type { MonthEndPlan } from '../../domain/month-end/plan.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { cycleNamed } from '../usage/rows/cycles.ts'
import { openCycle, openWhole } from '../usage/rows/open-cycle.ts'
import { changedSince } from '../usage/rows/restatements.ts'
import { adjustmentNow, type PoolCharges, poolCharges } from './rows/plan.ts'
import type { CycleRow } from './rows/progress.ts'
import { adjustmentTotals } from './rows/statements.ts'

interface Charges {
  readonly charges: readonly PoolCharges[]
  readonly adjustments: Adjustments
  readonly totals: MonthEndPlan['totals']
}

/**
 * Reads the charges of a cycle. May open it, as the close would: call it where writes are taken back.
 *
 * @param state undefined: it has not been opened
 * @param share part of the cycle with known usage, above 0 and at most 1: overage is forecast by it
 */
export async function readCharges(
  tx: TenantTx,
  cycle: Cycle,
  state: Pick<CycleRow, 'closedAt'> | undefined,
  share = 1,
): Promise<Charges> {
  const isClosed = state !== undefined && state.closedAt !== null
  // The running cycle may stay open: any request opens it.
  if (state === undefined) await (isRunning(tx, cycle) ? openCycle : openWhole)(tx, cycle)
  const charges = await poolCharges(tx, cycle, isClosed, share)
  const adjustments = await adjustmentsOf(tx, cycle.key, isClosed)
  return { charges, adjustments, totals: totalsOf(charges, adjustments) }
}

const isRunning = (tx: TenantTx, { startsAt, endsAt }: Cycle) =>
  startsAt <= tx.now.getTime() && tx.now.getTime() < endsAt

export const firstOf = <T>(all: readonly T[], most: number) => ({
  count: all.length,
  first: all.slice(0, most),
  more: Math.max(0, all.length - most),
})

type Adjustments = MonthEndPlan['adjustments']['first']

/**
 * The adjustments already in the statement, and those that a close would add. An unfinished statement may have both.
 */
async function adjustmentsOf(tx: TenantTx, key: string, isClosed: boolean): Promise<Adjustments> {
  const adjustments = new Map(
    (await adjustmentTotals(tx, key)).map(({ cycle, lines, totalMicro }) => [cycle, { cycle, lines, totalMicro }]),
  )
  for (const { cycleKey, poolIds } of isClosed ? [] : await changedSince(tx)) {
    const { lines, totalMicro } = await adjustmentNow(tx, await cycleNamed(tx, cycleKey), poolIds)
    const { lines: before = 0, totalMicro: beforeMicro = 0 } = adjustments.get(cycleKey) ?? {}
    if (lines === 0) continue
    adjustments.set(cycleKey, { cycle: cycleKey, lines: before + lines, totalMicro: beforeMicro + totalMicro })
  }
  return [...adjustments.values()].toSorted((a, b) => (a.cycle < b.cycle ? -1 : 1))
}

export const NOTHING = {
  lines: 0,
  usageBytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
  overageBytes: 0,
  feeMicro: 0,
  smsMicro: 0,
  voiceMicro: 0,
  overageMicro: 0,
}
const CHARGES = ['feeMicro', 'smsMicro', 'voiceMicro', 'overageMicro'] as const
const SUMMED = ['lines', 'usageBytes', 'voiceSeconds', 'smsCount', 'overageBytes', ...CHARGES] as const

/** Micro-units of the currency. */
export const chargeOf = (pool: Pick<PoolCharges, (typeof CHARGES)[number]>) =>
  CHARGES.reduce((sum, name) => sum + pool[name], 0)

function totalsOf(charges: readonly PoolCharges[], adjustments: Adjustments): MonthEndPlan['totals'] {
  const sums = { ...NOTHING }
  for (const pool of charges) for (const name of SUMMED) sums[name] += pool[name]
  const adjustmentsMicro = adjustments.reduce((total, { totalMicro }) => total + totalMicro, 0)
  const lines = adjustments.reduce((total, { lines }) => total + lines, sums.lines)
  return { ...sums, lines, adjustmentsMicro, totalMicro: chargeOf(sums) + adjustmentsMicro }
}

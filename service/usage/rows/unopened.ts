/**
 * Figures in a cycle not opened yet: no usage, and the limits that opening it now would give. The worker opens cycles,
 * so this lasts a moment.
 */
import { sql } from 'kysely'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { type Allowance, capacityOf, governingTariff, shareBytes } from '../../../domain/usage/allowance.ts'
import type { Figures } from '../../../rules/fact-rows.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { NO_FIGURES } from './figures.ts'
import { readAllowances, seatCounts, seatsOf } from './seats.ts'

const unused = (limitBytes: number) => ({ ...NO_FIGURES, limitBytes, remainingBytes: limitBytes })

/** As `readPoolFigures`. Counts the SIMs of these pools. */
export async function unopenedPoolFigures(
  tx: TenantTx,
  cycle: Cycle,
  poolIds: readonly number[],
): Promise<Map<number, Figures>> {
  const { tariffs, poolTariffs, counts } = await readSeats(tx, cycle, poolIds)
  return new Map(poolIds.map((id) => [id, unused(capacityOf(poolTariffs.get(id) ?? null, counts.get(id), tariffs))]))
}

/** As `simFigures`. Counts the SIMs of their pools. */
export async function unopenedSimFigures(
  tx: TenantTx,
  cycle: Cycle,
  simIds: readonly number[],
): Promise<Map<number, Figures>> {
  const seats = await seatsOf(tx, cycle, false, simIds)
  const poolIds = [...seats.values()].flatMap((own) => own.map(({ poolId }) => poolId))
  const { tariffs, poolTariffs, counts } = await readSeats(tx, cycle, [...new Set(poolIds)])
  const limitOf = (poolId: number, tariffId: number | null) => {
    const governing = governingTariff(tariffs.get(tariffId ?? 0) ?? null, poolTariffs.get(poolId) ?? null)
    const contributing = [...(counts.get(poolId)?.values() ?? [])].reduce((sum, sims) => sum + sims, 0)
    return shareBytes(governing, contributing)
  }
  return new Map(
    [...seats].map(([simId, own]) => [
      simId,
      unused(own.reduce((sum, { poolId, tariffId }) => sum + limitOf(poolId, tariffId), 0)),
    ]),
  )
}

async function readSeats(tx: TenantTx, cycle: Cycle, poolIds: readonly number[]) {
  const tariffs = await readAllowances(tx)
  const { rows } = await sql<{ id: number; tariffId: number }>`
    select id, tariff_id as "tariffId" from pools where id = any(${[...poolIds]}::integer[])`.execute(tx.q)
  const poolTariffs = new Map<number, Allowance | undefined>(
    rows.map(({ id, tariffId }) => [id, tariffs.get(tariffId)]),
  )
  const counts = new Map<number, Map<number | null, number>>()
  for (const { poolId, tariffId, sims } of await seatCounts(tx, cycle, false, poolIds)) {
    counts.set(poolId, (counts.get(poolId) ?? new Map<number | null, number>()).set(tariffId, sims))
  }
  return { tariffs, poolTariffs, counts }
}

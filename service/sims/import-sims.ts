/** Imports SIMs: delivered ones, and those already in use at the carrier. */
import { SimStatus } from '../../domain/codes.ts'
import { Unreadable, Waste } from '../../domain/files/waste.ts'
import type { ImportedSim, ImportPreview, ImportResult, ImportTotals, Rejection } from '../../domain/sims/sim-import.ts'
import { MOST_TOTAL } from '../../domain/usage/usage-record.ts'
import { noteCreated } from '../../store/audit.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockPoolTariffs, type PoolTariff, poolTariffs } from '../pools/rows/pools.ts'
import { findTariffs } from '../tariffs/rows/tariffs.ts'
import { runningCycle, usageIn } from '../usage/rows/cycles.ts'
import { type AssignmentProblem, assignmentConflict } from './assignment-conflict.ts'
import { checkImport, hasUsage, type SimWarning, statusOf, USAGE } from './check-sim.ts'
import { insertableSims, insertSims, type NewRow } from './rows/sim-changes.ts'
import { cardsKnown, cardsOfList } from './same-card.ts'
import { takeOver } from './take-over.ts'

const BATCH = 5000
/** The most warnings in a response. */
const MOST_WARNINGS = 1000

/** First line of each record of a file, from 1. */
export type RecordLines = readonly number[]

interface GoodSim {
  readonly index: number
  readonly sim: ImportedSim
  readonly warnings: readonly SimWarning[]
}

type RejectedSim = ImportResult['rejected'][number]
type Reject = (index: number, code: Rejection, why: string) => void

/**
 * Writes SIMs in the state of their records: Unprovisioned and outside pools, or in use at the carrier, with pool,
 * tariff and the usage of the running cycle so far. All in the caller's transaction. The carrier is not called.
 *
 * A bad record is rejected, and the rest is written. An existing card, with or without its check digit, is rejected
 * with `sim_exists`. So a repeated delivery adds only the missing SIMs, and its usage counts once.
 */
export async function importSims(
  tx: TenantTx,
  records: readonly unknown[],
  lines?: RecordLines,
): Promise<ImportResult> {
  const { taken, ...result } = await takeIn(tx, records, lines, false)
  await takeOver(tx, taken, { ...result.totals, rejected: result.rejected.length })
  return { created: taken.map(({ id, sim: { iccid } }) => ({ iccid, id })), ...result }
}

/** A SIM for the audit trail: without its activation code, a secret. */
function withoutSecret(sim: ImportedSim | undefined): Partial<ImportedSim> {
  const { esimQrPayload: _, ...rest } = sim ?? {}
  return rest
}

/** The result that {@link importSims} would have for these records, by the same checks. Writes nothing. */
export async function previewSimImport(
  tx: TenantTx,
  records: readonly unknown[],
  lines?: RecordLines,
): Promise<ImportPreview> {
  const { taken, ...result } = await takeIn(tx, records, lines, true)
  return { dryRun: true, created: taken.map(({ sim: { iccid } }) => ({ iccid })), ...result }
}

/** @param isDryRun whether to lock no pool, and to roll back the inserts */
async function takeIn(tx: TenantTx, records: readonly unknown[], lines: RecordLines | undefined, isDryRun: boolean) {
  const rejected: RejectedSim[] = []
  const reject: Reject = (index, code, why) => rejected.push({ index, code, detail: `${lineOf(lines, index)}${why}` })
  const fitting = checked(records, lines, tx.now.getTime(), reject)
  const placed = await assignable(tx, fitting, isDryRun ? poolTariffs : lockPoolTariffs, reject)
  const good = await countable(tx, placed, reject)
  const taken: { id: number; sim: ImportedSim }[] = []
  const warnings: ImportResult['warnings'] = []
  for (let start = 0; start < good.length; start += BATCH) {
    const batch = good.slice(start, start + BATCH)
    const iccids = batch.map(({ sim }) => sim.iccid)
    const known = await cardsKnown(tx, iccids)
    const sims = batch.map(({ sim }) => sim).filter(({ iccid }) => !known.has(iccid))
    const rows = await (isDryRun ? insertableSims : insertNoted)(tx, sims)
    const ids = new Map(rows.map(({ iccid, id }) => [iccid, id]))
    for (const { index, sim, warnings: ofSim } of batch) {
      const id = ids.get(sim.iccid)
      if (id === undefined) {
        reject(index, 'sim_exists', `ICCID ${sim.iccid} ${known.get(sim.iccid) ?? 'exists already'}`)
        continue
      }
      taken.push({ id, sim })
      for (const { field, detail } of ofSim) {
        warnings.push({ index, field, detail: `${lineOf(lines, index)}${detail}` })
      }
    }
  }
  return {
    taken,
    rejected: rejected.sort((a, b) => a.index - b.index),
    warnings: warnings.slice(0, MOST_WARNINGS),
    warningCount: warnings.length,
    totals: totalsOf(taken.map(({ sim }) => sim)),
  }
}

async function insertNoted(tx: TenantTx, sims: readonly ImportedSim[]): Promise<NewRow[]> {
  const inserted = await insertSims(tx, sims)
  const records = new Map(sims.map((sim) => [sim.iccid, sim]))
  const entries = inserted.map(({ id, iccid }) => ({ id, after: { iccid, ...withoutSecret(records.get(iccid)) } }))
  await noteCreated(tx, 'sim', entries)
  return inserted
}

/** The records without faults. Of several of one card, only the first passes. */
function checked(records: readonly unknown[], lines: RecordLines | undefined, now: number, reject: Reject): GoodSim[] {
  const good: GoodSim[] = []
  const waste = new Waste('faulty records')
  const repeated = cardsOfList()
  for (const [index, record] of records.entries()) {
    const one = record instanceof Unreadable ? { fault: record.why } : checkImport(record, now)
    if ('fault' in one) {
      waste.countUseless(one.fault)
      reject(index, 'invalid_request', one.fault)
      continue
    }
    waste.countUseful()
    const { iccid } = one.sim
    const before = repeated(iccid, index)
    if (before === undefined) {
      good.push({ index, ...one })
    } else {
      const line = lines === undefined ? '' : `, in line ${lines[before.first]}`
      reject(index, 'sim_exists', before.sameAs(`record ${before.first}${line}`))
    }
  }
  return good
}

/** The wrong field, and the value expected of it. */
const EXPECTED: Readonly<Record<AssignmentProblem, readonly ['poolId' | 'tariffId', string]>> = {
  pool_not_found: ['poolId', 'a pool of this tenant'],
  tariff_not_found: ['tariffId', 'a tariff that this tenant may use'],
  tariff_inactive: ['tariffId', 'a tariff that is active'],
  tariff_needs_pool: ['tariffId', 'a Standard tariff, or a poolId too'],
  tariff_has_no_effect: ['tariffId', 'none in this pool'],
}

/** The SIMs that may have the pool and the tariff that they name, by the rules of tickets. */
async function assignable(
  tx: TenantTx,
  sims: readonly GoodSim[],
  readPools: typeof poolTariffs,
  reject: Reject,
): Promise<GoodSim[]> {
  const named = (field: 'poolId' | 'tariffId') => [...new Set(sims.flatMap(({ sim }) => sim[field] ?? []))]
  const [poolIds, tariffIds] = [named('poolId'), named('tariffId')]
  const pools = poolIds.length === 0 ? new Map<number, PoolTariff>() : await readPools(tx, poolIds)
  const tariffs = await findTariffs(tx, tariffIds)
  return sims.filter(({ index, sim }) => {
    const { poolId = null, tariffId = null } = sim
    const found = { pool: poolId === null ? null : pools.get(poolId), tariff: tariffs.get(tariffId ?? 0) }
    const conflict = assignmentConflict({ poolId, tariffId }, tariffId, found)
    if (conflict === undefined) return true
    const [field, expected] = EXPECTED[conflict.code]
    reject(index, conflict.code, `${field}: got ${sim[field]}; expected ${expected}. ${conflict.detail}`)
    return false
  })
}

/** The SIMs whose usage can be counted: added to the tenant's usage of the running cycle, no total is too large. */
async function countable(tx: TenantTx, sims: readonly GoodSim[], reject: Reject): Promise<readonly GoodSim[]> {
  if (!sims.some(({ sim }) => hasUsage(sim))) return sims
  const { key } = await runningCycle(tx)
  const used = await usageIn(tx, key)
  return sims.filter(({ index, sim }) => {
    const beyond = USAGE.find((name) => used[name] + (sim[name] ?? 0) > MOST_TOTAL)
    if (beyond === undefined) {
      for (const name of USAGE) used[name] += sim[name] ?? 0
      return true
    }
    const left = `what is left of ${MOST_TOTAL} for all SIMs in cycle ${key}`
    reject(
      index,
      'invalid_request',
      `${beyond}: got ${sim[beyond]}; expected at most ${MOST_TOTAL - used[beyond]}, ${left}`,
    )
    return false
  })
}

function totalsOf(sims: readonly ImportedSim[]): ImportTotals {
  const of = (status: SimStatus) => sims.reduce((count, sim) => count + (statusOf(sim) === status ? 1 : 0), 0)
  const sum = (name: (typeof USAGE)[number]) => sims.reduce((total, sim) => total + (sim[name] ?? 0), 0)
  return {
    unprovisioned: of(SimStatus.Unprovisioned),
    active: of(SimStatus.Active),
    suspended: of(SimStatus.Suspended),
    usageBytes: sum('usageBytes'),
    voiceSeconds: sum('voiceSeconds'),
    smsCount: sum('smsCount'),
  }
}

/** A prefix for messages: the line in which a record begins; empty without a file. */
export const lineOf = (lines: RecordLines | undefined, index: number): string =>
  lines === undefined ? '' : `line ${lines[index]}: `

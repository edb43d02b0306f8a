/**
 * Closes a cycle, and ends its open alerts. Its statement is made once and never changes, and one summary reports it.
 * Usage of earlier cycles received after their statements is included, as adjustments.
 *
 *   slices of lines (`prepareClose`) → all lines are written → alerts end, some at a time → the cycle is closed
 *
 * The last transaction marks the cycle closed. Before it, the statement is neither reported nor readable.
 */
import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import type { MonthEndCounts } from '../../domain/month-end/month-end.ts'
import type { SummaryNotification } from '../../domain/notifications/notification.ts'
import { amount, counted, megabytes, money } from '../../domain/quantity.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { toMB } from '../../domain/units.ts'
import { noteChange } from '../../store/audit.ts'
import { simsByStatus } from '../../store/counts.ts'
import { insertEvent } from '../../store/events.ts'
import { insertNotifications } from '../../store/notifications.ts'
import { inTenant, type Store, type TenantTx } from '../../store/tenancy.ts'
import { closeAlerts } from '../alerts/rows/alerts.ts'
import { forgetArms } from '../sims/rows/pool-arms.ts'
import { findTenant } from '../tenants/rows/tenants.ts'
import { endedCycle, openInSlices, type TenantSettings, tenantSettings } from '../usage/rows/cycles.ts'
import { lockCycleAlone, lockCycles, openCycle } from '../usage/rows/open-cycle.ts'
import { markChangedSince } from '../usage/rows/restatements.ts'
import { failedChanges, findCycle, lockCycle, markClosed, markStated, stillSuspended } from './rows/progress.ts'
import { writeTotals } from './rows/statement-lines.ts'
import { forgetProgress, SLICE, writeSlice } from './rows/statement-slices.ts'
import {
  type AdjustmentTotals,
  adjustmentTotals,
  type PoolTotals,
  poolTotals,
  statementTotals,
} from './rows/statements.ts'
import { monthEndCounts } from './steps.ts'

export interface CloseResult {
  /**
   * False if the statement has no lines. Then no summary is sent, unless a change was made or failed, or a SIM came
   * back.
   */
  readonly statement: boolean
  readonly closedAt: string
}

/** Alerts ended in a transaction: about 0.1 s. */
const ALERTS = 2000

/**
 * Does the long part of {@link closeCycle}, in short transactions: writes the lines of the statement, and ends the
 * alerts of the cycle. The lines are visible only after the close. May be interrupted at any moment and called again,
 * also concurrently.
 *
 * @param options.rows ledger rows of a slice
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function prepareClose(
  store: Store,
  tenantId: string,
  key: string,
  { rows = SLICE }: { readonly rows?: number } = {},
): Promise<void> {
  const cycle = await inTenant(store, tenantId, (tx) => endedCycle(tx, key))
  await openInSlices(store, tenantId, cycle)
  const repeat = async (slice: (tx: TenantTx) => Promise<boolean>) => {
    while (!(await inTenant(store, tenantId, slice)));
  }
  await repeat((tx) => stateSlice(tx, cycle, rows))
  await repeat((tx) => closeAlerts(tx, key, ALERTS))
}

/**
 * Writes the next slice of a cycle's statement; after the last one, notes that all lines are written. Safe to repeat.
 *
 * @returns whether there is nothing left to do
 */
export async function stateSlice(tx: TenantTx, cycle: Cycle, rows: number): Promise<boolean> {
  await lockCycles(tx, [cycle])
  const row = await findCycle(tx, cycle.key)
  if (row === undefined || row.closedAt !== null || row.statedAt !== null) return true
  if (!(await writeSlice(tx, cycle, rows))) return false
  await markStated(tx, cycle.key)
  return true
}

/**
 * Closes an ended cycle: finishes the statement, and writes an event and one summary e-mail. Idempotent: a second call
 * returns the same. Does the work that {@link prepareClose} has left. The summary counts the changes and the SIMs
 * brought back until now.
 *
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function closeCycle(tx: TenantTx, key: string): Promise<CloseResult> {
  const cycle = await endedCycle(tx, key)
  await lockCycleAlone(tx, key)
  await openCycle(tx, cycle)
  const row = await lockCycle(tx, key)
  if (row === undefined) throw new Error(`cycle ${key} was opened and is not there`)
  if (row.closedAt !== null) {
    const totals = await statementTotals(tx, key)
    return { statement: totals !== undefined && totals.lines > 0, closedAt: row.closedAt.toISOString() }
  }
  if (row.statedAt === null) while (!(await writeSlice(tx, cycle)));
  const written = await writeTotals(tx, key)
  await markChangedSince(tx, key)
  await forgetProgress(tx, key)
  await forgetArms(tx, key)
  await markClosed(tx, key)
  await closeAlerts(tx, key, Number.MAX_SAFE_INTEGER)
  await noteChange(tx, { subject: 'cycle', id: key, before: { closedAt: null }, after: { closedAt: tx.now } })
  const counts = await monthEndCounts(tx, key)
  const changed = counts.changes.complete + counts.changes.failed + counts.renewals.complete > 0
  const { lines: statementLines, totalMicro: chargesMicro } = written
  const settings = await tenantSettings(tx)
  const data = { cycle: key, ...boundsOf(cycle), statementLines, chargesMicro, currency: settings.currency }
  await insertNotifications(tx, [{ type: 'cycle.closed', data }])
  if (written.lines > 0 || changed) await notifyClosed(tx, cycle, counts, { ...settings, chargesMicro })
  return { statement: written.lines > 0, closedAt: tx.now.toISOString() }
}

const boundsOf = ({ startsAt, endsAt }: Cycle) => ({
  startsAt: new Date(startsAt).toISOString(),
  endsAt: new Date(endsAt).toISOString(),
})

async function notifyClosed(
  tx: TenantTx,
  cycle: Cycle,
  counts: MonthEndCounts,
  {
    timeZone,
    currency,
    chargesMicro,
  }: Pick<TenantSettings, 'timeZone' | 'currency'> & { readonly chargesMicro: number },
): Promise<void> {
  const { key } = cycle
  const { move, unassign, changes, renewals } = counts
  const tenant = await findTenant(tx)
  const pools = await poolTotals(tx, key)
  const adjustments = await adjustmentTotals(tx, key)
  const total = (of: (pool: PoolTotals) => number) => pools.reduce((sum, pool) => sum + of(pool), 0)
  const summary: SummaryNotification = {
    kind: 'summary',
    key: `summary/${key}`,
    level: LogLevel.Info,
    at: tx.now.toISOString(),
    tenantId: tx.tenantId,
    tenantName: tenant?.name ?? '',
    timeZone,
    cycle: { key, ...boundsOf(cycle) },
    figures: {
      simsByStatus: await simsByStatus(tx),
      usageMB: toMB(total((pool) => pool.bytes)),
      overageMB: toMB(total((pool) => pool.overageBytes)),
      chargesMicro,
      currency,
      movesApplied: move.complete,
      movesFailed: changes.failed,
      unassigned: unassign.complete,
      reactivated: renewals.complete,
      stillSuspended: await stillSuspended(tx),
    },
    adjustments: adjustments.map(({ bytes, totalMicro, ...one }) => {
      return { ...one, usageMB: toMB(bytes), chargeMicro: totalMicro }
    }),
    failures: await failedChanges(tx, key),
    pools: pools.map((pool) => ({
      name: pool.poolId === 0 ? 'SIMs outside pools' : pool.poolName,
      usageMB: toMB(pool.bytes),
      limitMB: toMB(pool.limitBytes),
      overageMB: toMB(pool.overageBytes),
      chargeMicro: pool.chargeMicro,
    })),
  }
  await insertNotifications(tx, [{ body: summary, dueAt: tx.now }])
  await insertEvent(tx, {
    type: EventType.Billing,
    severity: EventSeverity.Info,
    title: `Billing cycle ${key} closed`,
    description: `Usage ${megabytes(toMB(total((pool) => pool.bytes)))}, charges ${money(chargesMicro, currency)}${adjustedText(adjustments, currency)}; ${counted(move.complete, 'SIM')} moved, ${unassign.complete} unassigned, ${renewals.complete} brought back, ${counted(changes.failed, 'change')} failed.`,
  })
}

const adjustedText = (adjustments: readonly AdjustmentTotals[], currency: string): string =>
  adjustments.length === 0
    ? ''
    : `, of which ${adjustments.map(({ cycle, totalMicro }) => `${amount(totalMicro, currency)} for ${cycle}`).join(', ')}`

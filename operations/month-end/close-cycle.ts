/**
 * Closes a cycle, and ends the alerts that are open in it. Its statement is made once and never changes, and one summary reports it. Usage that came for earlier
 * cycles after their statements is included, as adjustments.
 */
import { EventSeverity, EventType, LogLevel } from '../../domain/codes.ts'
import type { CloseRequest } from '../../domain/month-end/month-end.ts'
import { megabytes } from '../../domain/quantity.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { MICRO, toMB } from '../../domain/units.ts'
import type { SummaryNotification } from '../../notify/notification.ts'
import { noteChange } from '../../store/audit.ts'
import { simsByStatus } from '../../store/counts.ts'
import { insertEvent } from '../../store/events.ts'
import { insertNotifications } from '../../store/mail/mails.ts'
import { failedChanges, ledgerPools, lockCycle, markClosed, stillSuspended } from '../../store/month-end/progress.ts'
import { type Written, writeAdjustments, writeLines, writeTotals } from '../../store/month-end/statement-lines.ts'
import {
  type AdjustmentTotals,
  adjustmentTotals,
  type PoolTotals,
  poolTotals,
  statementTotals,
} from '../../store/month-end/statements.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { findTenant } from '../../store/tenants/tenants.ts'
import { lockCycleAlone } from '../../store/usage/cycle-locks.ts'
import { cycleNamed, endedCycle, tenantSettings } from '../../store/usage/cycles.ts'
import { openCycle } from '../../store/usage/open-cycle.ts'
import { lockPools } from '../../store/usage/pool-totals.ts'
import { changedSince, settleAdjusted } from '../../store/usage/restatements.ts'
import { closeAlerts } from '../../store/watchdog/alerts.ts'
import { insertWebhookEvent } from '../../store/webhooks/events.ts'

export interface Closed {
  /**
   * False if the statement has no lines. Then no summary is sent, unless a change was made or failed, or a SIM came
   * back.
   */
  readonly statement: boolean
  readonly closedAt: string
}

/**
 * Closes a cycle that has ended: writes the statement, an event and one summary e-mail. Idempotent: a second call
 * returns the same.
 *
 * @param steps what became of the changes and the suspensions; goes into the summary
 * @throws ServiceError `cycle_not_found`, `cycle_open`
 */
export async function closeCycle(tx: TenantTx, key: string, steps: CloseRequest): Promise<Closed> {
  const cycle = await endedCycle(tx, key)
  await lockCycleAlone(tx, key)
  await openCycle(tx, cycle)
  const row = await lockCycle(tx, key)
  if (row === undefined) throw new Error(`cycle ${key} was opened and is not there`)
  if (row.closedAt !== null) {
    const totals = await statementTotals(tx, key)
    return { statement: totals !== undefined && totals.lines > 0, closedAt: row.closedAt.toISOString() }
  }
  const written = await writeStatement(tx, cycle)
  await markClosed(tx, key)
  await closeAlerts(tx, key)
  await noteChange(tx, { subject: 'cycle', id: key, before: { closedAt: null }, after: { closedAt: tx.now } })
  const changed = steps.moved + steps.unassigned + steps.changesFailed + steps.renewed > 0
  await insertWebhookEvent(tx, {
    type: 'cycle.closed',
    data: {
      cycle: key,
      startsAt: new Date(cycle.startsAt).toISOString(),
      endsAt: new Date(cycle.endsAt).toISOString(),
      statementLines: written.lines,
      chargesMicro: written.totalMicro,
    },
  })
  if (written.lines > 0 || changed) await notifyClosed(tx, cycle, steps, written.totalMicro)
  return { statement: written.lines > 0, closedAt: tx.now.toISOString() }
}

/** Writes the lines of the cycle, and adjustments for closed cycles that have changed since their statements. */
async function writeStatement(tx: TenantTx, cycle: Cycle): Promise<Written> {
  const adjusted = await changedSince(tx)
  const own = { cycleKey: cycle.key, poolIds: await ledgerPools(tx, cycle) }
  // Locks are taken in this order everywhere.
  for (const { cycleKey, poolIds } of [...adjusted, own].toSorted((a, b) => (a.cycleKey < b.cycleKey ? -1 : 1))) {
    await lockPools(tx, cycleKey, poolIds)
  }
  let { lines, totalMicro } = await writeLines(tx, cycle)
  for (const one of adjusted) {
    const added = await writeAdjustments(tx, cycle.key, await cycleNamed(tx, one.cycleKey), one.poolIds)
    await settleAdjusted(tx, one)
    lines += added.lines
    totalMicro += added.totalMicro
  }
  await writeTotals(tx, cycle.key, { lines, totalMicro })
  return { lines, totalMicro }
}

async function notifyClosed(tx: TenantTx, cycle: Cycle, steps: CloseRequest, chargesMicro: number): Promise<void> {
  const { key } = cycle
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
    timeZone: (await tenantSettings(tx)).timeZone,
    cycle: {
      key,
      startsAt: new Date(cycle.startsAt).toISOString(),
      endsAt: new Date(cycle.endsAt).toISOString(),
    },
    figures: {
      simsByStatus: await simsByStatus(tx),
      usageMB: toMB(total((pool) => pool.bytes)),
      overageMB: toMB(total((pool) => pool.overageBytes)),
      chargesMicro,
      movesApplied: steps.moved,
      movesFailed: steps.changesFailed,
      unassigned: steps.unassigned,
      reactivated: steps.renewed,
      stillSuspended: await stillSuspended(tx),
    },
    adjustments: adjustments.map(({ cycle, lines, bytes, chargeMicro }) => ({
      cycle,
      lines,
      usageMB: toMB(bytes),
      chargeMicro,
    })),
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
    description: `Usage ${megabytes(toMB(total((pool) => pool.bytes)))}, charges ${chargesMicro / MICRO}${adjustedText(adjustments)}; ${steps.moved} SIM(s) moved, ${steps.unassigned} unassigned, ${steps.renewed} brought back, ${steps.changesFailed} change(s) failed.`,
  })
}

const adjustedText = (adjustments: readonly AdjustmentTotals[]): string =>
  adjustments.length === 0
    ? ''
    : `, of which ${adjustments.map(({ cycle, chargeMicro }) => `${chargeMicro / MICRO} for ${cycle}`).join(', ')}`

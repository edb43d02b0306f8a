/** Writes SIMs: import, tag, queued changes and watchdog settings. The state changed by tickets is in sim-state.ts. */
import { type RawBuilder, sql } from 'kysely'
import { SimStatus, SimType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import type { SimWatchdogChange, StoredSim } from '../../../domain/sims/sim.ts'
import type { ImportedSim } from '../../../domain/sims/sim-import.ts'
import type { WatchdogSettings } from '../../../domain/watchdog/settings.ts'
import { ahead } from '../../../store/kept.ts'
import { OPEN_STATUSES } from '../../../store/open-statuses.ts'
import type { TenantTx } from '../../../store/tenancy.ts'
import { settingsColumns } from '../../pools/rows/pools.ts'

/**
 * Inserts SIMs, Unprovisioned or in the given state. Does not count pools, and writes only the SIMs. Takes one
 * statement for any number.
 *
 * Skips existing ICCIDs, of this tenant or another.
 *
 * @returns the inserted SIMs
 */
export async function insertSims(tx: TenantTx, sims: readonly ImportedSim[]): Promise<NewRow[]> {
  const rows = await insertRows(tx, sims)
  for (const { id, status } of rows) tx.tally({ simId: id, status, by: 1 })
  return rows.map(({ iccid, id }) => ({ iccid, id }))
}

/** An inserted SIM. */
export interface NewRow {
  readonly iccid: string
  readonly id: number
}

async function insertRows(tx: TenantTx, sims: readonly ImportedSim[]): Promise<(NewRow & { status: SimStatus })[]> {
  if (sims.length === 0) return []
  const { rows } = await sql<NewRow & { status: SimStatus }>`
    insert into sims (iccid, imsi, msisdn, imei, tag, type, esim_qr_payload, watchdog_mode, warning_threshold_pct,
                      enable_burn_rate_alerts, is_watchdog_exempt, status, pool_id, tariff_id, provisioned_at,
                      status_since, created_at, updated_at)
    select s.iccid, coalesce(s.imsi, ''), coalesce(s.msisdn, ''), coalesce(s.imei, ''), coalesce(s.tag, ''),
           coalesce(s.type, ${SimType['Physical SIM']}), s."esimQrPayload", s."watchdogMode", s."warningThresholdPct", s."enableBurnRateAlerts",
           coalesce(s."isWatchdogExempt", false), coalesce(s.status, ${SimStatus.Unprovisioned}), s."poolId", s."tariffId",
           case when s.status <> ${SimStatus.Unprovisioned} then coalesce(s."activatedAt", ${tx.now}) end,
           ${tx.now}::timestamptz, ${tx.now}, ${tx.now}
      from jsonb_to_recordset(${JSON.stringify(sims)}::jsonb)
        as s(iccid text, imsi text, msisdn text, imei text, tag text, type smallint, "esimQrPayload" text,
             "watchdogMode" smallint, "warningThresholdPct" smallint, "enableBurnRateAlerts" boolean, "isWatchdogExempt" boolean,
             status smallint, "poolId" integer, "tariffId" integer, "activatedAt" timestamptz)
     order by s.iccid
    on conflict (iccid) do nothing
    returning iccid, id, status`.execute(tx.q)
  return rows
}

/**
 * Finds the SIMs that {@link insertSims} would insert. It inserts them and rolls back, because only the insert itself
 * can see the ICCIDs of other tenants. Uses up ids.
 */
export async function insertableSims(tx: TenantTx, sims: readonly ImportedSim[]): Promise<NewRow[]> {
  await sql`savepoint dry_run`.execute(tx.q)
  const inserted = await insertRows(tx, sims)
  await sql`rollback to savepoint dry_run`.execute(tx.q)
  return inserted
}

/** The part of a SIM that decides changes to its tag, queued change and own watchdog settings. */
export type LockedSimRecord = WatchdogSettings &
  Pick<StoredSim, 'iccid' | 'tag' | 'status' | 'poolId' | 'tariffId' | 'isWatchdogExempt'> &
  Pick<StoredSim, 'pendingPoolId' | 'pendingTariffId' | 'pendingUnassign'>

/** Locks a SIM and reads the part that callers change directly. @throws ServiceError `sim_not_found` */
export async function lockSimRecord(tx: TenantTx, id: number): Promise<LockedSimRecord> {
  const { rows } = await sql<LockedSimRecord>`
    select iccid, tag, status, pool_id as "poolId", tariff_id as "tariffId", pending_pool_id as "pendingPoolId",
           pending_tariff_id as "pendingTariffId", pending_unassign as "pendingUnassign", ${settingsColumns('s')},
           is_watchdog_exempt as "isWatchdogExempt"
      from sims s where id = ${id} for update`.execute(tx.q)
  const [sim] = rows
  if (sim === undefined) throw new ServiceError('sim_not_found', `There is no SIM ${id}.`)
  return sim
}

async function changeSim(tx: TenantTx, id: number, set: RawBuilder<unknown>): Promise<void> {
  await sql`${ahead}
    update sims set ${set}, version = version + 1, updated_at = ${tx.now} where id = ${id}`.execute(tx.q)
}

export const setTag = (tx: TenantTx, id: number, tag: string): Promise<void> => changeSim(tx, id, sql`tag = ${tag}`)

/** A change that waits for the end of the billing cycle. */
export interface QueuedChange {
  readonly poolId: number | null
  readonly tariffId: number | null
  readonly unassign: boolean
}

/** Queues a change as of now, replacing any queued before. */
export const queueChange = (tx: TenantTx, id: number, change: QueuedChange): Promise<void> =>
  changeSim(
    tx,
    id,
    sql`pending_pool_id = ${change.poolId}, pending_tariff_id = ${change.tariffId},
        pending_unassign = ${change.unassign}, pending_since = ${tx.now}`,
  )

/** Columns of a SIM without a queued change. */
const NOTHING_QUEUED = sql`
  pending_pool_id = null, pending_tariff_id = null, pending_unassign = false, pending_since = null`

/** Removes a SIM's queued change. */
export const dropChange = (tx: TenantTx, id: number): Promise<void> => changeSim(tx, id, NOTHING_QUEUED)

/**
 * Removes the queued changes of given SIMs that are Unprovisioned without an open ticket. Call with them locked.
 *
 * @returns ids of the SIMs that lost a queued change
 */
export async function dropIdleChanges(tx: TenantTx, simIds: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    update sims s set ${NOTHING_QUEUED}, version = version + 1, updated_at = ${tx.now}
     where s.id = any(${[...simIds]}::bigint[])
       and s.status = ${SimStatus.Unprovisioned} and s.pending_since is not null
       and not exists (select 1 from tickets t where t.sim_id = s.id and t.status in ${OPEN_STATUSES})
    returning s.id`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/** Removes SIMs' queued changes, each if it was queued before an instant. */
export async function forgetChanges(
  tx: TenantTx,
  sims: readonly { readonly simId: number; readonly before: Date }[],
): Promise<void> {
  if (sims.length === 0) return
  await sql`
    update sims s set ${NOTHING_QUEUED}, version = version + 1, updated_at = ${tx.now}
      from unnest(${sims.map(({ simId }) => simId)}::bigint[], ${sims.map(({ before }) => before)}::timestamptz[])
             as r(sim_id, before)
     where s.id = r.sim_id and s.pending_since < r.before`.execute(tx.q)
}

/**
 * Changes a SIM's own watchdog settings: undefined leaves a setting as it is, null inherits the pool's.
 * An exemption cannot be inherited: null leaves it unchanged.
 */
export function setWatchdog(tx: TenantTx, id: number, settings: SimWatchdogChange): Promise<void> {
  const given = (column: RawBuilder<unknown>, value: unknown) => (value === undefined ? column : sql`${value}`)
  return changeSim(
    tx,
    id,
    sql`watchdog_mode = ${given(sql`watchdog_mode`, settings.watchdogMode)},
        warning_threshold_pct = ${given(sql`warning_threshold_pct`, settings.warningThresholdPct)},
        enable_burn_rate_alerts = ${given(sql`enable_burn_rate_alerts`, settings.enableBurnRateAlerts)},
        is_watchdog_exempt = ${given(sql`is_watchdog_exempt`, settings.isWatchdogExempt ?? undefined)}`,
  )
}

/** Reads SIMs and pools for enforcement. */

import { sql } from 'kysely'
import { SimStatus, type WatchdogMode } from '../../../domain/codes.ts'
import type { PoolRow } from '../../../domain/enforcement/enforcement.ts'
import type { SuspendedUntil } from '../../../domain/temporal/suspend-on-overage.ts'
import { UNPICKED_MODES } from '../../../domain/watchdog/settings.ts'
import { OPEN_STATUSES } from '../../../store/open-statuses.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { simColumns } from '../../sims/rows/sims.ts'
import { ownFigures } from '../../usage/rows/figures.ts'

export interface EnforcedSim {
  readonly simId: number
  readonly iccid: string
  readonly status: 0 | 1 | 2
  readonly poolId: number | null
  readonly watchdogMode: WatchdogMode | null
  readonly poolMode: WatchdogMode | null
  readonly exempt: boolean
  readonly openTickets: number
  readonly suspension: {
    readonly cause: 'user' | 'watchdog'
    readonly rule: string | null
    readonly cycle: string | null
    readonly until: SuspendedUntil | null
    readonly workflowId: string | null
    readonly openedAt: Date
  } | null
}

type Row = Omit<EnforcedSim, 'suspension'> & {
  readonly [K in keyof NonNullable<EnforcedSim['suspension']>]: NonNullable<EnforcedSim['suspension']>[K] | null
}

/** Reads one SIM for enforcement; undefined if the tenant has no such SIM. */
export async function readEnforcedSim(tx: TenantTx, simId: number): Promise<EnforcedSim | undefined> {
  const { rows } = await sql<Row>`
    select s.id as "simId", ${simColumns()}, p.watchdog_mode as "poolMode",
           (select count(*) from tickets t where t.sim_id = s.id and t.status in ${OPEN_STATUSES})::integer as "openTickets",
           u.cause, u.rule, u.cycle_key as cycle, u.until, u.workflow_id as "workflowId", u.opened_at as "openedAt"
      from sims s
      left join pools p on p.id = s.pool_id
      left join suspensions u on u.sim_id = s.id and u.closed_at is null
     where s.id = ${simId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) return undefined
  const { cause, rule, cycle, until, workflowId, openedAt, ...sim } = row
  return {
    ...sim,
    suspension: cause === null || openedAt === null ? null : { cause, rule, cycle, until, workflowId, openedAt },
  }
}

/** A pool's SIMs as enforcement sees them. */
export interface PickFrom {
  /** Bytes above their share, summed over the SIMs already suspended. */
  readonly stoppedExcessBytes: number
  /** Number of unsuspended SIMs that must be left alone: exempt, in a weaker mode, or held by a person. */
  readonly passedOver: number
  /** SIMs that may be picked come before all others; within each part, the largest excess comes first. */
  readonly rows: PoolRow[]
}

/**
 * Reads the SIMs of a pool from which enforcement picks.
 *
 * @param since when the asking alert began; undefined if it does not fire. Earlier refusals by the carrier do not
 *   count.
 * @param limit most rows to return; the sums cover all SIMs
 */
export async function poolRows(
  tx: TenantTx,
  poolId: number,
  { cycleKey, since, limit }: { readonly cycleKey: string; readonly since: Date | undefined; readonly limit: number },
): Promise<PickFrom> {
  const { rows } = await sql<PoolRow & Omit<PickFrom, 'rows'>>`
    with ${ownFigures(sql`
      select * from usage_ledger
       where tenant_id = ${mine} and cycle_key = (select ${cycleKey}::text) and pool_id = ${poolId}`)},
    seen as (
      -- A full join is never a nested loop. SIMs that left the pool during the cycle have ledger rows too.
      select s.id as "simId", coalesce(f.bytes, 0) as "usageBytes", coalesce(f.limit_bytes, 0) as "shareBytes",
             coalesce(f.excess_bytes, 0) as "excessBytes", s.status = ${SimStatus.Suspended} as stopped,
             s.is_watchdog_exempt as exempt,
             coalesce(s.watchdog_mode = any(${[...UNPICKED_MODES]}::smallint[]), false) as weaker,
             coalesce(w.held, false) as held, coalesce(w.refused_at >= ${since ?? null}, false) as refused
        from (select * from sims where pool_id = ${poolId}) s
        full join own f on f.sim_id = s.id
        left join lateral (
          select held, refused_at from workflow_starts
           where tenant_id = ${mine} and cycle_key = ${cycleKey} and sim_id = s.id limit 1) w on true
       where coalesce(s.id, 0) > 0
    )
    select "simId", "usageBytes", "shareBytes", "excessBytes", stopped, exempt, weaker, held, refused,
           coalesce(sum("excessBytes") filter (where stopped) over (), 0)::bigint as "stoppedExcessBytes",
           (count(*) filter (where not stopped and (exempt or weaker or held)) over ())::integer as "passedOver"
      from seen
     order by (stopped or exempt or weaker or held or refused), "excessBytes" desc, "simId"
     limit ${limit}`.execute(tx.q)
  return {
    stoppedExcessBytes: rows[0]?.stoppedExcessBytes ?? 0,
    passedOver: rows[0]?.passedOver ?? 0,
    rows: rows.map(({ stoppedExcessBytes: _, passedOver: __, ...row }) => row),
  }
}

/** A SIM, with the conditions of its suspension. */
export interface SimToTake {
  readonly simId: number
  /** Its tag, or its ICCID. */
  readonly label: string
  readonly poolId: number | null
  readonly status: SimStatus
  readonly exempt: boolean
  readonly suspension: { readonly cause: 'user' | 'watchdog' } | null
  /** Whether a person has ended its enforcement in the cycle. */
  readonly passedOver: boolean
}

/** Reads SIMs that enforcement may take. Takes one statement for any number. */
export async function simsToTake(tx: TenantTx, ids: readonly number[], cycleKey: string): Promise<SimToTake[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<SimToTake>`
    select s.id as "simId", coalesce(nullif(s.tag, ''), s.iccid) as label, s.pool_id as "poolId", s.status,
           s.is_watchdog_exempt as exempt,
           case when u.cause is not null then jsonb_build_object('cause', u.cause) end as suspension,
           coalesce(w.held, false) as "passedOver"
      from sims s
      left join lateral (select cause from suspensions where sim_id = s.id and closed_at is null limit 1) u on true
      left join lateral (
        select held from workflow_starts
         where tenant_id = ${mine} and cycle_key = ${cycleKey} and sim_id = s.id limit 1
      ) w on true
     where s.id = any(${[...ids]}::bigint[])`.execute(tx.q)
  return rows
}

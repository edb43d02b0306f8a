/** What enforcement reads of SIMs and pools. */
import { sql } from 'kysely'
import { WatchdogMode } from '../domain/codes.ts'
import type { PoolRow } from '../domain/enforcement.ts'
import { suspendOnOverageId } from '../domain/lifecycle.ts'
import type { TenantTx } from './tenancy.ts'

export interface EnforcedSim {
  readonly simId: number
  readonly iccid: string
  readonly status: 0 | 1 | 2
  readonly poolId: number | null
  readonly ownMode: WatchdogMode | null
  readonly poolMode: WatchdogMode | null
  readonly exempt: boolean
  readonly openTickets: number
  readonly suspension: {
    readonly cause: 'user' | 'watchdog'
    readonly rule: string | null
    readonly cycle: string | null
    readonly until: 'renewal' | 'manual' | null
    readonly workflowId: string | null
    readonly openedAt: Date
  } | null
}

type Row = Omit<EnforcedSim, 'suspension'> & {
  readonly [K in keyof NonNullable<EnforcedSim['suspension']>]: NonNullable<EnforcedSim['suspension']>[K] | null
}

export async function readEnforcedSim(tx: TenantTx, simId: number): Promise<EnforcedSim | undefined> {
  const { rows } = await sql<Row>`
    select s.id as "simId", s.iccid, s.status, s.pool_id as "poolId", s.watchdog_mode as "ownMode",
           p.watchdog_mode as "poolMode", s.is_watchdog_exempt as exempt,
           (select count(*) from tickets t where t.sim_id = s.id and t.status in (0, 1))::integer as "openTickets",
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

/**
 * SIMs of a pool from which enforcement picks, the largest excess first. Divisions must be current.
 *
 * @param limit at most so many; those beyond it have the least excess
 */
export async function poolRows(tx: TenantTx, poolId: number, cycleKey: string, limit: number): Promise<PoolRow[]> {
  const runPrefix = suspendOnOverageId(tx.tenantId, 0, cycleKey).split(':0:')
  const { rows } = await sql<PoolRow>`
    select f.sim_id as "simId", f.bytes as "usageBytes", f.limit_bytes as "shareBytes",
           greatest(0, f.bytes - f.limit_bytes) as "excessBytes", s.status = 2 as stopped,
           s.is_watchdog_exempt as exempt, coalesce(s.watchdog_mode < ${WatchdogMode.Enforce}, false) as weaker,
           coalesce(w.held, false) as held
      from ledger_figures f
      join sims s on s.id = f.sim_id and s.pool_id = f.pool_id
      left join workflow_starts w
        on w.tenant_id = f.tenant_id
       and w.workflow_id = ${runPrefix[0]} || ':' || f.sim_id || ':' || ${runPrefix[1]}
     where f.tenant_id = ${tx.tenantId} and f.cycle_key = ${cycleKey} and f.pool_id = ${poolId} and f.bytes > 0
     order by greatest(0, f.bytes - f.limit_bytes) desc, f.sim_id
     limit ${limit}`.execute(tx.q)
  return rows
}

/** The state of each SIM's change or return in a month end. */
import { sql } from 'kysely'
import type { ChangeKind, MonthEndKind, OpenedChange, QueuedChangeInfo } from '../../../domain/month-end/month-end.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** SIMs with ids above `afterSimId`, up to and including `throughSimId`. */
export interface SimRange {
  readonly afterSimId: number
  readonly throughSimId: number
}

/** The target of a SIM's change. Null leaves the pool or tariff unchanged. */
export interface ChangeTarget {
  readonly simId: number
  readonly poolId: number | null
  readonly tariffId: number | null
}

/**
 * Condition: SIMs with a change queued before a cycle's end that the month end has not begun. A SIM with an open ticket
 * of another month end is left to that month end.
 */
const notBegun = (cycle: Cycle, kind: ChangeKind) => sql`
  s.tenant_id = ${mine} and s.pending_since < ${new Date(cycle.endsAt)} and s.pending_unassign = ${kind === 'unassign'}
  and not exists (select 1 from month_end_changes m
                   where m.tenant_id = s.tenant_id and m.cycle_key = ${cycle.key} and m.kind = ${kind} and m.sim_id = s.id)
  and not exists (select 1 from month_end_changes m
                   where m.sim_id = s.id and m.outcome = 'open' and m.kind <> 'return')`

/** Condition: open suspensions by the watchdog until the renewal, from this cycle or an earlier one. */
const toRenew = (cycle: Cycle) => sql`
  s.tenant_id = ${mine} and s.closed_at is null and s.cause = 'watchdog' and s.until = 'renewal'
  and s.cycle_key <= ${cycle.key}`

/** Consecutive SIMs, by id, processed together. */
export interface ChangeBatch extends SimRange {
  readonly count: number
}

/**
 * Divides the SIMs to change or renew into batches, by SIM id.
 *
 * @param ask.size SIMs in a batch; only the last batch may have fewer
 * @param ask.limit most batches to return
 */
export async function batchesOf(
  tx: TenantTx,
  cycle: Cycle,
  kind: ChangeKind | 'renew',
  ask: { readonly afterSimId: number; readonly size: number; readonly limit: number },
): Promise<ChangeBatch[]> {
  const { afterSimId, size, limit } = ask
  const ids =
    kind === 'renew'
      ? sql`select s.sim_id as id from suspensions s where ${toRenew(cycle)} and s.sim_id > ${afterSimId}
             order by s.sim_id limit ${size * limit}`
      : sql`select s.id from sims s where ${notBegun(cycle, kind)} and s.id > ${afterSimId}
             order by s.id limit ${size * limit}`
  const { rows } = await sql<ChangeBatch>`
    select min(id) - 1 as "afterSimId", max(id) as "throughSimId", count(*)::integer as count
      from (select id, (row_number() over (order by id) - 1) / ${size}::integer as batch from (${ids}) i) n
     group by batch order by batch`.execute(tx.q)
  return rows
}

/**
 * Changes queued before a cycle's end and still queued, by SIM id, each with its state in the month end.
 *
 * @param ask.unassign only unassignments (true) or only moves (false); null: both
 */
export async function changesWithState(
  tx: TenantTx,
  cycle: Cycle,
  ask: { readonly afterSimId: number; readonly limit: number; readonly unassign: boolean | null },
): Promise<QueuedChangeInfo[]> {
  const kind = ask.unassign === null ? sql`` : sql`and s.pending_unassign = ${ask.unassign}`
  const { rows } = await sql<QueuedChangeInfo>`
    select s.id as "simId", s.iccid, s.pending_pool_id as "poolId", s.pending_tariff_id as "tariffId",
           s.pending_unassign as unassign, coalesce(m.outcome, 'queued') as state, m.ticket_id as "ticketId", m.code, m.detail
      from sims s
      left join month_end_changes m
        on m.tenant_id = s.tenant_id and m.cycle_key = ${cycle.key} and m.sim_id = s.id and m.outcome <> 'complete'
       and m.kind = case when s.pending_unassign then 'unassign' else 'move' end
     where s.tenant_id = ${mine} and s.pending_since < ${new Date(cycle.endsAt)} and s.id > ${ask.afterSimId} ${kind}
     order by s.id limit ${ask.limit}`.execute(tx.q)
  return rows
}

/** Sorted ids of the SIMs of a range with a queued change that the month end has not begun. */
export async function simsToChange(
  tx: TenantTx,
  cycle: Cycle,
  kind: ChangeKind,
  { afterSimId, throughSimId }: SimRange,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select s.id from sims s
     where ${notBegun(cycle, kind)} and s.id > ${afterSimId} and s.id <= ${throughSimId}
     order by s.id limit ${limit}`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/** Sorted ids of the SIMs with a failed change or return in a cycle. */
export async function simsThatFailed(
  tx: TenantTx,
  cycle: Cycle,
  kind: MonthEndKind,
  afterSimId: number,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select sim_id as id from month_end_changes
     where tenant_id = ${mine} and cycle_key = ${cycle.key} and kind = ${kind} and outcome = 'failed'
       and sim_id > ${afterSimId}
     order by sim_id limit ${limit}`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/**
 * Changes or returns still to be done for these SIMs. Call with them locked, to leave out work done by another
 * transaction.
 *
 * @param again true: failed work; false: work not begun
 */
export async function changeTargets(
  tx: TenantTx,
  cycle: Cycle,
  kind: MonthEndKind,
  simIds: readonly number[],
  again: boolean,
): Promise<ChangeTarget[]> {
  const ids = sql`any(${[...simIds]}::bigint[])`
  const failed = (simId: ReturnType<typeof sql>) => sql`
    exists (select 1 from month_end_changes m
             where m.tenant_id = ${mine} and m.cycle_key = ${cycle.key} and m.kind = ${kind} and m.sim_id = ${simId}
               and m.outcome = 'failed')`
  if (kind === 'return') {
    const { rows } = await sql<ChangeTarget>`
      select s.sim_id as "simId", null as "poolId", null as "tariffId" from suspensions s
       where ${toRenew(cycle)} and s.sim_id = ${ids}
         and ${
           again
             ? failed(sql`s.sim_id`)
             : sql`not exists (select 1 from month_end_changes m
                                where m.tenant_id = ${mine} and m.cycle_key = ${cycle.key} and m.kind = 'return'
                                  and m.sim_id = s.sim_id)`
         }
       order by s.sim_id`.execute(tx.q)
    return rows
  }
  const { rows } = await sql<ChangeTarget>`
    select s.id as "simId", s.pending_pool_id as "poolId", s.pending_tariff_id as "tariffId" from sims s
     where s.id = ${ids}
       and ${
         again
           ? sql`s.tenant_id = ${mine} and s.pending_since < ${new Date(cycle.endsAt)}
                 and s.pending_unassign = ${kind === 'unassign'} and ${failed(sql`s.id`)}`
           : notBegun(cycle, kind)
       }
     order by s.id`.execute(tx.q)
  return rows
}

/** Records begun work, one row a SIM. Replaces a row only if it has failed, and then counts the attempt. */
export async function saveBegun(
  tx: TenantTx,
  cycleKey: string,
  kind: MonthEndKind,
  begun: readonly OpenedChange[],
): Promise<void> {
  if (begun.length === 0) return
  await sql`
    insert into month_end_changes as m (cycle_key, kind, sim_id, ticket_id, outcome, code, detail)
    select ${cycleKey}, ${kind}, "simId", "ticketId", case when "ticketId" is null then 'failed' else 'open' end, code,
           detail
      from jsonb_to_recordset(${JSON.stringify(begun)}::jsonb)
        as b("simId" bigint, "ticketId" uuid, code text, detail text)
     order by "simId"
    on conflict (tenant_id, cycle_key, kind, sim_id) do update
      set ticket_id = excluded.ticket_id, outcome = excluded.outcome, code = excluded.code, detail = excluded.detail,
          attempts = m.attempts + 1
     where m.outcome = 'failed'`.execute(tx.q)
}

/** Id of the open ticket that carries out the change now queued for a SIM; undefined if there is none. */
export async function ticketOfChange(tx: TenantTx, simId: number): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    select t.id from month_end_changes m
      join tickets t on t.id = m.ticket_id
      join sims s on s.id = m.sim_id
     where m.tenant_id = ${mine} and m.sim_id = ${simId} and m.outcome = 'open' and m.kind <> 'return'
       and s.pending_since < t.effective_at`.execute(tx.q)
  return rows[0]?.id
}

/** Number of SIMs in each state of a step of the month end. `queued` SIMs have no ticket yet. */
export interface StepCounts {
  readonly queued: number
  readonly open: number
  readonly complete: number
  readonly failed: number
}

/** Counts the changes at a cycle's end. Reads the queued changes, not the whole estate. */
export async function countChanges(tx: TenantTx, cycle: Cycle, kind: ChangeKind): Promise<StepCounts> {
  const { rows } = await sql<StepCounts>`
    select (select count(*)::integer from sims s where ${notBegun(cycle, kind)}) as queued,
           count(*) filter (where outcome = 'open')::integer as open,
           count(*) filter (where outcome = 'complete')::integer as complete,
           count(*) filter (where outcome = 'failed')::integer as failed
      from month_end_changes
     where tenant_id = ${mine} and cycle_key = ${cycle.key} and kind = ${kind}`.execute(tx.q)
  return rows[0] ?? { queued: 0, open: 0, complete: 0, failed: 0 }
}

/** Suspended SIMs that resume with the renewal. `released` ended otherwise: unassigned, or a person acted. */
export interface RenewalCounts extends StepCounts {
  readonly released: number
}

/** Counts the suspensions that end with a cycle: those still open, and those closed since the cycle ended. */
export async function countRenewals(tx: TenantTx, cycle: Cycle): Promise<RenewalCounts> {
  const { rows } = await sql<RenewalCounts>`
    with still as (
      select m.outcome
        from suspensions s
        left join month_end_changes m on m.tenant_id = s.tenant_id and m.cycle_key = ${cycle.key} and m.kind = 'return'
                                     and m.sim_id = s.sim_id and m.outcome <> 'complete'
       where ${toRenew(cycle)}
    ), ended as (
      select closed_because in ('watchdog', 'month-end') as back
        from suspensions
       where tenant_id = ${mine} and cause = 'watchdog' and until = 'renewal' and cycle_key <= ${cycle.key}
         and closed_at >= ${new Date(cycle.endsAt)}
    )
    select count(*) filter (where outcome is null)::integer as queued,
           count(*) filter (where outcome = 'open')::integer as open,
           (select count(*) from ended where back)::integer as complete,
           (select count(*) from ended where not back)::integer as released,
           count(*) filter (where outcome = 'failed')::integer as failed
      from still`.execute(tx.q)
  return rows[0] ?? { queued: 0, open: 0, complete: 0, failed: 0, released: 0 }
}

/** The state of each SIM's change or return in a month end. */
import { sql } from 'kysely'
import type {
  ChangeKind,
  MonthEndBatches,
  MonthEndKind,
  OpenedChange,
  QueuedChangeInfo,
} from '../../../domain/month-end/month-end.ts'
import type { Cycle } from '../../../domain/time/cycle.ts'
import { byKey, fewOfMine, mineAfter, pageLimit } from '../../../store/keyset-pages.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

/** SIMs with ids above `afterSimId`, up to and including `throughSimId`. */
export interface SimRange {
  readonly afterSimId: number
  readonly throughSimId: number
}

/** A step of a cycle's month end. */
export interface MonthEndStep<Kind = MonthEndKind> {
  readonly cycle: Cycle
  readonly kind: Kind
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
const notBegun = ({ cycle, kind }: MonthEndStep<ChangeKind>) => sql`
  s.pending_since < ${new Date(cycle.endsAt)} and s.pending_unassign = ${kind === 'unassign'}
  and not exists (select 1 from month_end_changes m
                   where m.tenant_id = s.tenant_id and m.cycle_key = ${cycle.key} and m.kind = ${kind} and m.sim_id = s.id)
  and not exists (select 1 from month_end_changes m
                   where m.sim_id = s.id and m.outcome = 'open' and m.kind <> 'return')`

/** Condition: open suspensions by the watchdog until the renewal, from this cycle or an earlier one. */
const toRenew = (cycleKey: string) => sql`
  s.closed_at is null and s.cause = 'watchdog' and s.until = 'renewal' and s.cycle_key <= ${cycleKey}`

export interface BatchQuery {
  readonly afterSimId: number
  /** SIMs in a batch; only the last batch may have fewer. */
  readonly size: number
  /** Most batches to return. */
  readonly limit: number
}

/** Divides the SIMs to change or renew into batches, by SIM id. */
export async function batchesOf(
  tx: TenantTx,
  { cycle, kind }: MonthEndStep<ChangeKind | 'renew'>,
  { afterSimId, size, limit }: BatchQuery,
): Promise<MonthEndBatches['batches']> {
  const ids =
    kind === 'renew'
      ? sql`select s.sim_id as id from suspensions s where ${mineAfter('s.sim_id', afterSimId)} and ${toRenew(cycle.key)}
             order by ${byKey('s.sim_id')} limit ${pageLimit(size * limit)}`
      : sql`select s.id from sims s where ${mineAfter('s.id', afterSimId)} and ${notBegun({ cycle, kind })}
             order by ${byKey('s.id')} limit ${pageLimit(size * limit)}`
  const { rows } = await sql<MonthEndBatches['batches'][number]>`
    select min(id) - 1 as "afterSimId", max(id) as "throughSimId", count(*)::integer as count
      from (select id, (row_number() over (order by id) - 1) / ${size}::integer as batch from (${ids}) i) n
     group by batch order by batch`.execute(tx.q)
  return rows
}

/** A queued change, and its state in the month end. */
export interface QueuedChangeState extends QueuedChangeInfo {
  /** Whether a ticket of another month end, or of a change queued earlier, is still open. The change is left to it. */
  readonly leftToOther: boolean
}

/**
 * Changes queued before a cycle's end and still queued, by SIM id.
 *
 * @param kind omitted: both
 */
export async function queuedChanges(
  tx: TenantTx,
  cycle: Cycle,
  {
    afterSimId,
    limit,
    kind,
  }: { readonly afterSimId: number; readonly limit: number; readonly kind?: ChangeKind | undefined },
): Promise<QueuedChangeState[]> {
  const kindNow = sql`case when s.pending_unassign then 'unassign' else 'move' end`
  const { rows } = await sql<QueuedChangeState>`
    select s.id as "simId", s.iccid, s.pending_pool_id as "poolId", s.pending_tariff_id as "tariffId",
           s.pending_unassign as unassign, coalesce(m.outcome, 'queued') as state, m.ticket_id as "ticketId", m.code,
           m.detail, e.sim_id is not null as "leftToOther"
      from sims s
      left join month_end_changes m
        on m.tenant_id = s.tenant_id and m.cycle_key = ${cycle.key} and m.sim_id = s.id and m.outcome <> 'complete'
       and m.kind = ${kindNow}
      left join lateral (
        select sim_id from month_end_changes
         where sim_id = s.id and outcome = 'open' and kind <> 'return'
           and (cycle_key <> ${cycle.key} or kind <> ${kindNow}) limit 1) e on true
     where ${mineAfter('s.id', afterSimId)} and s.pending_since < ${new Date(cycle.endsAt)}
           ${kind === undefined ? sql`` : sql`and s.pending_unassign = ${kind === 'unassign'}`}
     order by ${byKey('s.id')} limit ${pageLimit(limit)}`.execute(tx.q)
  return rows
}

/** Sorted ids of the SIMs of a range with a queued change that the month end has not begun. */
export async function simsToChange(
  tx: TenantTx,
  step: MonthEndStep<ChangeKind>,
  { afterSimId, throughSimId }: SimRange,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select s.id from sims s
     where ${mineAfter('s.id', afterSimId, throughSimId)} and ${notBegun(step)}
     order by ${byKey('s.id')} limit ${pageLimit(limit)}`.execute(tx.q)
  return rows.map(({ id }) => id)
}

/** Sorted ids of the SIMs with a failed change or return in a cycle. */
export async function simsThatFailed(
  tx: TenantTx,
  { cycle, kind }: MonthEndStep,
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
  { cycle, kind }: MonthEndStep,
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
       where s.tenant_id = ${mine} and s.sim_id = ${ids} and ${toRenew(cycle.key)}
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
           : sql`s.tenant_id = ${mine} and ${notBegun({ cycle, kind })}`
       }
     order by s.id`.execute(tx.q)
  return rows
}

/** Records begun work, one row a SIM. Replaces a row only if it has failed, and then counts the attempt. */
export async function saveBegun(tx: TenantTx, step: MonthEndStep, begun: readonly OpenedChange[]): Promise<void> {
  if (begun.length === 0) return
  await sql`
    insert into month_end_changes as m (cycle_key, kind, sim_id, ticket_id, outcome, code, detail)
    select ${step.cycle.key}, ${step.kind}, "simId", "ticketId", case when "ticketId" is null then 'failed' else 'open' end, code,
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
export async function countChanges(tx: TenantTx, step: MonthEndStep<ChangeKind>): Promise<StepCounts> {
  const { rows } = await sql<StepCounts>`
    select (select count(*)::integer from sims s where s.tenant_id = ${mine} and ${notBegun(step)}) as queued,
           count(*) filter (where outcome = 'open')::integer as open,
           count(*) filter (where outcome = 'complete')::integer as complete,
           count(*) filter (where outcome = 'failed')::integer as failed
      from month_end_changes
     where tenant_id = ${mine} and cycle_key = ${step.cycle.key} and kind = ${step.kind}`.execute(tx.q)
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
        left join lateral (
          select outcome from month_end_changes
           where tenant_id = s.tenant_id and cycle_key = ${cycle.key} and kind = 'return' and sim_id = s.sim_id
             and outcome <> 'complete' limit 1) m on true
       where ${fewOfMine(sql`s.tenant_id`)} and ${toRenew(cycle.key)}
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

/** Suspensions that end with a cycle, of a range of SIMs, by SIM id. */
export async function suspensionsToRenew(
  tx: TenantTx,
  cycleKey: string,
  { afterSimId, throughSimId }: SimRange,
  limit: number,
) {
  const { rows } = await sql<{ readonly simId: number; readonly workflowId: string | null }>`
    select s.sim_id as "simId", s.workflow_id as "workflowId" from suspensions s
     where ${mineAfter('s.sim_id', afterSimId, throughSimId)} and ${toRenew(cycleKey)}
     order by ${byKey('s.sim_id')} limit ${pageLimit(limit)}`.execute(tx.q)
  return rows
}

/**
 * SIMs that resume with the renewal: suspended until then, and not unassigned by it.
 *
 * @param most most ids to return
 * @returns how many there are, and the lowest ids
 */
export async function renewals(tx: TenantTx, cycle: Cycle, most: number) {
  const from = sql`
    from suspensions s
    join sims i on i.id = s.sim_id
   where ${fewOfMine(sql`s.tenant_id`)} and ${toRenew(cycle.key)} and not (i.pending_unassign and i.pending_since < ${new Date(cycle.endsAt)})`
  const counted = await sql<{ count: number }>`select count(*)::integer as count ${from}`.execute(tx.q)
  const { rows } = await sql<{ simId: number }>`
    select s.sim_id as "simId" ${from} order by ${byKey('s.sim_id')} limit ${pageLimit(most)}`.execute(tx.q)
  return { count: counted.rows[0]?.count ?? 0, first: rows.map(({ simId }) => simId) }
}

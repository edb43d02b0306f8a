/** Changed subjects: the watchdog's list of subjects to look at now. A row has the subjects of one change. */

import { type RawBuilder, sql } from 'kysely'
import type { Subject } from '../domain/watchdog/subject.ts'
import { ahead, kept } from './kept.ts'
import { byKey, mineByKey, pageLimit } from './keyset-pages.ts'
import { mine, type PlatformTx, type TenantTx } from './tenancy.ts'

/** Most SIMs in a row. */
const MOST_SIMS = 20_000

export interface ChangedRows {
  /** Query of the SIMs' ids, `select id …`. */
  readonly sims: RawBuilder<unknown>
  /** Query of the pools' ids, `select id …`. */
  readonly pools: RawBuilder<unknown>
  /** The cycle whose usage has changed; absent for other changes. */
  readonly cycleKey?: string
}

/** Adds changed subjects to the list, and enqueues an evaluation. */
export async function noteChanged(tx: TenantTx, { sims, pools, cycleKey }: ChangedRows): Promise<void> {
  await sql`${ahead}
    insert into changed_subjects (cycle_key, sim_ids, pool_ids)
    select ${cycleKey ?? null}, sim_ids[n * ${MOST_SIMS} + 1:(n + 1) * ${MOST_SIMS}],
           case when n = 0 then pool_ids else '{}' end
      from (select array(select distinct id::bigint from (${sims}) s order by 1) as sim_ids,
                   array(select distinct id::integer from (${pools}) p where id <> 0 order by 1) as pool_ids) r
     cross join generate_series(0, greatest(0, cardinality(sim_ids) - 1) / ${MOST_SIMS}::integer) as n
     where cardinality(sim_ids) + cardinality(pool_ids) > 0`.execute(tx.q)
  tx.enqueue({ queue: 'evaluate' })
}

/** Notes that subjects need another evaluation in an ended cycle, each at its instant, epoch milliseconds. */
export async function noteAgain(
  tx: TenantTx,
  cycleKey: string,
  subjects: readonly (Subject & { readonly at: number })[],
): Promise<void> {
  for (const [at, due] of Map.groupBy(subjects, (subject) => subject.at)) {
    const idsOf = (kind: Subject['kind']) => due.filter((subject) => subject.kind === kind).map(({ id }) => id)
    await sql`
      insert into changed_subjects (cycle_key, due_at, sim_ids, pool_ids)
      values (${cycleKey}, ${new Date(at)}, ${idsOf('sim')}::bigint[], ${idsOf('pool')}::integer[])`.execute(tx.q)
  }
}

/** As {@link noteChanged}, for subjects by their ids. */
export async function noteSubjectsChanged(tx: TenantTx, { simIds, poolIds }: ChangedIds): Promise<void> {
  await noteChanged(tx, {
    sims: sql`select unnest(${[...simIds]}::bigint[]) as id`,
    pools: sql`select unnest(${[...poolIds]}::integer[]) as id`,
  })
}

/** Notes that a pool has changed for itself and for every SIM in it: the SIMs inherit its watchdog settings. */
export async function notePoolChanged(tx: TenantTx, poolId: number): Promise<void> {
  await noteChanged(tx, {
    sims: sql`select id from sims where tenant_id = ${mine} and pool_id = ${poolId}`,
    pools: sql`select ${poolId}::integer as id`,
  })
}

/** SIMs and pools without duplicates. */
export interface ChangedIds {
  readonly simIds: readonly number[]
  readonly poolIds: readonly number[]
}

export interface ClaimedChanges extends ChangedIds {
  readonly ids: readonly number[]
  /** Subjects with changed usage, by the key of its cycle. */
  readonly used: ReadonlyMap<string, ChangedIds>
}

/** Condition: the row's instant has come, and no evaluation has it. */
const isFree = (now: Date) =>
  sql`(due_at is null or due_at <= ${now}) and (claimed_until is null or claimed_until <= ${now})`

/** Most rows looked at together. */
const MOST_ROWS = 50

/**
 * Claims the oldest rows, as many as have up to {@link MOST_SIMS} SIMs, or one with more. They are off the list until
 * the lease ends, and return if the worker dies.
 */
export async function claimChanges(tx: TenantTx, leaseUntil: Date): Promise<ClaimedChanges> {
  const { rows } = await sql<ChangedIds & { id: number; cycleKey: string | null }>`${kept}
    with free as (
      select id, cardinality(sim_ids) as sims from changed_subjects
       where ${mineByKey('changed_subjects.id')} and ${isFree(tx.now)}
       order by ${byKey('changed_subjects.id')} limit ${pageLimit(MOST_ROWS)}
         for update skip locked
    ), few as (
      select id from (select id, sum(sims) over (order by id) - sims as before, sims,
                             sum(sims) over (order by id) as total from free) f
       where total <= ${MOST_SIMS} or before = 0
    )
    update changed_subjects c set claimed_until = ${leaseUntil} from few where c.id = few.id
    returning c.id, c.cycle_key as "cycleKey", c.sim_ids as "simIds", c.pool_ids as "poolIds"`.execute(tx.q)
  const byCycle = Map.groupBy(rows, ({ cycleKey }) => cycleKey)
  return {
    ids: rows.map(({ id }) => id),
    ...unionOf(rows),
    used: new Map([...byCycle].flatMap(([key, of]) => (key === null ? [] : [[key, unionOf(of)]]))),
  }
}

function unionOf(rows: readonly ChangedIds[]): ChangedIds {
  const union = (lists: readonly (readonly number[])[]) => [...new Set(lists.flat().map(Number))]
  return { simIds: union(rows.map(({ simIds }) => simIds)), poolIds: union(rows.map(({ poolIds }) => poolIds)) }
}

/** Takes rows off the list after the look at their subjects. */
export async function endChanges(tx: TenantTx, ids: readonly number[]): Promise<void> {
  await sql`${ahead}
    delete from changed_subjects where id = any(${[...ids]}::bigint[])`.execute(tx.q)
}

export async function tenantsChanged(tx: PlatformTx): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select distinct tenant_id as "tenantId" from changed_subjects where ${isFree(tx.now)}`.execute(tx.q)
  return rows.map(({ tenantId }) => tenantId)
}

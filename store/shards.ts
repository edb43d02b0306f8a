/**
 * Shards: ranges of ids looked at together, each with the first instant when time alone may change an answer for one of
 * its subjects. A tenant starts with one shard for each kind of subject. A look splits a shard with too many subjects.
 * So shards have about the same size for any spread of ids over tenants.
 */

import { sql } from 'kysely'
import {
  fromCoded,
  SUBJECT_CODES,
  type Subject,
  type SubjectCode,
  type SubjectKind,
  toCoded,
} from '../domain/watchdog/subject.ts'
import { kept } from './kept.ts'
import { isBehind } from './rule-spreads.ts'
import { mine, type PlatformTx, type TenantTx } from './tenancy.ts'

export interface Shard {
  readonly kind: SubjectKind
  readonly fromId: number
  /** Not in it; null: no end. */
  readonly toId: number | null
  /** Changes with each request for a look. */
  readonly asked: number
}

/** Asks for a look at all subjects: for a new cycle or rule set. Delays after failures end. */
export async function lookAtAll(tx: TenantTx): Promise<void> {
  await missingShards(tx)
  await sql`
    update watch_shards w set next_at = least(w.next_at, ${tx.now}), asked = w.asked + 1
      from (select subject_kind, from_id from watch_shards where tenant_id = ${mine}
             order by subject_kind, from_id for update) s
     where w.tenant_id = ${mine} and w.subject_kind = s.subject_kind and w.from_id = s.from_id`.execute(tx.q)
  await sql`
    update due_subjects d set not_before = null
      from (select subject_kind, subject_id from due_subjects
             where tenant_id = ${mine} and not_before is not null
             order by subject_kind, subject_id for update) s
     where d.tenant_id = ${mine} and d.subject_kind = s.subject_kind and d.subject_id = s.subject_id`.execute(tx.q)
  tx.enqueue({ queue: 'sweep' })
}

/** A subject, and when time alone may change an answer for it. */
export interface Flip extends Subject {
  readonly at: Date
}

/**
 * Brings looks at shards forward: each subject is looked at by its instant. A shard under a look keeps the earliest
 * instant until it is settled.
 */
export async function lookBy(tx: TenantTx, flips: readonly Flip[]): Promise<void> {
  if (flips.length === 0) return
  await sql`
    with wanted as (
      select w.subject_kind, w.from_id, min(f.at) as at
        from jsonb_to_recordset(${JSON.stringify(flips.map(toCoded))}::jsonb) as f(kind smallint, id bigint, at timestamptz)
        join watch_shards w on w.tenant_id = ${mine} and w.subject_kind = f.kind
         and w.from_id <= f.id and (w.to_id is null or w.to_id > f.id)
       group by 1, 2
    ), locked as (
      select w.subject_kind, w.from_id, d.at
        from watch_shards w join wanted d on d.subject_kind = w.subject_kind and d.from_id = w.from_id
       where w.tenant_id = ${mine} and (w.next_at > d.at or w.brought_at > d.at)
       order by 1, 2 for update of w
    )
    update watch_shards w set next_at = least(w.next_at, l.at), 
           brought_at = case when w.brought_at is not null then least(w.brought_at, l.at) end
      from locked l
     where w.tenant_id = ${mine} and w.subject_kind = l.subject_kind and w.from_id = l.from_id`.execute(tx.q)
}

/** Makes the first shard of each kind, if a tenant has none. */
async function missingShards(tx: TenantTx): Promise<void> {
  await sql`${kept}
    insert into watch_shards (subject_kind, from_id, next_at)
    select kind, 0, ${tx.now} from unnest(${Object.values(SUBJECT_CODES)}::smallint[]) as k(kind)
     where not exists (select from watch_shards w where w.tenant_id = ${mine} and w.subject_kind = k.kind)
     order by kind
    on conflict do nothing`.execute(tx.q)
}

/**
 * Claims the shard with the longest wait. It is off the list until the lease ends, and returns if the worker dies.
 *
 * It is chosen in a CTE, which runs once. A subquery with a limit may run once for each row of the join, and would lock
 * another shard each time.
 */
export async function claimShard(tx: TenantTx, leaseUntil: Date): Promise<Shard | undefined> {
  await missingShards(tx)
  const { rows } = await sql<Omit<Shard, 'kind'> & { readonly kind: SubjectCode }>`${kept}
    with first as (
      select subject_kind, from_id from watch_shards
       where tenant_id = ${mine} and next_at <= ${tx.now}
       order by next_at, subject_kind, from_id limit 1
         for update skip locked
    )
    update watch_shards w
       set next_at = ${leaseUntil}, brought_at = 'infinity'
      from first
     where w.tenant_id = ${mine} and w.subject_kind = first.subject_kind and w.from_id = first.from_id
    returning w.subject_kind as kind, w.from_id as "fromId", w.to_id as "toId", w.asked`.execute(tx.q)
  return rows.map(fromCoded)[0]
}

/** Sets the next look at a shard, unless one was requested since the claim. Keeps an earlier instant set since. */
export async function settleShard(tx: TenantTx, { kind, fromId, asked }: Shard, nextAt: Date): Promise<void> {
  await sql`${kept}
    update watch_shards set next_at = least(${nextAt}::timestamptz, brought_at), brought_at = null
     where tenant_id = ${mine} and subject_kind = ${SUBJECT_CODES[kind]} and from_id = ${fromId}
       and asked = ${asked}`.execute(tx.q)
}

/** Splits a shard at an id. The second part is due now. @returns the first part */
export async function splitShard(tx: TenantTx, shard: Shard, at: number): Promise<Shard> {
  const kind = SUBJECT_CODES[shard.kind]
  const { rows } = await sql`
    update watch_shards set to_id = ${at}
     where tenant_id = ${mine} and subject_kind = ${kind} and from_id = ${shard.fromId}
       and to_id is not distinct from ${shard.toId}::bigint
    returning 1`.execute(tx.q)
  if (rows.length > 0) {
    await sql`
      insert into watch_shards (subject_kind, from_id, to_id, next_at)
      values (${kind}, ${at}, ${shard.toId}, ${tx.now})`.execute(tx.q)
  }
  return { ...shard, toId: at }
}

export async function hasDueShard(tx: TenantTx): Promise<boolean> {
  const { rows } = await sql`${kept}
    select from watch_shards where tenant_id = ${mine} and next_at <= ${tx.now} limit 1`.execute(tx.q)
  return rows.length > 0
}

/** Ids of tenants with due shards, without a shard of each kind, or behind the newest change of the rules. */
export async function tenantsToSweep(tx: PlatformTx): Promise<string[]> {
  const { rows } = await sql<{ tenantId: string }>`
    select distinct tenant_id as "tenantId" from watch_shards where next_at <= ${tx.now}
     union
    select id from tenants t
     where ${isBehind('t')}
        or not exists (select from watch_shards w where w.tenant_id = t.id and w.subject_kind = ${SUBJECT_CODES.tenant})`.execute(
    tx.q,
  )
  return rows.map(({ tenantId }) => tenantId)
}

/**
 * The guard: its holds, which wait for a person's decision; counts by the minute of what it let through in the last hour,
 * a few rows a rule; and a tenant's enforcement settings.
 */
import { sql } from 'kysely'
import type {
  EnforcementSettings,
  GuardScope,
  Hold,
  HoldQuery,
  HoldState,
  HoldSubject,
} from '../../../domain/enforcement/guard.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import { insertedId } from '../../../store/inserted-id.ts'
import { keyName } from '../../../store/key-name.ts'
import { mineByKey } from '../../../store/keyset-pages.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { heldByGuard } from '../../alerts/rows/open-alerts.ts'
import { coveredBy } from './permits.ts'

/** Id of a scope's open hold; undefined if it has none. */
export async function openHoldOf(tx: TenantTx, scope: GuardScope): Promise<number | undefined> {
  const { rows } = await sql<{ id: number }>`
    select id from guard_holds
     where tenant_id = ${mine} and what = ${scope.what} and rule = ${scope.rule} and rule_version = ${scope.version}
       and cycle_key = ${scope.cycleKey} and coalesce(pool_id, 0) = ${scope.poolId ?? 0} and state = 'held'`.execute(
    tx.q,
  )
  return rows[0]?.id
}

/** Opens a hold for a scope. @returns its id */
export async function insertHold(
  tx: TenantTx,
  scope: GuardScope,
  found: { readonly cycleEndsAt: Date; readonly suspended: number; readonly allowed: number },
): Promise<number> {
  const { rows } = await sql<{ id: number }>`
    insert into guard_holds (what, rule, rule_version, pool_id, cycle_key, cycle_ends_at, suspended, allowed, opened_at)
    values (${scope.what}, ${scope.rule}, ${scope.version}, ${scope.poolId}, ${scope.cycleKey}, ${found.cycleEndsAt},
            ${found.suspended}, ${found.allowed}, ${tx.now})
    returning id`.execute(tx.q)
  return insertedId(rows)
}

interface HoldRow extends GuardScope {
  readonly id: number
  /** Number of alerts in a hold of alerts. */
  readonly subjects: number | null
  readonly state: 'held' | 'released' | 'discarded'
  readonly cycleEndsAt: Date
}

/** Locks a hold and reads it; undefined if the id is unknown. */
export async function lockHold(tx: TenantTx, id: number): Promise<HoldRow | undefined> {
  const { rows } = await sql<HoldRow>`
    select id, what, subjects, rule, rule_version as version, pool_id as "poolId", cycle_key as "cycleKey", state,
           cycle_ends_at as "cycleEndsAt"
      from guard_holds where id = ${id}::bigint for update`.execute(tx.q)
  return rows[0]
}

/** The subject matter of a hold, which never changes; undefined if there is none. */
export async function heldIn(tx: TenantTx, id: number): Promise<HoldSubject | undefined> {
  const { rows } = await sql<{ what: HoldSubject }>`
    select what from guard_holds where id = ${id}::bigint`.execute(tx.q)
  return rows[0]?.what
}

/** @param subjects number of alerts decided about, for a hold of alerts */
export async function markDecided(
  tx: TenantTx,
  id: number,
  state: 'released' | 'discarded',
  subjects: number | null = null,
): Promise<void> {
  await sql`
    update guard_holds set state = ${state}, subjects = ${subjects}, decided_at = ${tx.now}, decided_by = ${tx.caller?.keyId ?? null}
     where id = ${id}`.execute(tx.q)
}

export async function holdStates(tx: TenantTx, ids: readonly number[]): Promise<Map<number, HoldState>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<{ id: number; state: HoldState }>`
    select id, case when state = 'held' and cycle_ends_at <= ${tx.now} then 'lapsed' else state end as state
      from guard_holds where id = any(${[...ids]}::bigint[])`.execute(tx.q)
  return new Map(rows.map(({ id, state }) => [id, state]))
}

/** Adds subjects to a hold. @returns how many it has held since it opened */
export async function addHeld(tx: TenantTx, id: number, count: number): Promise<number> {
  const { rows } = await sql<{ subjects: number }>`
    update guard_holds set subjects = coalesce(subjects, 0) + ${count}
     where id = ${id} returning subjects`.execute(tx.q)
  return rows[0]?.subjects ?? count
}

/** Condition: alerts that still wait in a hold. */
const waitingIn = (id: number) => sql`
  tenant_id = ${mine} and ${heldByGuard(sql`${String(id)}`)} and state ->> 'phase' = 'firing'`

export async function countWaiting(tx: TenantTx, id: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from alerts where ${waitingIn(id)}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Marks the subjects due that have an alert waiting in a hold. Takes one statement for any number. */
export async function markWaitingDue(tx: TenantTx, id: number): Promise<void> {
  await sql`
    insert into due_subjects as d (subject_kind, subject_id, due_at, seq)
    select subject_kind, subject_id, ${tx.now}, nextval('due_seq')
      from (select distinct subject_kind, subject_id from alerts
             where ${waitingIn(id)} order by subject_kind, subject_id) a
    on conflict (tenant_id, subject_kind, subject_id) do update
      set due_at = least(d.due_at, excluded.due_at), seq = excluded.seq`.execute(tx.q)
  tx.enqueue({ queue: 'evaluate' })
}

interface ListedHold extends Omit<Hold, 'openedAt' | 'decidedAt' | 'lapsesAt'> {
  readonly openedAt: Date
  readonly lapsesAt: Date
  readonly decidedAt: Date | null
}

/** A hold as in lists. An open hold of an ended cycle is shown as `lapsed`. */
const shownState = (tx: TenantTx) =>
  sql`case when h.state = 'held' and h.cycle_ends_at <= ${tx.now} then 'lapsed' else h.state end`
const columns = (tx: TenantTx) => sql`
  h.id, h.what, h.rule, h.rule_version as "ruleVersion", h.pool_id as "poolId", h.cycle_key as cycle,
  h.cycle_ends_at as "lapsesAt", ${shownState(tx)} as state, h.suspended, h.allowed, h.opened_at as "openedAt",
  h.decided_at as "decidedAt", h.decided_by as "decidedBy", ${keyName(sql`'key:' || h.decided_by`)} as "decidedByName",
  case when h.what = 'suspensions' then
    (select count(*)::integer from guard_permits where ${coveredBy(sql`h.id`)})
  when h.decided_at is not null then coalesce(h.subjects, 0)
  else
    (select count(*)::integer from alerts a
      where a.tenant_id = h.tenant_id and ${heldByGuard(sql`h.id::text`)} and a.state ->> 'phase' = 'firing')
  end as waiting`

const toHold = ({ openedAt, decidedAt, lapsesAt, ...row }: ListedHold): Hold => ({
  ...row,
  openedAt: openedAt.toISOString(),
  decidedAt: decidedAt?.toISOString() ?? null,
  lapsesAt: lapsesAt.toISOString(),
})

/** Reads a page of the holds, newest first. */
export async function pageOfHolds(tx: TenantTx, query: HoldQuery): Promise<Page<Hold>> {
  const page = pageRequest(query)
  const ofState = query.state === undefined ? sql`` : sql`and ${shownState(tx)} = ${query.state}`
  const { rows, totalItems } = await readPage<ListedHold>(
    tx,
    {
      columns: columns(tx),
      from: sql`from guard_holds h where ${mineByKey('h.id')} ${ofState}`,
      orderBy: sql`id desc`,
      walkBy: sql`h.tenant_id desc, h.id desc`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toHold))
}

/** @throws ServiceError `hold_not_found` */
export async function readHold(tx: TenantTx, id: number): Promise<Hold> {
  const { rows } = await sql<ListedHold>`
    select ${columns(tx)} from guard_holds h where h.id = ${id}::bigint`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw noHold(id)
  return toHold(row)
}

export const noHold = (id: number): ServiceError => new ServiceError('hold_not_found', `There is no hold ${id}.`)

/** `alerts`: subjects that a rule began to report or to act on. `would`: suspensions only logged. */
export interface CountScope {
  readonly what: HoldSubject | 'would'
  readonly rule: string
  /** 0: any. */
  readonly version: number
  /** Null: the whole tenant. */
  readonly poolId: number | null
}

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
const minuteOf = (at: Date): Date => new Date(Math.floor(at.getTime() / MINUTE_MS) * MINUTE_MS)

const within = (tx: TenantTx, { what, rule, version, poolId }: CountScope) => sql`
  tenant_id = ${mine} and what = ${what} and rule = ${rule} and rule_version = ${version} and pool_id = ${poolId ?? 0}`

/** Counts those passed since the minute an hour ago: never too few. Call under the lock of its writers. */
export async function countedInHour(tx: TenantTx, scope: CountScope): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(passed), 0)::integer as count from guard_counts
     where ${within(tx, scope)} and minute >= ${minuteOf(new Date(tx.now.getTime() - HOUR_MS))}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Counts subjects let through now, and deletes counts older than the hour. */
export async function addCount(tx: TenantTx, scope: CountScope, passed: number): Promise<void> {
  const { what, rule, version, poolId } = scope
  await sql`
    delete from guard_counts
     where ${within(tx, scope)} and minute < ${minuteOf(new Date(tx.now.getTime() - HOUR_MS))}`.execute(tx.q)
  await sql`
    insert into guard_counts as c (what, rule, rule_version, pool_id, minute, passed)
    values (${what}, ${rule}, ${version}, ${poolId ?? 0}, ${minuteOf(tx.now)}, ${passed})
    on conflict (tenant_id, what, rule, rule_version, pool_id, minute) do update
      set passed = c.passed + excluded.passed`.execute(tx.q)
}

export async function forgetCounts(tx: TenantTx, scope: CountScope): Promise<void> {
  await sql`delete from guard_counts where ${within(tx, scope)}`.execute(tx.q)
}

/** @throws Error if the tenant does not exist */
export async function readEnforcementSettings(tx: TenantTx): Promise<EnforcementSettings> {
  const { rows } = await sql<EnforcementSettings>`
    select enforcement_enabled as enabled, guard_least as "guardLeast", guard_pct as "guardPct",
           alert_guard_least as "alertGuardLeast", alert_guard_pct as "alertGuardPct"
      from tenants where id = ${tx.tenantId}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error(`no tenant ${tx.tenantId}`)
  return row
}

export async function writeEnforcementSettings(tx: TenantTx, settings: EnforcementSettings): Promise<void> {
  await sql`
    update tenants
       set enforcement_enabled = ${settings.enabled}, guard_least = ${settings.guardLeast},
           guard_pct = ${settings.guardPct}, alert_guard_least = ${settings.alertGuardLeast},
           alert_guard_pct = ${settings.alertGuardPct}, version = version + 1, updated_at = ${tx.now}
     where id = ${tx.tenantId}`.execute(tx.q)
}

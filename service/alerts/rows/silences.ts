/** Silences. Source: decision 0038. */
import { sql } from 'kysely'
import type { Silence, SilenceQuery } from '../../../domain/alerts/silence.ts'
import { heldUntil, type WeekTime } from '../../../domain/alerts/week-times.ts'
import type { LogLevel } from '../../../domain/codes.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import type { OpenSilence } from '../../../rules/alerts/quiet.ts'
import { insertedId } from '../../../store/inserted-id.ts'
import { kept } from '../../../store/kept.ts'
import { keyName } from '../../../store/key-name.ts'
import { mineByKey } from '../../../store/keyset-pages.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface NewSilenceRow {
  readonly rule: string | null
  readonly simId: number | null
  readonly poolId: number | null
  readonly tag: string | null
  readonly level: LogLevel | null
  readonly reason: string
  /** Null: always. */
  readonly times: readonly WeekTime[] | null
  readonly timeZone: string | null
  /** Null: it has no end. */
  readonly endsAt: Date | null
}

const actorOf = (tx: TenantTx): string | null => tx.caller?.actor ?? null

/** Adds a silence from now on. @returns its id */
export async function insertSilence(tx: TenantTx, silence: NewSilenceRow): Promise<number> {
  const { rule, simId, poolId, tag, level, reason, times, timeZone, endsAt } = silence
  const { rows } = await sql<{ id: number }>`
    insert into silences (rule, sim_id, pool_id, tag, level, reason, times, time_zone, created_at, created_by, ends_at)
    values (${rule}, ${simId}, ${poolId}, ${tag}, ${level}, ${reason}, ${times && JSON.stringify(times)}::jsonb,
            ${timeZone}, ${tx.now}, ${actorOf(tx)}, coalesce(${endsAt}::timestamptz, 'infinity'))
    returning id`.execute(tx.q)
  return insertedId(rows)
}

interface SilenceRow extends Omit<Silence, 'createdAt' | 'endsAt' | 'endedAt'> {
  readonly createdAt: Date
  readonly endsAt: Date | null
  readonly endedAt: Date | null
}

/** Null: no end. */
const ENDS_AT = sql`nullif(ends_at, 'infinity')`
const columns = sql`id, rule, sim_id as "simId", pool_id as "poolId", tag, level, reason, times,
  time_zone as "timeZone", created_at as "createdAt",
  created_by as "createdBy", ${keyName(sql`created_by`)} as "createdByName", ${ENDS_AT} as "endsAt",
  ended_at as "endedAt", ended_by as "endedBy", ${keyName(sql`ended_by`)} as "endedByName"`

const toSilence = ({ createdAt, endsAt, endedAt, ...row }: SilenceRow): Silence => ({
  ...row,
  createdAt: createdAt.toISOString(),
  endsAt: endsAt?.toISOString() ?? null,
  endedAt: endedAt?.toISOString() ?? null,
})

/** Reads silences by id, newest first. */
export async function readSilences(tx: TenantTx, ids: readonly number[]): Promise<Silence[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<SilenceRow>`
    select ${columns} from silences where id = any(${[...ids]}::bigint[]) order by id desc`.execute(tx.q)
  return rows.map(toSilence)
}

/** Reads a silence, and locks it; undefined if there is none. */
export async function lockSilence(tx: TenantTx, id: number): Promise<Silence | undefined> {
  const { rows } = await sql<SilenceRow>`
    select ${columns} from silences where id = ${id}::bigint for update`.execute(tx.q)
  return rows.map(toSilence)[0]
}

export async function writeSilenceEnd(tx: TenantTx, id: number): Promise<void> {
  await sql`
    update silences set ended_at = ${tx.now}, ended_by = ${actorOf(tx)}
     where id = ${id}`.execute(tx.q)
}

export async function pageOfSilences(tx: TenantTx, query: SilenceQuery): Promise<Page<Silence>> {
  const page = pageRequest(query)
  const open = sql`(ended_at is null and ends_at > ${tx.now})`
  const where = query.open === undefined ? sql`` : query.open ? sql`and ${open}` : sql`and not ${open}`
  const { rows, totalItems } = await readPage<SilenceRow>(
    tx,
    {
      columns,
      from: sql`from silences where ${mineByKey('silences.id')} ${where}`,
      orderBy: sql`id desc`,
      walkBy: sql`tenant_id, id desc`,
    },
    page,
  )
  return toPage(page, totalItems, rows.map(toSilence))
}

/** How many silences have not ended. */
export async function countSilences(tx: TenantTx): Promise<number> {
  const { rows } = await sql<{ open: number }>`
    select count(*)::integer as open from silences
     where tenant_id = ${mine} and ended_at is null and ends_at > ${tx.now}`.execute(tx.q)
  return rows[0]?.open ?? 0
}

/** The silences that hold now. */
export async function openSilences(tx: TenantTx): Promise<OpenSilence[]> {
  const { rows } = await sql<Omit<OpenSilence, 'endsAt'> & Pick<SilenceRow, 'times' | 'timeZone' | 'endsAt'>>`${kept}
    select id, rule, sim_id as "simId", pool_id as "poolId", tag, level, times, time_zone as "timeZone",
           ${ENDS_AT} as "endsAt"
      from silences
     where tenant_id = ${mine} and ended_at is null and ends_at > ${tx.now} order by id`.execute(tx.q)
  return rows.flatMap(({ times, timeZone, endsAt, ...row }) => {
    const until = holdsUntil({ times, timeZone, endsAt }, tx.now.getTime())
    return until === null ? [] : [{ ...row, endsAt: until }]
  })
}

/** Until when an open silence holds, epoch milliseconds; null if it does not hold at this instant. */
export function holdsUntil(
  { times, timeZone, endsAt }: { readonly endsAt: Date | string | null } & Pick<Silence, 'times' | 'timeZone'>,
  at: number,
): number | null {
  const end = endsAt === null ? Number.POSITIVE_INFINITY : new Date(endsAt).getTime()
  const until = times === null ? end : heldUntil(times, timeZone ?? 'UTC', at)
  return until === null ? null : Math.min(until, end)
}

/** Silences. Source: decision 0038. */
import { sql } from 'kysely'
import type { Silence, SilenceQuery } from '../../../domain/alerts/silence.ts'
import type { LogLevel } from '../../../domain/codes.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import type { OpenSilence } from '../../../rules/alerts/quiet.ts'
import { insertedId } from '../../../store/inserted-id.ts'
import { readPage } from '../../../store/paging.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'

export interface NewSilenceRow {
  readonly rule: string | null
  readonly simId: number | null
  readonly poolId: number | null
  readonly tag: string | null
  readonly level: LogLevel | null
  readonly reason: string
  readonly endsAt: Date
}

const actorOf = (tx: TenantTx): string | null => tx.caller?.actor ?? null

/** Adds a silence from now on. @returns its id */
export async function insertSilence(tx: TenantTx, silence: NewSilenceRow): Promise<number> {
  const { rule, simId, poolId, tag, level, reason, endsAt } = silence
  const { rows } = await sql<{ id: number }>`
    insert into silences (rule, sim_id, pool_id, tag, level, reason, created_at, created_by, ends_at)
    values (${rule}, ${simId}, ${poolId}, ${tag}, ${level}, ${reason}, ${tx.now}, ${actorOf(tx)}, ${endsAt})
    returning id`.execute(tx.q)
  return insertedId(rows)
}

interface SilenceRow extends Omit<Silence, 'createdAt' | 'endsAt' | 'endedAt'> {
  readonly createdAt: Date
  readonly endsAt: Date
  readonly endedAt: Date | null
}

const columns = sql`id, rule, sim_id as "simId", pool_id as "poolId", tag, level, reason, created_at as "createdAt",
  created_by as "createdBy", ends_at as "endsAt", ended_at as "endedAt", ended_by as "endedBy"`

const toSilence = ({ createdAt, endsAt, endedAt, ...row }: SilenceRow): Silence => ({
  ...row,
  createdAt: createdAt.toISOString(),
  endsAt: endsAt.toISOString(),
  endedAt: endedAt?.toISOString() ?? null,
})

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
    { columns, from: sql`from silences where tenant_id = ${tx.tenantId} ${where}`, orderBy: sql`id desc` },
    page,
  )
  return toPage(page, totalItems, rows.map(toSilence))
}

export async function openSilences(tx: TenantTx): Promise<OpenSilence[]> {
  const { rows } = await sql<Omit<OpenSilence, 'endsAt'> & { readonly endsAt: Date }>`
    select id, rule, sim_id as "simId", pool_id as "poolId", tag, level, ends_at as "endsAt" from silences
     where tenant_id = ${mine} and ended_at is null and ends_at > ${tx.now} order by id`.execute(tx.q)
  return rows.map(({ endsAt, ...row }) => ({ ...row, endsAt: endsAt.getTime() }))
}

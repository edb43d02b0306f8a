/** Running processes of the service. A process reports itself every 10 seconds. */
import { sql } from 'kysely'
import type { PlatformTx } from './tenancy.ts'

export interface ServiceProcess {
  readonly id: string
  readonly kind: 'api' | 'worker'
  readonly host: string
  readonly pid: number
  /** Name of the newest migration of the process. */
  readonly newestMigration: string
}

/** How long after its last report a process counts as gone, in milliseconds: six times the interval of the reports. */
const GONE_AFTER_MS = 60_000

/** Records that a process is at work. Deletes processes not seen for a day. */
export async function sayAtWork(
  tx: PlatformTx,
  { id, kind, host, pid, newestMigration }: ServiceProcess,
): Promise<void> {
  await sql`
    insert into processes (id, kind, host, pid, newest_migration, started_at, seen_at)
    values (${id}, ${kind}, ${host}, ${pid}, ${newestMigration}, ${tx.now}, ${tx.now})
    on conflict (id) do update set seen_at = excluded.seen_at`.execute(tx.q)
  await sql`delete from processes where seen_at < ${tx.now}::timestamptz - interval '1 day'`.execute(tx.q)
}

export async function sayEnded(tx: PlatformTx, id: string): Promise<void> {
  await sql`delete from processes where id = ${id}`.execute(tx.q)
}

/** Processes at work that were built before a migration, oldest first. */
export async function processesBefore(tx: PlatformTx, migration: string): Promise<ServiceProcess[]> {
  const { rows } = await sql<ServiceProcess>`
    select id, kind, host, pid, newest_migration as "newestMigration" from processes
    where newest_migration < ${migration} and seen_at > ${new Date(tx.now.getTime() - GONE_AFTER_MS)}
    order by started_at, id`.execute(tx.q)
  return rows
}

/**
 * The temporary tables of a replay. They have the names of the tenant's tables and hide them: operations on this
 * connection use the temporary tables. Its transactions are read only: PostgreSQL lets them write only temporary
 * tables.
 *
 * A connection with them must not go back to a pool: its creator closes it.
 */
import { sql } from 'kysely'
import type { Db } from '../../../store/tenancy.ts'
import { makeContributorChanges } from '../../usage/rows/contributors.ts'
import { makeStage, STAGE_TABLES } from '../../usage/rows/stage.ts'

/** Tables read directly: the terms of a tariff never change. */
const LEFT_ALONE = ['tariffs']
/** Tables without a tenant that operations read or write. */
const BESIDE = ['tenants', 'rule_activations', 'rule_sets', 'rule_spreads']

/** Changes of the past of a tenant, in order of their instants. They stand for rows of the real tables. */
const PAST = ['usage_records', 'tickets', 'audit_log', 'pools', 'silences', 'cycles'] as const
type PastTable = (typeof PAST)[number]
const pastOf = (table: PastTable): string => `past_${table}`

/** Makes the tables, empty. Outside a transaction. @param db a single connection, without any of them */
export async function makeTemporaryTables(db: Db): Promise<void> {
  // Their text names tables without a schema only as long as no tables hide them.
  const { rows: views } = await sql<{ name: string; definition: string }>`
    select relname as name, pg_get_viewdef(oid) as definition
      from pg_class where relkind = 'v' and relnamespace = 'public'::regnamespace order by oid`.execute(db)
  const { rows: tables } = await sql<{ name: string; role: string }>`
    select distinct c.relname as name,
           case when has_table_privilege('simherd_tenant', c.oid, 'select') then 'simherd_tenant' else 'simherd_platform' end as role
      from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
       and (a.attname is not null or c.relname = any(${BESIDE}::text[])) and c.relname <> all(${LEFT_ALONE}::text[])
       and (has_table_privilege('simherd_tenant', c.oid, 'select') or has_table_privilege('simherd_platform', c.oid, 'select'))
     order by 1`.execute(db)
  const { rows: sequences } = await sql<{ name: string }>`
    select relname as name from pg_class c
     where relkind = 'S' and relnamespace = 'public'::regnamespace
       and not exists (select from pg_depend where objid = c.oid and deptype = 'i') order by 1`.execute(db)
  await sql`set role simherd_tenant`.execute(db)
  for (const { name } of sequences) {
    await sql`create temporary sequence ${sql.id(name)}`.execute(db)
    await sql`grant all on sequence ${sql.id('pg_temp', name)} to simherd_tenant, simherd_platform`.execute(db)
  }
  // A login has no rights without a role. A role that may read a table may make one like it.
  for (const { name, role } of tables) {
    await sql`set role ${sql.id(role)}`.execute(db)
    await makeTable(db, name, name, true)
  }
  await sql`set role simherd_tenant`.execute(db)
  for (const name of PAST) await makeTable(db, pastOf(name), name, false)
  await sql`create index on past_usage_records (received_at, record_id, at)`.execute(db)
  for (const { name, definition } of views) {
    await sql`create temporary view ${sql.id(name)} with (security_invoker = true) as ${sql.raw(definition)}`.execute(
      db,
    )
    await grant(db, name)
  }
  await makeStage(db, 'preserve rows')
  await makeContributorChanges(db, 'preserve rows')
  for (const name of [...STAGE_TABLES, 'contributor_changes']) await grant(db, name)
  await sql`
    create trigger sims_counted after update on pg_temp.sims referencing old table as was new table as became
      for each statement execute function count_moved_sims()`.execute(db)
}

async function makeTable(db: Db, name: string, like: string, hasIndexes: boolean): Promise<void> {
  const including = hasIndexes ? sql`including all` : sql`including defaults`
  await sql`create temporary table ${sql.id(name)} (like ${sql.id('public', like)} ${including})`.execute(db)
  await grant(db, name)
}

const grant = (db: Db, name: string) =>
  sql`grant all on ${sql.id('pg_temp', name)} to simherd_tenant, simherd_platform`.execute(db)

/** Gives PostgreSQL the sizes of the tables: only its own session can analyze a temporary table. */
export async function analyzeTemporaryTables(db: Db): Promise<void> {
  const names = ['sims', 'pools', 'memberships', 'active_spans', 'usage_records', 'sim_sightings', 'usage_ledger']
  for (const name of [...names, 'pool_cycles', 'past_usage_records', 'past_tickets'])
    await sql`analyze ${sql.id('pg_temp', name)}`.execute(db)
}

/** Frees the space of staged records. Call outside a transaction: a read-only one may not do it. */
export async function emptyStage(db: Db): Promise<void> {
  await sql`truncate ${sql.join(STAGE_TABLES.map((name) => sql.id('pg_temp', name)))}`.execute(db)
}

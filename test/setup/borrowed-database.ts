/**
 * Databases that the test files of a process use one after the other. Each is emptied in between, and keeps its
 * connections: a new one reads the catalogs and plans each statement again, and a copy of the template takes 0.1 s.
 */
import { sql } from 'kysely'
import { connect } from '../../store/connect.ts'
import type { Db } from '../../store/tenancy.ts'
import { dropDatabase, freshDatabase, refuse, wrongCountsIn } from './database.ts'

export interface Expected {
  /** How many deadlocks the test causes: transactions that PostgreSQL breaks off. Default: 0. */
  readonly deadlocks?: number
  /** False if the test writes rows that belong to nothing. Default: true. */
  readonly counted?: boolean
}

interface Pooled {
  readonly url: string
  /** Connections at most. */
  readonly max: number
  readonly db: Db
  readonly close: () => Promise<void>
  /** Of the copied template. */
  readonly shape: string
  /** So far. */
  deadlocks: number
}

const free: Pooled[] = []

/** The name of the pool's connections at the server. */
const POOL = 'pool'

/** Empty pages are read too, so a larger database is dropped. */
const LARGE_BYTES = 40_000_000

/**
 * A database as {@link freshDatabase} makes it, and connections to it.
 *
 * @param max connections at most
 * @returns the superuser's `url`, `db` of the same user, and `giveBack`, which rejects as `drop` of `freshDatabase` does
 *   unless it is expected
 */
export async function borrowDatabase(max: number, expected: Expected = {}) {
  const at = free.findIndex((one) => one.max === max)
  const [pooled = await newDatabase(max)] = at < 0 ? [] : free.splice(at, 1)
  return { url: pooled.url, db: pooled.db, giveBack: () => giveBack(pooled, expected) }
}

async function newDatabase(max: number): Promise<Pooled> {
  const { url } = await freshDatabase()
  const { db, close } = connect(`${url}?application_name=${POOL}`, { max })
  return { url, max, db, close, shape: (await lookAt(db)).shape, deadlocks: 0 }
}

async function giveBack(pooled: Pooled, { deadlocks = 0, counted = true }: Expected): Promise<void> {
  const { url, db, close } = pooled
  pooled.deadlocks += deadlocks
  const wrong = counted ? await wrongCountsIn(db).catch((error: unknown) => [String(error)]) : []
  if (wrong.length === 0 && (await empty(pooled).catch(() => false))) {
    free.push(pooled)
    return
  }
  await close()
  await dropDatabase(new URL(url).pathname.slice(1), pooled.deadlocks)
  refuse(wrong)
}

/** Deletes all rows. @returns whether the database is then as it was when new */
async function empty({ db, shape, deadlocks }: Pooled): Promise<boolean> {
  await endOthers(db)
  const found = await lookAt(db)
  if (found.shape !== shape || found.deadlocks !== deadlocks || found.bytes > LARGE_BYTES) return false
  await db.transaction().execute(async (tx) => {
    // No trigger and no foreign key.
    await sql`set local session_replication_role = replica`.execute(tx)
    // Partitions stay: the service remembers which there are.
    await sql`
      do $$
      declare one record;
      begin
        for one in
          select oid::regclass as name from pg_class
          where relnamespace = 'public'::regnamespace
            and relname not in ('kysely_migration', 'kysely_migration_lock', 'order_prices')
            and case relkind when 'r' then pg_relation_size(oid) > 0 else false end
        loop
          execute format('delete from %s', one.name);
        end loop;
        perform setval(seqrelid::regclass, seqstart, false) from pg_sequence;
      end $$`.execute(tx)
  })
  return true
}

/** Ends connections outside of the pool. */
async function endOthers(db: Db): Promise<void> {
  await sql`
    select pg_terminate_backend(pid, 10000) from pg_stat_activity
    where datname = current_database() and application_name <> ${POOL}`.execute(db)
}

/**
 * The shape of the database, which emptying does not restore, its size, and its deadlocks so far. PostgreSQL detects a
 * deadlock after a second, and a connection reports its counts at most once a second.
 */
async function lookAt(db: Db): Promise<{ shape: string; bytes: number; deadlocks: number }> {
  const { rows } = await sql<{ shape: string; bytes: number; deadlocks: number }>`
    select concat_ws(' ',
        (select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'm')
          and not relispartition),
        (select count(*) from pg_trigger where not tgisinternal and tgparentid = 0),
        (select count(*) from pg_proc where pronamespace = 'public'::regnamespace),
        (select count(*) from pg_statistic where starelid >= 16384),
        (select string_agg(p::text, ' ' order by p::text) from order_prices p)) as shape,
      pg_database_size(oid) as bytes, pg_stat_get_db_deadlocks(oid)::integer as deadlocks
    from pg_database where datname = current_database()`.execute(db)
  const [seen] = rows
  if (seen === undefined) throw new Error('the database does not know itself')
  return seen
}

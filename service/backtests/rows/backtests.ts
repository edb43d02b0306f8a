/**
 * Requested backtests. The worker of a backtest holds the lock of backtests; a broken connection gives it back. So for
 * the holder of this lock, a stored backtest in state running has no worker.
 */
import { sql } from 'kysely'
import type { Backtest, BacktestDetail, BacktestQuery, BacktestReport } from '../../../domain/backtests/backtest.ts'
import { type Page, pageRequest, toPage } from '../../../domain/page.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { keyName } from '../../../store/key-name.ts'
import { readPage } from '../../../store/paging.ts'
import type { Db, PlatformTx } from '../../../store/tenancy.ts'

type Row<T extends Backtest> = Omit<T, 'askedAt' | 'startedAt' | 'endedAt'> & {
  readonly askedAt: Date
  readonly startedAt: Date | null
  readonly endedAt: Date | null
}

const columns = sql`id, tenant_id as "tenantId", version, cycles, state, actor, ${keyName(sql`actor`)} as "actorName", asked_at as "askedAt",
  started_at as "startedAt", ended_at as "endedAt", records, records_done as "recordsDone", failure`
const waiting = sql`state in ('queued', 'running')`

const shown = <T extends Backtest>({ askedAt, startedAt, endedAt, ...row }: Row<T>) => ({
  ...row,
  askedAt: askedAt.toISOString(),
  startedAt: startedAt?.toISOString() ?? null,
  endedAt: endedAt?.toISOString() ?? null,
})

/** The request. It has the files if they are not stored as a version. */
export interface AskedBacktest {
  readonly tenantId: string
  readonly cycles: number
  readonly version: number | null
  readonly files: readonly RuleSource[] | null
}

export async function insertBacktest(tx: PlatformTx, asked: AskedBacktest): Promise<Backtest> {
  const { tenantId, cycles, version, files } = asked
  const { rows } = await sql<Row<Backtest>>`
    insert into backtests (tenant_id, version, files, cycles, actor, asked_at)
    values (${tenantId}, ${version}, ${files === null ? null : JSON.stringify(files)}::jsonb,
            ${cycles}, ${tx.caller?.actor ?? null}, ${tx.now})
    returning ${columns}`.execute(tx.q)
  const [row] = rows
  if (row === undefined) throw new Error('the backtest was written and is not there')
  return shown<Backtest>(row)
}

/** Locks against a new backtest, until the transaction ends. @returns how many wait or run */
export async function lockBacktests(tx: PlatformTx): Promise<number> {
  await sql`select pg_advisory_xact_lock(hashtext('simherd.backtests'))`.execute(tx.q)
  return countWaitingBacktests(tx)
}

export async function countWaitingBacktests(tx: PlatformTx): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::integer as count from backtests where ${waiting}`.execute(tx.q)
  return rows[0]?.count ?? 0
}

/** Reads a page of the backtests, of all tenants or of one, the newest first. The sweep bounds their number. */
export async function pageOfBacktests(tx: PlatformTx, query: BacktestQuery): Promise<Page<Backtest>> {
  const page = pageRequest(query)
  const ofTenant = query.tenantId === undefined ? sql`` : sql`where tenant_id = ${query.tenantId}`
  const list = { columns, from: sql`from backtests ${ofTenant}`, orderBy: sql`id desc` }
  const { rows, totalItems } = await readPage<Row<Backtest>>(tx, list, page)
  const items = rows.map((row) => shown<Backtest>(row))
  return toPage(page, totalItems, items)
}

/** Reads a backtest with its report; undefined if there is none. */
export async function findBacktest(tx: PlatformTx, id: number): Promise<BacktestDetail | undefined> {
  const { rows } = await sql<Row<BacktestDetail>>`
    select ${columns}, report from backtests where id = ${id}`.execute(tx.q)
  const [row] = rows
  return row === undefined ? undefined : { ...shown<Backtest>(row), report: row.report }
}

/** Removes a backtest. @returns whether there was one */
export async function deleteBacktest(tx: PlatformTx, id: number): Promise<boolean> {
  const { rows } = await sql`delete from backtests where id = ${id} returning id`.execute(tx.q)
  return rows.length > 0
}

/** A begun backtest, with the number of its start: another start of it writes nothing here. */
export interface BegunBacktest extends AskedBacktest {
  readonly id: number
  readonly starts: number
}

/** Begins the oldest backtest that waits. Call with the lock of backtests. @returns undefined if none waits */
export async function beginBacktest(tx: PlatformTx): Promise<BegunBacktest | undefined> {
  const { rows } = await sql<BegunBacktest>`
    update backtests
       set state = 'running', starts = starts + 1, started_at = ${tx.now}, records = null, records_done = 0
     where id = (select id from backtests where ${waiting} order by id limit 1)
    returning id, starts, tenant_id as "tenantId", cycles, version, files`.execute(tx.q)
  return rows[0]
}

type BegunRef = Pick<BegunBacktest, 'id' | 'starts'>
const stillBegun = ({ id, starts }: BegunRef) => sql`id = ${id} and starts = ${starts} and state = 'running'`

/** Writes how far a backtest is. @returns false if it was removed, or is another's now */
export async function noteBacktestProgress(
  tx: PlatformTx,
  begun: BegunRef,
  done: number,
  of: number,
): Promise<boolean> {
  const { rows } = await sql`
    update backtests set records = ${of}, records_done = ${done} where ${stillBegun(begun)} returning id`.execute(tx.q)
  return rows.length > 0
}

/** Ends a backtest with its report, or with the reason of its failure. Writes nothing if it was removed. */
export async function endBacktest(tx: PlatformTx, begun: BegunRef, end: BacktestReport | string): Promise<void> {
  const [state, report, failure] = typeof end === 'string' ? ['failed', null, end] : ['done', JSON.stringify(end), null]
  await sql`
    update backtests
       set state = ${state}, report = ${report}::jsonb, failure = ${failure}, ended_at = ${tx.now}, files = null,
           records_done = case when ${state} = 'done' then coalesce(records, records_done) else records_done end
     where ${stillBegun(begun)}`.execute(tx.q)
}

/** Puts a stopped backtest back: that start does not count. */
export async function requeueBacktest(tx: PlatformTx, begun: BegunRef): Promise<void> {
  await sql`
    update backtests set state = 'queued', starts = starts - 1, started_at = null where ${stillBegun(begun)}`.execute(
    tx.q,
  )
}

/** Deletes backtests that ended and were asked for before an instant, and all that ended but the newest. */
export async function forgetBacktests(tx: PlatformTx, before: Date, most: number): Promise<void> {
  await sql`
    delete from backtests
     where not ${waiting}
       and (asked_at < ${before}
            or id in (select id from backtests where not ${waiting} order by id desc offset ${most}))`.execute(tx.q)
}

/** Takes the lock of backtests for this session. @returns whether it was free */
export async function tryBacktestLock(db: Db): Promise<boolean> {
  const { rows } = await sql<{ locked: boolean }>`
    select pg_try_advisory_lock(hashtext('simherd.backtest'), 0) as locked`.execute(db)
  return rows[0]?.locked === true
}

export async function releaseBacktestLock(db: Db): Promise<void> {
  await sql`select pg_advisory_unlock(hashtext('simherd.backtest'), 0)`.execute(db)
}

/** The session of a single connection, for `endBackend`. */
export async function backendOf(db: Db): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return rows[0]?.pid ?? 0
}

/** Ends a session of the same login, and the statement that it is at. */
export async function endBackend(db: Db, pid: number): Promise<void> {
  await sql`select pg_terminate_backend(${pid})`.execute(db)
}

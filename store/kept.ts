/**
 * Statements whose plans a connection keeps. Planning is most of the cost of a read of a few rows, and row-level
 * security adds to it.
 *
 * Mark a statement sent very often, in few versions, with a plan that hardly depends on its values. PostgreSQL still
 * plans it for its values if it estimates that to be cheaper: test/store/plans/ tries the plans for all values too. Do
 * not mark one that reads a temporary table: its plan is kept from when the table was small.
 */
import { type RawBuilder, sql } from 'kysely'

export const MARK = '/* kept */'

/** A statement with it, in any of its fragments, is kept: sql`${kept} select …`. */
export const kept = sql.raw(MARK)

/**
 * A list of ids for a kept statement with a large plan. Its length is hidden from PostgreSQL's planner, which would
 * otherwise plan for each short list again.
 */
export const listOf = (ids: readonly number[]): RawBuilder<unknown> => sql`(select ${[...ids]}::bigint[])::bigint[]`

/** The same as a condition: `id = ${anyOf(ids)}`. */
export const anyOf = (ids: readonly number[]): RawBuilder<unknown> => sql`any(${listOf(ids)})`

export const AHEAD_MARK = '/* ahead */'

/**
 * A statement with it gives no rows, and is not waited for. Its error is that of the next statement, or of the commit
 * (store/keeping-client.ts). For locks and writes, unless the caller handles their errors.
 */
export const ahead = sql.raw(AHEAD_MARK)

export const PATIENT_MARK = '/* patient */'

/** Begin a transaction's first statement with it if its statements may take minutes (store/keeping-client.ts). */
export const patient = sql.raw(PATIENT_MARK)

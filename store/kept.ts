/**
 * Statements whose plans a connection keeps. Planning is most of what a read of a few rows costs, and row-level security
 * makes it no cheaper.
 *
 * Mark a statement that is sent very often, in few versions, and whose plan hardly depends on its values. PostgreSQL
 * still plans it for its values where it finds that cheaper.
 */
import { sql } from 'kysely'

export const MARK = '/* kept */'

/** Begin a statement with it: sql`${kept} select …`. */
export const kept = sql.raw(MARK)

export const PATIENT_MARK = '/* patient */'

/** Begin a transaction's first statement with it whose statements may take minutes (store/keeping-client.ts). */
export const patient = sql.raw(PATIENT_MARK)

/**
 * Statuses of open tickets, for `status in ${OPEN_STATUSES}`. They are literals: PostgreSQL uses the partial indexes of
 * open tickets only if the statement has the same codes.
 */
import { sql } from 'kysely'
import { TicketStatus } from '../domain/codes.ts'

const { Pending, Processing } = TicketStatus
export const OPEN_STATUSES = sql`(${sql.lit(Pending)}, ${sql.lit(Processing)})`

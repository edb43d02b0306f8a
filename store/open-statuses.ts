/**
 * Statuses of tickets that have not ended, for `status in ${OPEN_STATUSES}`. They are literals: PostgreSQL uses the partial
 * indexes of open tickets only where it sees the same codes.
 */
import { sql } from 'kysely'
import { TicketStatus } from '../domain/codes.ts'

const { Pending, Processing } = TicketStatus
export const OPEN_STATUSES = sql`(${sql.lit(Pending)}, ${sql.lit(Processing)})`

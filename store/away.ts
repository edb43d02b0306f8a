/** Separates an unavailable database from statements that cannot succeed. */

import { ServiceError } from '../domain/errors.ts'

/**
 * Codes of a lost or refused connection, a starting or stopping server, and too many connections. Also of serialization
 * failures, deadlock victims, lock timeouts and terminated idle transactions.
 */
const AWAY =
  /^(08...|57P0[123]|53[0-9A-Z]{3}|40P01|40001|55P03|25P03|ECONN\w+|EPIPE|ENOENT|ETIMEDOUT|EAI_AGAIN|ENOTFOUND)$/

/** Whether an error is of the database server, its connection, or a cycle not open yet: it may pass. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof ServiceError) return error.code === 'unavailable'
  if ('code' in error && typeof error.code === 'string' && AWAY.test(error.code)) return true
  if (error instanceof AggregateError) return error.errors.some(isAway)
  return /Connection terminated|is not queryable|timeout exceeded when trying to connect/.test(error.message)
}

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

/** Whether a statement waited for a lock too long: the server is there, but another transaction holds the lock. */
export const isLockTimeout = (error: unknown): boolean => hasCode(error, '55P03')
export const isDiskFull = (error: unknown): boolean => hasCode(error, '53100')

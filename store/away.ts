/** Telling a database that is away from a statement that cannot be done. */

/** Connection lost or refused, server starting or stopping, too many connections, a deadlock's loser, a lock that was not given in time. */
const AWAY =
  /^(08...|57P0[123]|53[0-9A-Z]{3}|40P01|40001|55P03|25P03|ECONN\w+|EPIPE|ENOENT|ETIMEDOUT|EAI_AGAIN|ENOTFOUND)$/

/** Whether a failure is of the database or the way to it: what was asked for may well be done later. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ('code' in error && typeof error.code === 'string' && AWAY.test(error.code)) return true
  if (error instanceof AggregateError) return error.errors.some(isAway)
  return /Connection terminated|is not queryable|timeout exceeded when trying to connect/.test(error.message)
}

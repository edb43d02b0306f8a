import { type RawBuilder, sql } from 'kysely'
import type { NextStep } from '../../../domain/channels/retry.ts'

/** What an attempt changes in the row of a delivery: for `update … set`. */
export const attempted = ({
  status,
  response,
  nextAt,
  triedSince,
  refusedAt,
}: NextStep & { readonly response: string }): RawBuilder<unknown> => sql`
  status = ${status}, response = ${response}, next_attempt_at = ${nextAt}, tried_since = ${triedSince},
  refused_at = ${refusedAt}`

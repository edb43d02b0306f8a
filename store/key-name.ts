/** Names of API keys, for lists of what callers did. A name is as it is now. */
import { type RawBuilder, sql } from 'kysely'

/** The name of an actor's key; null for other actors. @param actor as in `Caller`, of one row */
export const keyName = (actor: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select k.name from api_keys k where k.id = split_part(${actor}, 'key:', 2))`

/** Names of API keys, for lists of what callers did. A name is as it is now. */
import { type RawBuilder, sql } from 'kysely'

/**
 * The name of an actor's key; null for other actors. The key is looked up by a column, `named.id`: behind a policy,
 * PostgreSQL 15.20 uses no index for a call of `split_part`.
 *
 * @param actor as in `Caller`, of one row
 */
export const keyName = (actor: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`(select k.name
         from (select split_part(${actor}, 'key:', 2) as id offset 0) named
         cross join lateral (select name from api_keys where id = named.id limit 1) k)`

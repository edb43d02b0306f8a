/** Sizes of tables, for an operator about to migrate them. */
import { sql } from 'kysely'
import type { Db } from './tenancy.ts'

export interface TableSize {
  readonly name: string
  /** Including indexes and partitions. */
  readonly bytes: number
}

/** Tables of the database that an SQL text names, largest first. */
export async function tablesIn(db: Db, text: string): Promise<TableSize[]> {
  const words = [...new Set(text.match(/[a-z_][a-z0-9_]*/g) ?? [])]
  const { rows } = await sql<TableSize>`
    select c.relname as name,
           (select coalesce(sum(pg_total_relation_size(relid)), 0) from pg_partition_tree(c.oid))::float8
             + case when c.relkind = 'r' and not c.relispartition then pg_total_relation_size(c.oid) else 0 end as bytes
    from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname = any (${words})
    order by bytes desc, name`.execute(db)
  return rows
}

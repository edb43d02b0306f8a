/** Checksums of a whole database, to find out whether anything changed it. */
import pg from 'pg'

/**
 * Row count and checksum of each table. A checksum covers the rows and the ids of the transactions that wrote them, so
 * it also changes if a row is rewritten with the same values.
 */
export async function everythingIn(databaseUrl: string): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
    )
    const sums: Record<string, string> = {}
    for (const { name } of rows) {
      const query = `select count(*) || ' rows ' || coalesce(md5(string_agg(line, '|' order by line)), '') as sum
                       from (select t.xmin || t::text as line from "${name}" t) l`
      const { rows: sum } = await client.query<{ sum: string }>(query)
      sums[name] = sum[0]?.sum ?? ''
    }
    return sums
  } finally {
    await client.end()
  }
}

/** All that is in a database, to tell whether something has changed it. */
import pg from 'pg'

/**
 * A checksum of each table, over its rows and the transactions that wrote them: a row that was written anew with the
 * same values is another.
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

/** `npm run schema`: writes store/schema.sql, from a database that all migrations have made. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startPostgres } from '../stack/postgres/postgres.ts'
import { migrate } from '../store/migrate/migrate.ts'
import { schemaText } from './schema-text.ts'

const dataDir = await mkdtemp(join(tmpdir(), 'simherd-schema-'))
const postgres = await startPostgres({ dataDir, durable: false })
try {
  await migrate(postgres.url)
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await writeFile(join(import.meta.dirname, '../store/schema.sql'), await schemaText(client))
  await client.end()
  console.log('written: store/schema.sql')
} finally {
  await postgres.stop()
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
}

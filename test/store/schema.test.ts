import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { migrate } from '../../store/migrate/migrate.ts'
import { schemaText } from '../../tools/schema-text.ts'
import { emptyDatabase } from '../setup/database.ts'

const SHOWN = new URL('../../store/schema.sql', import.meta.url)
test('store/schema.sql shows what migrations make', async () => {
  const database = await emptyDatabase()
  const client = new pg.Client({ connectionString: database.url })
  try {
    await migrate(database.url)
    await client.connect()
    const made = await schemaText(client)

    expect(made, 'run "npm run schema" and look at the change').toBe(await readFile(SHOWN, 'utf8'))
  } finally {
    await client.end()
    await database.drop()
  }
})

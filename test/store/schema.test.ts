import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { migrate } from '../../store/migrate.ts'
import { readAllFiles } from '../../store/migration-files.ts'
import { schemaText } from '../../tools/schema-text.ts'
import { emptyDatabase } from '../setup/database.ts'

const SHOWN = new URL('../../store/schema.sql', import.meta.url)
/** A name after those of all files: the numbered ones, then functions. */
const ALL = 'functions/~'

/** The schema after these runs of the migrator, each of the files up to a name. */
async function schemaAfter(...upTo: readonly string[]): Promise<string> {
  const database = await emptyDatabase()
  const client = new pg.Client({ connectionString: database.url })
  try {
    for (const last of upTo) {
      await migrate(database.url, { files: (await readAllFiles()).filter(({ name }) => name <= last) })
    }
    await client.connect()
    return await schemaText(client)
  } finally {
    await client.end()
    await database.drop()
  }
}

test.each([
  ['in one run', [ALL]],
  ['from 0019 on', ['0019_zzz', ALL]],
])('store/schema.sql shows what migrations make %s', async (_, upTo) => {
  const shown = await readFile(SHOWN, 'utf8')

  expect(await schemaAfter(...upTo), 'run "npm run schema" and look at the change').toBe(shown)
})

/** `simherd migrate` */
import type { Settings } from '../config/index.ts'
import { migrate } from '../store/migrate.ts'
import { CommandFailure, ExitCode } from './failures.ts'

export async function migrateDatabase({ DATABASE_URL }: Settings): Promise<void> {
  if (DATABASE_URL === '') {
    throw new CommandFailure(
      'DATABASE_URL is not set: say which database to migrate. "npm start" migrates its own by itself.',
      ExitCode.usage,
    )
  }
  let applied = 0
  await migrate(DATABASE_URL, {
    log: (line) => {
      applied += 1
      console.log(line)
    },
  })
  console.log(applied === 0 ? 'nothing to do: the database has the newest schema' : `${applied} migration(s) applied`)
}

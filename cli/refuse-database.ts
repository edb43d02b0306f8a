import { databaseDependency, withTimeLimit } from '../process/health.ts'
import { directUrl } from '../process/options.ts'
import type { Settings } from '../process/settings.ts'
import { connect } from '../store/connect.ts'
import { asCommandFailure, CommandFailure, ExitCode } from './failures.ts'

/** How long a start waits for this look. */
const LOOK_MS = 2000

/**
 * Ends a start if the database refuses the process for good: its login, the name of the database, missing rights, a server
 * that is too old. A process waits for a database that is away or not migrated yet: that one may come.
 *
 * @throws CommandFailure `usage`
 */
export async function refuseDatabase(settings: Settings): Promise<void> {
  for (const url of new Set([settings.DATABASE_URL, directUrl(settings)])) {
    const { db, close } = connect(url, { max: 1 })
    const look = databaseDependency(db).check()
    try {
      await withTimeLimit(LOOK_MS, look)
    } catch (error) {
      const failure = asCommandFailure(error)
      if (failure instanceof CommandFailure && failure.exitCode === ExitCode.usage) throw failure
    } finally {
      // A frozen server would hold the start.
      void look.catch(() => undefined).then(close)
    }
  }
}

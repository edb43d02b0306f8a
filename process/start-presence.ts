/** A process records in the database that it is running, as long as it runs. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Logger } from 'pino'
import { migrationNames } from '../store/migrate/migration-files.ts'
import { type ServiceProcess, sayAtWork, sayEnded } from '../store/processes.ts'
import { inPlatform, type Store } from '../store/tenancy.ts'

/** One sixth of the time after which a silent process counts as ended. Milliseconds. */
const EVERY_MS = 10_000

/** Records it, again and again: a database may be away or not migrated yet. `stop` removes the process. */
export function startPresence(store: Store, kind: ServiceProcess['kind'], log: Logger) {
  const process = describe(kind)
  const say = async () => {
    try {
      const self = await process
      await inPlatform(store, (tx) => sayAtWork(tx, self))
    } catch (error) {
      log.debug({ err: error }, 'the database was not told that this process is at work')
    }
  }
  let saying = say()
  const timer = setInterval(() => {
    saying = saying.then(say)
  }, EVERY_MS)
  return {
    stop: async () => {
      clearInterval(timer)
      await saying
      const { id } = await process
      await inPlatform(store, (tx) => sayEnded(tx, id)).catch((error: unknown) => {
        log.debug({ err: error }, 'the database was not told that this process has ended')
      })
    },
  }
}

async function describe(kind: ServiceProcess['kind']): Promise<ServiceProcess> {
  const newestMigration = (await migrationNames()).at(-1) ?? ''
  return { id: randomUUID(), kind, host: hostname(), pid: process.pid, newestMigration }
}

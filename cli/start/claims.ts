/**
 * Ports that a start has chosen and nobody listens on yet: a second start on the same machine chooses others.
 *
 * A claim is a file `<port>.<random>` that names its process. Whoever claims a port writes first and looks then: of
 * two that meet, at least one sees the other and goes elsewhere. Claims of processes that are gone count for nothing.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { userCacheDir } from '../../stack/downloads.ts'
import { readPid, writePid } from '../../stack/pids.ts'

/** One folder for all starts of a user, whatever their data folders. */
export const claimsFolder = (): string => join(userCacheDir(), 'ports')

/** @returns what gives the port back; undefined where a living process has claimed it */
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

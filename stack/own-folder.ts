/** Folders of the data folder: their owner's alone. */
import { chmod, mkdir } from 'node:fs/promises'

/** Makes a folder that nobody but its owner can enter (0700), also if it was there with other rights. */
export const makeOwnFolder = (path: string): Promise<void> => makeFolder(path, 0o700)

/**
 * The same for a folder on the way to the database. Under root the database runs as another user, who has to pass through:
 * the mode is 0711, with which nobody else can list the folder. What is in it has to be closed by itself.
 */
export const makeWayToDatabase = (path: string): Promise<void> =>
  makeFolder(path, process.getuid?.() === 0 ? 0o711 : 0o700)

async function makeFolder(path: string, mode: number): Promise<void> {
  await mkdir(path, { recursive: true, mode })
  // An existing folder keeps its mode, and a new one is made under the process's mask.
  await chmod(path, mode)
}

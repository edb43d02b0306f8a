/** Folders of the data folder: their owner's alone. */
import { chmod, mkdir } from 'node:fs/promises'

/** Makes a folder that only its owner can enter (0700), or gives an existing folder these rights. */
export const makeOwnFolder = (path: string): Promise<void> => makeFolder(path, 0o700)

/**
 * The same for the folders above the database. Under root, PostgreSQL runs as another user and has to enter them: the mode is
 * 0711, and other users cannot list the folder. Its contents need their own rights.
 */
export const makeWayToDatabase = (path: string): Promise<void> =>
  makeFolder(path, process.getuid?.() === 0 ? 0o711 : 0o700)

async function makeFolder(path: string, mode: number): Promise<void> {
  await mkdir(path, { recursive: true, mode })
  // An existing folder keeps its mode, and a new one is made under the process's mask.
  await chmod(path, mode)
}

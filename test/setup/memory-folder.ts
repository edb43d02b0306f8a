/**
 * A folder in memory for the databases of tests. Each test has its own, so a run creates and deletes a million files, and
 * some file systems (ext4 among them) search long for a free inode soon after many files were deleted: half the time of a
 * test that has a database, on such a disk.
 */
import { chmod, mkdir, statfs } from 'node:fs/promises'
import { basename, join } from 'node:path'

const MEMORY = '/dev/shm'
/** Several times what the databases of a run take. A container has 64 MiB unless it is given more. */
const NEEDED_BYTES = 2 * 1024 ** 3

/**
 * @param folder the run's temporary folder
 * @returns a folder in memory with the same name, by which the run's processes are found; `folder` itself where there is
 *   too little memory for files, as on a Mac. It is the caller's to delete
 */
export async function memoryFolderOf(folder: string): Promise<string> {
  const room = await statfs(MEMORY).catch(() => undefined)
  if (room === undefined || room.bavail * room.bsize < NEEDED_BYTES) return folder
  const inMemory = join(MEMORY, basename(folder))
  await mkdir(inMemory)
  // The database has a user of its own if root runs the tests.
  await chmod(inMemory, 0o755)
  return inMemory
}

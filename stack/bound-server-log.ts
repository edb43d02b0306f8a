/** The log file of a server with its own session, which keeps the file open. */
import { stat, truncate } from 'node:fs/promises'

/** 20 MB: some months of a development server's warnings. */
const MOST_BYTES = 20_000_000
const LOOK_EVERY_MS = 60_000

interface Bounds {
  readonly mostBytes?: number
  readonly everyMs?: number
}

/**
 * Empties a log above its limit, now and regularly. Renaming would not help, because the server writes to the open file. The
 * server has to open the file for appending: otherwise the emptied part would stay as a hole.
 *
 * @returns a function that ends it
 */
export async function boundServerLog(
  file: string,
  { mostBytes = MOST_BYTES, everyMs = LOOK_EVERY_MS }: Bounds = {},
): Promise<() => void> {
  const look = async () => {
    const { size } = await stat(file)
    if (size > mostBytes) await truncate(file)
  }
  // A missing log is no failure of the server.
  const tryLook = () => look().catch(() => undefined)
  await tryLook()
  const timer = setInterval(() => void tryLook(), everyMs).unref()
  return () => clearInterval(timer)
}

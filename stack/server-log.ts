/** The log file of a server that is a session of its own and has the file open. */
import { stat, truncate } from 'node:fs/promises'

/** 20 MB: some months of a development server's warnings. */
const MOST_BYTES = 20_000_000
const LOOK_EVERY_MS = 60_000

interface Bounds {
  readonly mostBytes?: number
  readonly everyMs?: number
}

/**
 * Empties a log that has grown too large, now and whenever it is looked at. It is not renamed: the server would go on writing
 * to it under its new name. The server has to append, else it would leave a hole where the text was.
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
  // A log that is not there yet, or not any more, is no failure of the server.
  const tryLook = () => look().catch(() => undefined)
  await tryLook()
  const timer = setInterval(() => void tryLook(), everyMs).unref()
  return () => clearInterval(timer)
}

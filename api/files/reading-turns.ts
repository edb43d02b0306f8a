/**
 * Reading files takes turns. In each round of the event loop one file is read for a few milliseconds; between the
 * rounds, all other requests are answered.
 */

/** Bytes read at once. The dearest take some 10 ms: rows of CSV of two bytes, each of which is a faulty record. */
export const PART_BYTES = 1024
/** How long a turn lasts, in milliseconds: so long that reading alone is as fast as without turns. */
const TURN_MS = 5

const waiting: (() => void)[] = []
let endsAt = 0

/** Resolves when a part of a file may be read: at once while the turn lasts. */
export const takeTurn = async (): Promise<void> => {
  if (performance.now() < endsAt) return
  await new Promise<void>((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(giveTurn)
  })
}

function giveTurn(): void {
  endsAt = performance.now() + TURN_MS
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(giveTurn)
}

/** Cuts bytes into parts, each in its turn. @throws the signal's reason once it is aborted */
export async function* partsOf(bytes: Buffer, left: AbortSignal | undefined): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += PART_BYTES) {
    await takeTurn()
    left?.throwIfAborted()
    yield bytes.subarray(from, from + PART_BYTES)
  }
}

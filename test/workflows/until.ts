/** Waiting for a state, in true time, in tests and in the recorder of histories. */
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Looks until something holds.
 *
 * @throws Error after 60 s, with what was seen last
 */
export async function until(what: () => unknown, seen: () => unknown = () => what.toString()): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await what())) {
    if (Date.now() > deadline) throw new Error(`waited a minute in vain; last seen: ${JSON.stringify(await seen())}`)
    await sleep(20)
  }
}

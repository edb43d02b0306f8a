/** One harness for a group of tests, so that a test that fails does not affect the next. */
import { afterAll, beforeEach, type TestContext } from 'vitest'
import { endWaits } from './soon.ts'

/** What tests share (servers, workers, a service), and how to close it. */
interface Harness {
  readonly close: () => Promise<unknown>
}

/**
 * Gives a group of tests one harness for as long as they pass. A test that fails may leave anything behind, and one
 * that times out keeps running during the next. So after a failure the waits of the old harness are ended, it is closed,
 * and the next test gets a new one.
 *
 * Call it before the group's other hooks, which may use the harness.
 *
 * @param given receives each harness that is started
 * @returns `harness`: the present one, for use in hooks and tests; `giveUp`: a test that spoils its harness calls it, and
 *   the next test then gets a new one in any case
 */
export function useCommonHarness<H extends Harness>(
  start: () => Promise<H>,
  given: (harness: H) => unknown = () => undefined,
): { readonly harness: H; readonly giveUp: () => void } {
  let present: H | undefined
  let last: TestContext['task'] | undefined
  let spoiled = false

  const leave = async () => {
    endWaits()
    await present?.close()
    present = undefined
  }
  beforeEach(async ({ task }) => {
    if (spoiled || last?.result?.state === 'fail') await leave()
    last = task
    spoiled = false
    if (present !== undefined) return
    present = await start()
    await given(present)
  })
  afterAll(leave)
  const harness = new Proxy({} as H, { get: (_, name) => Reflect.get(present ?? {}, name) })
  return {
    harness,
    giveUp: () => {
      spoiled = true
    },
  }
}

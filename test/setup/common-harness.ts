/** What the tests of a group stand on together, and how one that fails keeps its failure to itself. */
import { afterAll, beforeEach, type TestContext } from 'vitest'
import { endWaits } from './soon.ts'

/** Servers, workers, a service: whatever tests share, with what ends it. */
interface Harness {
  readonly close: () => Promise<unknown>
}

/**
 * For a group of tests: one harness for all of them, as long as they pass. A test that fails may leave anything behind,
 * and one whose time is up goes on behind the next one's back: so the next gets another harness, once that of the failed
 * one is closed, and whatever waits in it yet has ended.
 *
 * Called before the group's other hooks, which may use the harness.
 *
 * @param given is handed each harness that is started
 * @returns `giveUp`: the next test gets another harness although this one passes, because it spoils its own
 */
export function useCommonHarness<H extends Harness>(
  start: () => Promise<H>,
  given: (harness: H) => unknown,
): { readonly giveUp: () => void } {
  let harness: H | undefined
  let last: TestContext['task'] | undefined
  let spoiled = false

  const leave = async () => {
    endWaits()
    await harness?.close()
    harness = undefined
  }
  beforeEach(async ({ task }) => {
    if (spoiled || last?.result?.state === 'fail') await leave()
    last = task
    spoiled = false
    if (harness !== undefined) return
    harness = await start()
    await given(harness)
  })
  afterAll(leave)
  return {
    giveUp: () => {
      spoiled = true
    },
  }
}

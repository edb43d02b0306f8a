/** How a process ends on a signal. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'

const MODULE = new URL('../../../cli/run-until-signal.ts', import.meta.url).href

const RUNS = "(console.log('runs'), { stop: () => (speaks(), Promise.resolve()) })"

/**
 * Runs a process with this expression as its start, and sends it SIGTERM. It may start and stop for 0.3 s each; it speaks
 * 0.2 s after it was stopped.
 */
async function ended(start: string): Promise<{ code: number | null; said: string }> {
  const script = `
    const { runUntilSignal } = await import(${JSON.stringify(MODULE)})
    const log = { info: console.log, warn: console.log }
    setInterval(() => undefined, 1000)
    const speaks = () => setTimeout(() => console.log('still there'), 200)
    await runUntilSignal(log, async () => ${start}, { startMs: 300, stopMs: 300 })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = text(child.stdout)
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  return { code, said: await said }
}

describe('runUntilSignal', () => {
  test('stops in order on SIGTERM', async () => {
    const { code, said } = await ended(RUNS)

    expect([code, said]).toEqual([0, expect.stringMatching(/SIGTERM: stopping in order\nstopped\n$/)])
  })

  test('exits after a timeout if something does not stop', async () => {
    const { code, said } = await ended(RUNS.replace('Promise.resolve()', 'new Promise(() => undefined)'))

    expect([code, said]).toEqual([0, expect.stringMatching(/still there\n.*not stopped within 0.3 s/)])
  })

  test('ends a start that goes on', async () => {
    const { code, said } = await ended("(console.log('begins'), new Promise(() => undefined))")

    expect([code, said]).toEqual([0, expect.stringMatching(/SIGTERM: ended before it had started\n$/)])
  })

  test('stops in order what has just started', async () => {
    const { code, said } = await ended(
      `(console.log('begins'), new Promise((resolve) => setTimeout(resolve, 100)).then(() => ${RUNS}))`,
    )

    expect([code, said]).toEqual([0, expect.stringMatching(/SIGTERM: stopping in order\nstopped\n$/)])
  })
})

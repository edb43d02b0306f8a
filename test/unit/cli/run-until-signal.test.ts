/** How a process ends on a signal. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'

const MODULE = new URL('../../../cli/run-until-signal.ts', import.meta.url).href

/** Runs a process with this expression as its stop, and sends it SIGTERM. It may stop for 0.3 s; it speaks after 0.2 s. */
async function ended(stop: string): Promise<{ code: number | null; said: string }> {
  const script = `
    const { runUntilSignal } = await import(${JSON.stringify(MODULE)})
    const log = { info: console.log, warn: console.log }
    setInterval(() => undefined, 1000)
    const speaks = () => setTimeout(() => console.log('still there'), 200)
    await runUntilSignal(log, async () => (console.log('runs'), { stop: () => (speaks(), ${stop}) }), { stopMs: 300 })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = text(child.stdout)
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  return { code, said: await said }
}

describe('runUntilSignal', () => {
  test('stops in order on SIGTERM', async () => {
    const { code, said } = await ended('Promise.resolve()')

    expect([code, said]).toEqual([0, expect.stringMatching(/SIGTERM: stopping in order\nstopped\n$/)])
  })

  test('exits after a timeout if something does not stop', async () => {
    const { code, said } = await ended('new Promise(() => undefined)')

    expect([code, said]).toEqual([0, expect.stringMatching(/still there\n.*not stopped within 0.3 s/)])
  })
})

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Child, startChild } from '../../stack/child.ts'
import { startedAt } from '../../stack/pids.ts'
import { keepRunning, supervise } from '../../stack/supervise.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { soon } from '../setup/soon.ts'

const STAYS = `console.log('here'); setInterval(() => undefined, 1000)`

async function supervised(script: string, options: object = {}) {
  const file = join(await temporaryFolder(), 'child.mjs')
  await writeFile(file, script)
  const lines: string[] = []
  const pids: number[] = []
  const start = () =>
    supervise({
      name: 'child',
      args: [file],
      onLine: (line) => lines.push(line),
      onPid: (pid) => pids.push(pid),
      ready: async () => lines.includes('child | here'),
      ...options,
    })
  return { file, lines, pids, start }
}

describe('supervise', () => {
  test('restarts a killed process and reports its pid', async () => {
    const { start, pids, lines } = await supervised(STAYS)
    const child = await start()
    onTestFinished(() => child.stop())

    process.kill(pids[0] ?? 0, 'SIGKILL')

    await soon(() => expect(lines.filter((line) => line === 'child | here')).toHaveLength(2))
    expect(pids).toHaveLength(2)
    expect(child.pid()).toBe(pids[1])
    expect(lines).toContainEqual(expect.stringMatching(/ended unasked \(SIGKILL\); starting it again in 0\.5 s/))
  })

  test('stops a process in order, for good', async () => {
    const { start, pids, lines } = await supervised(
      `process.on('SIGTERM', () => { console.log('tidied up'); process.exit(0) }); ${STAYS}`,
    )
    const child = await start()

    await child.stop()

    expect(lines).toContain('child | tidied up')
    expect(await startedAt(pids[0] ?? 0)).toBeUndefined()
    expect(child.pid()).toBeUndefined()
  })

  test('kills a process that does not end in time', async () => {
    const { start, pids } = await supervised(`process.on('SIGTERM', () => undefined); ${STAYS}`)
    const child = await start()

    await child.stop({ timeoutMs: 200 })

    expect(await startedAt(pids[0] ?? 0)).toBeUndefined()
  })

  test('fails with the last lines of a failed start', async () => {
    const { start, pids } = await supervised(`console.error('DATABASE_URL is wrong'); process.exit(1)`)

    await expect(start()).rejects.toThrow(/child ended while starting \(exit code 1\).*\n.*DATABASE_URL is wrong/)
    expect(pids).toHaveLength(1)
  })

  test('ends its process when it is killed itself', async () => {
    const { file } = await supervised(`${STAYS}; process.on('SIGTERM', () => process.exit(0))`)
    const supervisor = `
      import { supervise } from ${JSON.stringify(new URL('../../stack/supervise.ts', import.meta.url).href)}
      await supervise({ name: 'child', args: [${JSON.stringify(file)}], onLine: (line) => console.log(line),
        onPid: (pid) => console.log('pid=' + pid) })`
    const lines: string[] = []
    const outer = await supervise({
      name: 'outer',
      args: ['--input-type=module', '-e', supervisor],
      onLine: (line) => lines.push(line),
      ready: async () => lines.includes('outer | child | here'),
    })
    onTestFinished(() => outer.stop())
    const pid = Number(lines.find((line) => line.includes('pid='))?.split('pid=')[1])

    process.kill(outer.pid() ?? 0, 'SIGKILL')

    await soon(async () => expect(await startedAt(pid)).toBeUndefined())
  })
})

describe('keepRunning', () => {
  const aChild = (): Child => startChild({ name: 'child', args: ['-e', STAYS], onLine: () => undefined })

  test('repeats a start that fails', async () => {
    const lines: string[] = []
    const starts: (() => Child)[] = [
      () => {
        throw new Error('port 7233 is in use')
      },
      aChild,
    ]
    const kept = keepRunning(
      aChild(),
      async () => (starts.shift() ?? aChild)(),
      (text) => lines.push(text),
    )
    onTestFinished(() => kept.stop())
    const first = kept.pid() ?? 0

    process.kill(first, 'SIGKILL')

    await soon(() => expect(starts).toEqual([]))
    await soon(() => expect(kept.pid()).toBeDefined())
    expect(kept.pid()).not.toBe(first)
    expect(lines).toEqual([
      'ended unasked (SIGKILL); starting it again in 0.5 s',
      'did not start again (port 7233 is in use); starting it again in 1 s',
    ])
  })

  test('stops a process that is still starting', async () => {
    let second: Child | undefined
    const starting = Promise.withResolvers<void>()
    const mayStart = Promise.withResolvers<void>()
    const kept = keepRunning(
      aChild(),
      async () => {
        starting.resolve()
        await mayStart.promise
        second = aChild()
        return second
      },
      () => undefined,
    )
    process.kill(kept.pid() ?? 0, 'SIGKILL')
    await starting.promise

    const stopped = kept.stop()
    mayStart.resolve()
    await stopped

    expect(await startedAt(second?.pid ?? 0)).toBeUndefined()
    expect(kept.pid()).toBeUndefined()
  })
})

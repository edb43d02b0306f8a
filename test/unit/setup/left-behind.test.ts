import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startedAt } from '../../../stack/pids.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { endLeftBehind, processesOf } from '../../setup/left-behind.ts'
import { soon } from '../../setup/soon.ts'

const MODULE = JSON.stringify(new URL('../../setup/left-behind.ts', import.meta.url).href)
const STAYS = 'setInterval(() => undefined, 1000)'

/** Starts a Node that runs a script of this run. @returns it, and what it prints first */
async function started(script: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  return { child, said: String(said).trim() }
}

describe('endLeftBehind', () => {
  test('ends a session whose parent is gone, and no process of another run', async () => {
    const [folder, another] = [await temporaryFolder(), await temporaryFolder()]
    const { child: neighbour } = await started(`console.log('up'); ${STAYS}`, { TMPDIR: another })
    const { child: parent, said } = await started(
      `import { spawn } from 'node:child_process'
      const options = { detached: true, stdio: 'ignore' }
      console.log(spawn(process.execPath, ['-e', ${JSON.stringify(STAYS)}], options).pid); ${STAYS}`,
      { TMPDIR: folder },
    )
    parent.kill('SIGKILL')
    await once(parent, 'exit')
    expect(await processesOf(folder)).toEqual([Number(said)])

    await endLeftBehind(folder, [])

    expect(await startedAt(Number(said))).toBeUndefined()
    expect(await processesOf(another)).toEqual([neighbour.pid])
  })

  test('ends a noted server, but not a later process with its pid', async () => {
    const { child } = await started(`console.log('up'); ${STAYS}`, {})
    const { pid = 0 } = child
    const folder = await temporaryFolder()

    await endLeftBehind(folder, [{ pid, startedAt: 'before' }])
    expect(await startedAt(pid)).toBeDefined()

    await endLeftBehind(folder, [{ pid, startedAt: await startedAt(pid) }])
    expect(await startedAt(pid)).toBeUndefined()
  })
})

describe('passOnEnd', () => {
  /** Starts a process that passes its end on to another one, and prints that one's pid. */
  const passesOn = `import { spawn } from 'node:child_process'
    import { passOnEnd } from ${MODULE}
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(STAYS)}], { stdio: 'ignore' })
    passOnEnd(child)
    child.once('exit', () => process.exit(0))
    console.log(child.pid)`

  test.each(['SIGTERM', 'SIGHUP'] as const)('ends vitest at a %s', async (signal) => {
    const { child, said } = await started(passesOn, {})

    child.kill(signal)

    await soon(async () => expect(await startedAt(Number(said))).toBeUndefined())
  })

  test('ends vitest when npm is gone', async () => {
    const script = `import { spawn } from 'node:child_process'
      spawn(process.execPath, ['--input-type=module', '-e', ${JSON.stringify(passesOn)}], { stdio: 'inherit' }); ${STAYS}`
    const { child: npm, said } = await started(script, { npm_lifecycle_event: 'test' })
    const vitest = Number(said)
    expect(await startedAt(vitest)).toBeDefined()

    npm.kill('SIGKILL')

    await soon(async () => expect(await startedAt(vitest)).toBeUndefined())
  })
})

/** A run of tests that is ended early, as a CI job or a supervisor does. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { commandOf } from '../../stack/pids.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { endLeftBehind, processesOf } from '../setup/left-behind.ts'
import { describeInSkippedTime } from '../setup/requirements.ts'
import { soon, until } from '../setup/soon.ts'

const ROOT = join(import.meta.dirname, '../..')

describeInSkippedTime('npm test', () => {
  test('leaves no process behind after a SIGTERM', async () => {
    const folder = await temporaryFolder()
    onTestFinished(() => endLeftBehind(folder, []))
    const args = ['test', '--', '--project', 'workflows', 'test/workflows/model/skipping-server.test.ts']
    const npm = spawn('npm', args, { cwd: ROOT, env: { ...process.env, TMPDIR: folder }, stdio: 'ignore' })
    const ended = once(npm, 'exit')
    const commands = async () => (await Promise.all((await processesOf(folder)).map(commandOf))).join('\n')
    await until('all servers of the run', async () => {
      const running = await commands()
      return ['postgres', 'start-dev', 'temporal-test-server'].every((server) => running.includes(server))
    })

    npm.kill('SIGTERM')
    await ended

    await soon(async () => expect(await commands()).toBe(''))
  })
})

import { spawn } from 'node:child_process'
import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../stack/free-port.ts'
import { startedAt, writePid } from '../../stack/pids.ts'
import { type PostgresOptions, startPostgres } from '../../stack/postgres/postgres.ts'
import { postgresUser } from '../../stack/postgres/postgres-programs.ts'
import { administrate } from '../setup/database.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { listening } from '../setup/listening.ts'
import { requireRoot } from '../setup/requirements.ts'
import { soon } from '../setup/soon.ts'
import { abandoned } from './abandoned.ts'

/** A server that is stopped at the end of the test. */
async function running(options: PostgresOptions) {
  const server = await startPostgres(options)
  onTestFinished(() => server.stop())
  return server
}

describe('the embedded PostgreSQL', () => {
  test('keeps its data and address over a restart', async () => {
    const dataDir = await temporaryFolder()
    const first = await startPostgres({ dataDir })
    await administrate('create table kept as select 42 as answer', first.url)
    await first.stop()

    const second = await running({ dataDir })

    expect(second.url).toBe(first.url)
    expect(await administrate('select answer from kept', second.url)).toEqual([{ answer: 42 }])
  })

  test('keeps its data after a SIGKILL', async () => {
    const dataDir = await temporaryFolder()
    const first = await startPostgres({ dataDir })
    await administrate('create table kept as select 42 as answer', first.url)
    process.kill(first.pid, 'SIGKILL')

    const second = await running({ dataDir })

    expect(await administrate('select answer from kept', second.url)).toEqual([{ answer: 42 }])
  })

  test('is taken over after its parent is killed', async () => {
    const dataDir = await temporaryFolder()
    const left = await abandoned('postgres/postgres.ts', 'startPostgres', { dataDir })
    const lines: string[] = []

    const taken = await startPostgres({ dataDir, log: (line) => lines.push(line) })

    expect(taken).toMatchObject(left)
    expect(lines).toEqual([expect.stringContaining(`process ${left.pid}`)])
    await taken.stop()
    await soon(async () => expect(await startedAt(left.pid)).toBeUndefined())
  })

  test('starts when its pid belongs to another program', async () => {
    const dataDir = await temporaryFolder()
    const first = await startPostgres({ dataDir })
    await first.stop()
    const note = [process.pid, `${dataDir}/cluster`, 0, 5432, '', '127.0.0.1', '', 'ready']
    await writeFile(join(dataDir, 'cluster', 'postmaster.pid'), `${note.join('\n')}\n`)

    const second = await running({ dataDir })

    expect(await administrate('select 1 as one', second.url)).toEqual([{ one: 1 }])
  })

  test('is replaced when it does not answer', async () => {
    const dataDir = await temporaryFolder()
    const first = await startPostgres({ dataDir })
    await first.stop()
    const user = await postgresUser()
    // A program that this user may run, wherever the tests run.
    const waits = ['-c', 'while :; do sleep 1; done', join(dataDir, 'cluster')]
    const dying = spawn('/bin/sh', waits, { cwd: '/', ...user })
    onTestFinished(() => void dying.kill())
    const note = [dying.pid, `${dataDir}/cluster`, 0, await freePort(), '', '127.0.0.1', '', 'ready']
    await writeFile(join(dataDir, 'cluster', 'postmaster.pid'), `${note.join('\n')}\n`)
    const lines: string[] = []

    const second = await running({ dataDir, log: (line) => lines.push(line) })

    expect(lines).toEqual([`stopping a database server that was left running (process ${dying.pid})`])
    expect(second.pid).not.toBe(dying.pid)
    expect(await administrate('select 1 as one', second.url)).toEqual([{ one: 1 }])
  })

  test('is refused to a second process', async () => {
    const dataDir = await temporaryFolder()
    const owner = spawn('sleep', ['60'])
    onTestFinished(() => void owner.kill())
    await writePid(join(dataDir, 'owner.pid'), owner.pid ?? 0)

    await expect(startPostgres({ dataDir })).rejects.toThrow(`in use by process ${owner.pid}`)
  })

  test('says what to do when its port is taken', async () => {
    const port = await listening()

    const start = startPostgres({ dataDir: await temporaryFolder(), port })

    await expect(start).rejects.toThrow(`port ${port} for the embedded PostgreSQL is in use: stop the program`)
  })

  test('requires a password that only its owner reads', async () => {
    const dataDir = await temporaryFolder()
    const server = await running({ dataDir })
    const url = new URL(server.url)
    url.password = 'guess'

    await expect(administrate('select 1', url.href)).rejects.toMatchObject({ code: '28P01' })
    expect((await stat(join(dataDir, 'password'))).mode & 0o777).toBe(0o600)
  })

  const asRoot = 'goes to /var/lib where its own user cannot enter, and says so'
  test.runIf(requireRoot(asRoot))(asRoot, async () => {
    const closed = join(await temporaryFolder(), 'home')
    await mkdir(closed)
    await chmod(closed, 0o700)
    const lines: string[] = []

    const server = await startPostgres({ dataDir: join(closed, '.data'), log: (line) => lines.push(line) })
    const folder = /the database is in (\/var\/lib\/simherd-[0-9a-f]{12})/.exec(lines[0] ?? '')?.[1]
    onTestFinished(async () => {
      await server.stop()
      await rm(folder ?? '', { recursive: true, force: true })
    })

    expect(folder).toBeDefined()
    expect(await administrate('select 1 as one', server.url)).toEqual([{ one: 1 }])
  })
})

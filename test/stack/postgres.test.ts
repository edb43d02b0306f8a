import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../stack/free-port.ts'
import { startedAt } from '../../stack/pids.ts'
import { startPostgres } from '../../stack/postgres/postgres.ts'
import { postgresUser } from '../../stack/postgres/postgres-programs.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { requireRoot } from '../setup/requirements.ts'
import { soon } from '../setup/soon.ts'

async function query(url: string, statement: string): Promise<object[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

/** Starts a server from another process and kills that process: the server is left running. */
async function abandonedServer(dataDir: string): Promise<{ url: string; pid: number }> {
  const script = `
    import { startPostgres } from ${JSON.stringify(new URL('../../stack/postgres/postgres.ts', import.meta.url).href)}
    const { url, pid } = await startPostgres({ dataDir: ${JSON.stringify(dataDir)} })
    process.stdout.write(JSON.stringify({ url, pid }))
    setInterval(() => undefined, 1000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(parent.stdout, 'data')
  parent.kill('SIGKILL')
  await once(parent, 'exit')
  return JSON.parse(String(line)) as { url: string; pid: number }
}

describe('the embedded PostgreSQL', () => {
  test('keeps its data and address over a restart', async () => {
    const dataDir = await temporaryFolder()
    const first = await startPostgres({ dataDir })
    await query(first.url, 'create table kept as select 42 as answer')
    await first.stop()

    const second = await startPostgres({ dataDir })
    onTestFinished(() => second.stop())

    expect(second.url).toBe(first.url)
    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
  })

  test('keeps its data after a SIGKILL', async () => {
    const dataDir = await temporaryFolder()
    const first = await startPostgres({ dataDir })
    await query(first.url, 'create table kept as select 42 as answer')
    process.kill(first.pid, 'SIGKILL')

    const second = await startPostgres({ dataDir })
    onTestFinished(() => second.stop())

    expect(await query(second.url, 'select answer from kept')).toEqual([{ answer: 42 }])
  })

  test('is taken over after its parent is killed', async () => {
    const dataDir = await temporaryFolder()
    const left = await abandonedServer(dataDir)
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

    const second = await startPostgres({ dataDir })
    onTestFinished(() => second.stop())

    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
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

    const second = await startPostgres({ dataDir, log: (line) => lines.push(line) })
    onTestFinished(() => second.stop())

    expect(lines).toEqual([`stopping a database server that was left running (process ${dying.pid})`])
    expect(second.pid).not.toBe(dying.pid)
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  test('is refused to a second process', async () => {
    const dataDir = await temporaryFolder()
    const owner = spawn('sleep', ['60'])
    onTestFinished(() => void owner.kill())
    const { writePid } = await import('../../stack/pids.ts')
    await writePid(join(dataDir, 'owner.pid'), owner.pid ?? 0)

    await expect(startPostgres({ dataDir })).rejects.toThrow(`in use by process ${owner.pid}`)
  })

  test('says what to do when its port is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const { port } = taken.address() as { port: number }

    const start = startPostgres({ dataDir: await temporaryFolder(), port })

    await expect(start).rejects.toThrow(`port ${port} for the embedded PostgreSQL is in use: stop the program`)
  })

  test('requires a password that only its owner reads', async () => {
    const dataDir = await temporaryFolder()
    const server = await startPostgres({ dataDir })
    onTestFinished(() => server.stop())
    const url = new URL(server.url)
    url.password = 'guess'

    await expect(query(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
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
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })
})

/** The README's first command, as a newcomer runs it: from nothing to its final table, then doctor, then again. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../stack/free-port.ts'
import { hasChromium, launchChromium } from '../api/console/chromium.ts'
import { takePictures, walkConsole } from '../api/console/walk-console.ts'

const SUITE = 'shows each page of the console, to an operator and to keys, without a fault'
const ROOT = join(import.meta.dirname, '../..')
/** SIMs of the demonstration (cli/demo/scripts.ts), and those of them that workflows activate. */
const [SIMS, NEWCOMERS] = [300, 30]

let folder: string
let env: Record<string, string | undefined>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simherd-first-'))
  await chmod(folder, 0o755)
  const [port, internal, worker] = [await freePort(), await freePort(), await freePort()]
  env = {
    ...process.env,
    DATA_DIR: join(folder, 'data'),
    PORT: `${port}`,
    INTERNAL_PORT: `${internal}`,
    CONSOLE_PORT: `${await freePort()}`,
    WORKER_PORT: `${worker}`,
  }
})
afterAll(async () => rm(folder, { recursive: true, force: true, maxRetries: 5 }))

/** A running command of the README, and its output so far. */
function running(command: string, args: readonly string[]) {
  // In a process group of its own: Ctrl-C reaches a terminal's whole foreground group.
  const child = spawn(command, args, { cwd: ROOT, env, detached: true })
  let said = ''
  const hear = (text: Buffer) => {
    said += stripVTControlCharacters(text.toString('utf8'))
  }
  child.stdout.on('data', hear)
  child.stderr.on('data', hear)
  const ended = once(child, 'close').then(([code]: unknown[]) => code)
  return { child, said: () => said, ended }
}

const canShow = await hasChromium(SUITE)
const ends: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

const doctor = async () => {
  const { said, ended } = running('npx', ['simherd', 'doctor'])
  return { exitCode: await ended, said: said() }
}
const start = (...flags: readonly string[]) => {
  const { child, said, ended } = running('npm', ['start', '--', ...flags])
  /** @throws Error with its output, if it ends before */
  const up = () =>
    new Promise<void>((resolve, reject) => {
      child.stdout.on('data', () => {
        if (said().includes('Everything is up')) resolve()
      })
      void ended.then((code) => reject(new Error(`npm start ended with ${String(code)}:\n${said()}`)))
    })
  /** Ctrl-C. npm ends after the processes that it has started. */
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, 'SIGINT')
    await ended
  }
  ends.push(end)
  return { said, up, end }
}

/** Servers end in the reverse order of their start, the database last. */
function expectEndedInOrder(said: string): void {
  const ended = [...said.matchAll(/✓ (\S.*?) has ended/g)].map(([, name]) => name)
  expect(ended.length, said).toBeGreaterThanOrEqual(5)
  expect(ended.at(-1)).toBe('PostgreSQL')
}

describe('npm start', () => {
  test('plays the demonstration to its end', async () => {
    const first = start()
    await first.up()
    const stack = JSON.parse(await readFile(join(folder, 'data', 'stack.json'), 'utf8'))
    const output = first.said()

    expect(stack.demo, output).toBe('done')
    expect(output).not.toMatch(/fail(ed|ure)|did not|in vain/i)
    expect(output).toMatch(new RegExp(`activated +${NEWCOMERS}\\b`))
    expect(output).toMatch(/records? of \d+ suspended SIMs not delivered/)
    const [link = ''] = /http:\S+\/sign-in\/\S+/.exec(output) ?? []
    expect(link.startsWith(`${stack.consoleUrl}/`), output).toBe(true)
    const signedIn = await fetch(link, {
      method: 'POST',
      headers: { origin: stack.consoleUrl },
      redirect: 'manual',
    })
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/'])
    const [, mail = '', workflow = ''] = /its mail +(\S+)\n +its workflow +(\S+)\n/.exec(output) ?? []
    expect((await fetch(mail)).status).toBe(200)
    expect(workflow).toMatch(/\/workflows\/suspend-on-overage%3A\S+\/history$/)
    expect(output).toMatch(/sim-overage, version 1, stage enforce: holds/)
    const looked = await doctor()
    expect(looked.said).not.toContain('✗')
    expect(looked.said).toMatch(/✓ API +ready/)
    expect(looked.said).toMatch(/✓ worker +ready/)
    expect(looked.exitCode).toBe(0)
    await first.end()
    expectEndedInOrder(first.said())
    const after = await doctor()
    expect(after.said).toMatch(/– API +not running/)
    expect(after.exitCode).toBe(0)
  })

  test('goes on with its data on a second start, and plays a month end', async () => {
    const again = start('--demo=month-end')
    await again.up()
    const { apiUrl, demo } = JSON.parse(await readFile(join(folder, 'data', 'stack.json'), 'utf8'))
    const { tenantKey } = JSON.parse(await readFile(join(folder, 'data', 'demo.json'), 'utf8'))
    const response = await fetch(`${apiUrl}/api/sims`, { headers: { authorization: `Bearer ${tenantKey}` } })

    expect(demo, again.said()).toBe('done')
    expect(await response.json()).toMatchObject({ pagination: { totalItems: SIMS } })
    expect(again.said()).toContain('month end: changes applied, suspended SIMs back, statement made')
    expect(again.said()).not.toMatch(/fail(ed|ure)|did not|in vain/i)
    await again.end()
    expectEndedInOrder(again.said())
  })

  test.runIf(canShow)(SUITE, async () => {
    const third = start('--no-demo')
    await third.up()
    const stack = JSON.parse(await readFile(join(folder, 'data', 'stack.json'), 'utf8'))
    const { tenantId, tenantKey } = JSON.parse(await readFile(join(folder, 'data', 'demo.json'), 'utf8'))
    const keyOf = async (scope: string): Promise<string> => {
      const response = await fetch(`${stack.internalUrl}/internal/keys`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${stack.operatorKey}`,
          'content-type': 'application/json',
          'x-tenant-id': tenantId,
        },
        body: JSON.stringify({ name: scope, scopes: [scope] }),
      })
      return JSON.parse(await response.text()).key
    }
    const browser = await launchChromium()
    ends.push(() => browser.close())
    const url: string = stack.consoleUrl
    const billingKey = await keyOf('billing')
    const walks = {
      operator: await walkConsole(browser, { url, tenantId }, stack.operatorKey),
      read: await walkConsole(browser, { url, tenantId }, await keyOf('read')),
      write: await walkConsole(browser, { url, tenantId }, tenantKey),
      billing: await walkConsole(browser, { url, tenantId }, billingKey),
    }
    const counts = Object.entries(walks).map(([caller, { seen }]) => [caller, seen.size])
    console.log(`pages seen: ${counts.map(([caller, count]) => `${caller} ${count}`).join(', ')}`)
    const pathOf = (page: string) => walks.operator.seen.get(`/t/:id${page}`) ?? ''
    const at = process.env['PICTURES'] ?? folder
    await takePictures(
      browser,
      { url, key: stack.operatorKey, folder: at },
      {
        overview: pathOf(''),
        'overview-phone': pathOf(''),
        alert: pathOf('/alerts/:id'),
        sim: pathOf('/sims/:id'),
        rules: pathOf('/rules'),
      },
    )
    await takePictures(browser, { url, key: billingKey, folder: at }, { month: pathOf('/my') })

    expect(Object.values(walks).flatMap(({ faults }) => faults)).toEqual([])
    expect(walks.operator.seen.size).toBeGreaterThan(80)
    expect(walks.read.seen.size).toBeGreaterThan(10)
    expect(walks.billing.seen.size).toBeGreaterThan(4)
    await third.end()
  })
})

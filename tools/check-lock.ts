/**
 * Checks that `npm ci` can install from the lock file on every machine. The lock file must match package.json, be
 * complete for other platforms, and name no registry. Every install script in it must be known.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import packageJson from '../package.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '..')
const MEND =
  'run "npm install --package-lock-only" on Node 24, and choose versions whose builds for all platforms are there'

interface Locked {
  readonly resolved?: string
  /** A folder of ours: {@link resolved} is its path. */
  readonly link?: boolean
  readonly hasInstallScript?: boolean
}
interface Lock {
  readonly packages: Readonly<Record<string, Locked>>
}

const npm = async (...args: readonly string[]): Promise<string | undefined> => {
  try {
    await promisify(execFile)('npm', args, { cwd: ROOT, shell: process.platform === 'win32', maxBuffer: 2 ** 26 })
    return undefined
  } catch (error) {
    return error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
  }
}

/** `node_modules/a/node_modules/@b/c` → `@b/c` */
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

function faultsOf(lock: Lock): string[] {
  const allowed = new Set(Object.keys(packageJson.allowScripts))
  const scripted = new Set(
    Object.entries(lock.packages).flatMap(([path, { hasInstallScript }]) =>
      hasInstallScript === true ? [nameOf(path)] : [],
    ),
  )
  const idle = [...allowed].filter((name) => !scripted.has(name))
  const unknown = [...scripted].filter((name) => !allowed.has(name))
  return [
    ...Object.entries(lock.packages)
      .filter(([, { resolved, link }]) => resolved !== undefined && link !== true)
      .map(([path]) => `${path} names a registry: .npmrc says omit-lockfile-registry-resolved`),
    ...unknown.map((name) => `${name} has an install script that package.json does not list under allowScripts`),
    ...idle.map((name) => `${name} is listed under allowScripts, but has no install script`),
  ]
}

const lock: Lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8'))
/** Keeps the lines that say what is wrong with the lock file. npm prints many more. */
const faultLines = (text: string): string =>
  text
    .split('\n')
    .filter((line) => /Missing:|Invalid:|error code|in sync/.test(line))
    .join('\n')

const refused = await npm('ci', '--dry-run', '--ignore-scripts', '--no-audit', '--no-fund')
const faults = [
  ...faultsOf(lock),
  ...(refused === undefined ? [] : [`npm ci refuses the lock: ${MEND}\n${faultLines(refused)}`]),
]
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1

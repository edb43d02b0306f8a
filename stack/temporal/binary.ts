/** Where the program of the Temporal server comes from. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findOnPath, isExecutable, type Progress, runWithProgress } from '../downloads.ts'

/** The newest command line tool that `go install` can build. Later ones have a `replace` in their go.mod. */
const TEMPORAL_CLI_VERSION = '1.5.1'
const PROGRAM = process.platform === 'win32' ? 'temporal.exe' : 'temporal'
/** 5 minutes, for a slow connection. A machine that cannot reach the address fails at once. */
const DOWNLOAD_TIMEOUT_MS = 300_000

/**
 * Finds the Temporal command line tool, which contains the server. If it is missing, it is downloaded or built once,
 * and kept. In this order: on PATH, in the cache, the SDK's own download, a build with Go (about 4 minutes on two
 * cores).
 *
 * @param cacheDir the user's cache, see `userCacheDir`
 * @returns the program's path
 * @throws Error that says what to install
 */
export async function findTemporalServer(options: {
  readonly cacheDir: string
  readonly onProgress: Progress
}): Promise<string> {
  const present = await presentTemporalServer(options.cacheDir)
  if (present !== undefined) return present

  const folder = folderIn(options.cacheDir)
  await mkdir(folder, { recursive: true })
  const faults: string[] = []
  for (const [way, fetch] of [
    ['the download', download],
    ['the build with Go', build],
  ] as const) {
    try {
      const made = await fetch(folder, options.onProgress)
      if (await runs(made)) return made
      faults.push(`${way}: the program ${made} does not run`)
    } catch (error) {
      faults.push(`${way}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw new Error(
    [
      'no Temporal server: install the Temporal command line tool (https://docs.temporal.io/cli) so that `temporal` is on',
      'PATH, or install Go 1.24 or newer (https://go.dev/dl) so that it can be built, or set TEMPORAL_ADDRESS to a server',
      ...faults.map((fault) => `  ${fault.replaceAll('\n', '\n    ')}`),
    ].join('\n'),
  )
}

const folderIn = (cacheDir: string): string => join(cacheDir, `temporal-cli-${TEMPORAL_CLI_VERSION}`)

/** The program if it is already on PATH or in the cache; else undefined. Downloads nothing. */
export async function presentTemporalServer(cacheDir: string): Promise<string | undefined> {
  const folder = folderIn(cacheDir)
  return firstThatRuns([await findOnPath('temporal'), join(folder, PROGRAM), await downloadedIn(folder)])
}

async function firstThatRuns(paths: readonly (string | undefined)[]): Promise<string | undefined> {
  for (const path of paths) if (path !== undefined && (await runs(path))) return path
  return undefined
}

/** Whether a program is the Temporal server. Another program may be called `temporal`, so its version is checked. */
async function runs(path: string): Promise<boolean> {
  if (!(await isExecutable(path))) return false
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: 30_000 })
    return /^temporal version .*\bServer\b/i.test(stdout)
  } catch {
    return false
  }
}

/** The SDK's name for its download contains a version. */
async function downloadedIn(folder: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => [])
  const name = names.find((candidate) => /^temporal-cli-.*[^p]$/.test(candidate) && !candidate.endsWith('.downloading'))
  return name === undefined ? undefined : join(folder, name)
}

async function download(folder: string, onProgress: Progress): Promise<string> {
  const script = fileURLToPath(new URL('download.ts', import.meta.url))
  await runWithProgress(process.execPath, [script, folder, TEMPORAL_CLI_VERSION], {
    doing: 'downloading the Temporal server',
    onProgress,
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
  })
  const path = await downloadedIn(folder)
  if (path === undefined) throw new Error(`the SDK left no program in ${folder}`)
  return path
}

async function build(folder: string, onProgress: Progress): Promise<string> {
  const go = await findOnPath('go')
  if (go === undefined) throw new Error('Go is not installed')
  onProgress('building the Temporal server with Go, once: this takes some minutes')
  const bin = await mkdtemp(join(folder, 'build-'))
  try {
    await runWithProgress(go, ['install', `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`], {
      doing: 'building the Temporal server with Go',
      onProgress,
      // A work file or a module above the checkout must not affect this build.
      env: { ...process.env, GOBIN: bin, GOWORK: 'off' },
      cwd: bin,
    })
    await rename(join(bin, PROGRAM), join(folder, PROGRAM))
  } finally {
    await rm(bin, { recursive: true, force: true })
  }
  onProgress('the Temporal server is built')
  return join(folder, PROGRAM)
}

/** Files downloaded or built once per user, and kept outside the checkout. */
import { type ExecFileException, execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

export type Progress = (line: string) => void

/** The user's cache of Simherd: `$XDG_CACHE_HOME/simherd`, else `~/.cache/simherd`. */
export const userCacheDir = (): string => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'simherd')

/**
 * Makes a folder under a temporary name, and moves it to its place when it is complete. Safe to run by several
 * processes at once: the first one's folder stays.
 */
export async function keepFolder(folder: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(folder), { recursive: true })
  const unfinished = await mkdtemp(`${folder}.new-`)
  try {
    await make(unfinished)
    await rename(unfinished, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error
    })
  } finally {
    await rm(unfinished, { recursive: true, force: true })
  }
}

/** The full path of a program on PATH; undefined if it is not there. */
export async function findOnPath(name: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const path = join(folder, process.platform === 'win32' ? `${name}.exe` : name)
    if (await isExecutable(path)) return path
  }
  return undefined
}

export const isExecutable = (path: string): Promise<boolean> => canAccess(path, constants.X_OK)
export const exists = (path: string): Promise<boolean> => canAccess(path, constants.F_OK)

const canAccess = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

/**
 * Runs a program to its end. Every five seconds it reports how long the program has been running.
 *
 * @returns the program's output on stdout
 * @throws Error with the last lines that it printed
 */
export async function runWithProgress(
  command: string,
  args: readonly string[],
  options: {
    readonly doing: string
    readonly onProgress: Progress
    readonly env?: NodeJS.ProcessEnv
    readonly cwd?: string
    readonly timeoutMs?: number
  },
): Promise<string> {
  const began = Date.now()
  const timer = setInterval(() => {
    options.onProgress(`${options.doing}: ${Math.round((Date.now() - began) / 1000)} s`)
  }, 5_000)
  try {
    return await new Promise<string>((done, fail) => {
      const settings = { env: options.env ?? process.env, cwd: options.cwd, timeout: options.timeoutMs ?? 0 }
      const answer = (error: ExecFileException | null, stdout: string, stderr: string) => {
        if (error === null) return done(stdout)
        const output = `${stdout}\n${stderr}`.trim().split('\n').slice(-6).join('\n')
        fail(new Error(`${command} ${args[0] ?? ''} failed: ${output || error.message}`, { cause: error }))
      }
      execFile(command, args, { ...settings, maxBuffer: 64 * 1024 * 1024 }, answer)
    })
  } finally {
    clearInterval(timer)
  }
}

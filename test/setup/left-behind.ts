/** Ends what a run of tests leaves behind when it is ended early, or when one of its processes is killed. */
import { type ChildProcess, execFile } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { basename } from 'node:path'
import { promisify } from 'node:util'
import { endProcess, startedAt } from '../../stack/pids.ts'
import type { ServerNote } from './notes.ts'

/** vitest ends at once, unless its thread is busy. */
const PATIENCE_MS = 10_000
const LOOK_EVERY_MS = 500
/** A process may start another one while it ends. */
const LOOKS = 5

/**
 * Ends vitest when this process is asked to end, or when npm, which has started it, is gone. The caller then waits for
 * vitest, and ends what is left.
 *
 * @returns whether this process was asked to end
 */
export function passOnEnd(vitest: ChildProcess): () => boolean {
  let isAsked = false
  const end = () => {
    isAsked = true
    vitest.kill('SIGINT')
    setTimeout(() => vitest.kill('SIGKILL'), PATIENCE_MS).unref()
  }
  // Ctrl-C reaches vitest directly.
  process.on('SIGINT', () => {
    isAsked = true
  })
  process.on('SIGTERM', end)
  process.on('SIGHUP', end)
  // npm ends at a SIGTERM, and so does its shell. Neither tells us.
  if (process.env.npm_lifecycle_event === undefined) return () => isAsked
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    end()
  }, LOOK_EVERY_MS)
  watch.unref()
  return () => isAsked
}

/**
 * Ends all processes of a run that has ended.
 *
 * @param folder the run's temporary folder
 * @param servers those that the run has noted: some write over their environment, by which the others are found
 */
export async function endLeftBehind(folder: string, servers: readonly ServerNote[]): Promise<void> {
  const noted = servers.map(async ({ pid, startedAt: start }) => {
    if (start !== undefined && (await startedAt(pid)) === start) await endProcess(pid)
  })
  await Promise.all([...noted, endProcessesOf(folder)])
}

async function endProcessesOf(folder: string): Promise<void> {
  for (let look = 0; look < LOOKS; look += 1) {
    const pids = await processesOf(folder)
    if (pids.length === 0) return
    await Promise.all(pids.map((pid) => endProcess(pid)))
  }
}

/**
 * The processes of a run: its temporary folder is named in their environment, which they inherit, in their command line,
 * or is what they run in. They need not be descendants: a server is a session of its own, and a parent may be gone.
 *
 * @param folder the run's temporary folder, whose name must be unique
 * @returns their pids
 */
export async function processesOf(folder: string): Promise<readonly number[]> {
  const name = basename(folder)
  if (process.platform !== 'linux') {
    // With -E: the environment after the command.
    const { stdout } = await promisify(execFile)('ps', ['-A', '-E', '-ww', '-o', 'pid=,command='], {
      maxBuffer: 64 * 1024 * 1024,
    })
    const lines = stdout.split('\n').filter((line) => line.includes(name))
    return lines.map((line) => Number.parseInt(line, 10)).filter((pid) => pid !== process.pid)
  }
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))
  const found = await Promise.all(
    pids.map(async (pid) => {
      // A process of another user cannot be read, and is none of ours.
      const texts = await Promise.all([
        readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''),
        readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
        readlink(`/proc/${pid}/cwd`).catch(() => ''),
      ])
      return texts.some((text) => text.includes(name)) ? [Number(pid)] : []
    }),
  )
  return found.flat().filter((pid) => pid !== process.pid)
}

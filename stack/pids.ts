/**
 * Finds processes that outlived the one that started them.
 *
 * A process is identified by its pid and its start time, because pids are reused.
 */
import { execFile } from 'node:child_process'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process is alive, but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * When a process started, in the system's own format; on Windows only 'alive'. Undefined if it has ended or is a
 * zombie.
 */
export async function startedAt(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
    // The command's name is in parentheses, and may contain spaces. State and start time come after it.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields === undefined || fields[0] === 'Z' ? undefined : fields[19]
  }
  if (process.platform === 'win32') return isAlive(pid) ? 'alive' : undefined
  const text = await output('ps', ['-o', 'lstart=', '-p', String(pid)])
  return text === '' ? undefined : text
}

const LOOK_EVERY_MS = 1000

/**
 * Waits for the end of a process that need not be a child. Notices it within a second.
 *
 * @param isStopped gives up waiting: the caller knows that it has ended
 */
export async function waitForEnd(pid: number, isStopped: AbortSignal): Promise<void> {
  const start = await startedAt(pid)
  if (start === undefined) return
  while (!isStopped.aborted && (await startedAt(pid)) === start) {
    await sleep(LOOK_EVERY_MS, undefined, { signal: isStopped }).catch(() => undefined)
  }
}

/** The command line of a process; '' if it cannot be read. */
export async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    return line.replaceAll('\0', ' ').trim()
  }
  return output('ps', ['-o', 'command=', '-p', String(pid)])
}

const output = (command: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(command, args, (_error, stdout) => resolve(stdout.trim()))
  })

/** Writes a process's pid and start time to a file, so that {@link readPid} can find it later. */
export async function writePid(file: string, pid: number): Promise<void> {
  await writeFile(`${file}.new`, `${pid} ${(await startedAt(pid)) ?? ''}\n`)
  await rename(`${file}.new`, file)
}

/** The process that a file names; undefined unless that very process is still alive. */
export async function readPid(file: string): Promise<number | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const [pid, start] = text.trim().split(' ')
  if (pid === undefined || start === undefined) return undefined
  return (await startedAt(Number(pid))) === start ? Number(pid) : undefined
}

/**
 * Ends a process: with SIGTERM, and after `timeoutMs` with SIGKILL. Safe if it has ended already.
 *
 * @returns when the process has ended
 */
export async function endProcess(pid: number, timeoutMs = 15_000): Promise<void> {
  const start = await startedAt(pid)
  if (start === undefined) return
  const isGone = async () => (await startedAt(pid)) !== start
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(pid, name)
    } catch {
      // Ended in between.
    }
  }
  signal('SIGTERM')
  const deadline = Date.now() + timeoutMs
  while (!(await isGone())) {
    if (Date.now() > deadline) signal('SIGKILL')
    await sleep(25)
  }
}

/**
 * Makes this process the only user of a folder, until it ends or releases the folder.
 *
 * @returns a function that releases the folder
 * @throws Error with the living process that uses the folder
 */
export async function claimFolder(dir: string, what: string): Promise<() => Promise<void>> {
  const file = `${dir}/owner.pid`
  const owner = await readPid(file)
  if (owner !== undefined && owner !== process.pid) {
    throw new Error(`${what} in ${dir} is in use by process ${owner}: stop that one, or choose another DATA_DIR`)
  }
  await writePid(file, process.pid)
  return () => rm(file, { force: true })
}

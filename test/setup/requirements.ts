/**
 * What a suite or a test needs and a machine may lack. `npm test` names at its end what is missing. In CI a missing
 * program is a failure, and so is any skip that does not come from here.
 */
import { join, relative } from 'node:path'
import { describe, expect, inject } from 'vitest'
import { isExecutable } from '../../stack/downloads.ts'
import { findPip } from '../../stack/temporal/fetch-wheel.ts'
import { OLDEST_POSTGRES } from '../long.ts'
import { noteSkip } from './notes.ts'

const file = () => relative('', expect.getState().testPath ?? '')

/** Describes tests that need Temporal's server that skips time. @param tests gets its program */
export function describeInSkippedTime(suite: string, tests: (path: string) => void): void {
  const found = inject('timeSkipping')
  if ('skip' in found) noteSkip({ file: file(), skipped: suite, why: found.skip, isLack: true })
  describe.skipIf('skip' in found)(suite, () => tests('path' in found ? found.path : ''))
}

/**
 * The url of a Redis, for a suite under `describe.skipIf(url === undefined)`.
 *
 * @param suite what is skipped without it
 */
export function requireRedis(suite: string): string | undefined {
  const url = inject('redisUrl')
  if (url !== null) return url
  const why = 'redis-server is not installed (Debian: redis-server)'
  noteSkip({ file: file(), skipped: suite, why, isLack: true })
  return undefined
}

/**
 * Whether a program is there, for a suite under `describe.runIf(…)`.
 *
 * @param program its name, also of Debian's package
 * @param suite what is skipped without it
 */
export function requireProgram(isThere: boolean, program: string, suite: string): boolean {
  if (isThere) return true
  noteSkip({ file: file(), skipped: suite, why: `${program} is not installed (Debian: ${program})`, isLack: true })
  return false
}

/**
 * Whether the PostgreSQL of the run has this major version or a newer one, for what older ones cannot do.
 *
 * @param suite what is skipped without it
 */
export function requirePostgres(major: number, suite: string): boolean {
  const found = inject('postgresMajor')
  if (found >= major) return true
  const why = `it runs on PostgreSQL ${major} or newer, got ${found}`
  noteSkip({ file: file(), skipped: suite, why, isLack: false })
  return false
}

/**
 * The folder with the programs of the oldest PostgreSQL that the service works with, for a test under
 * `test.runIf(folder !== undefined)`. CI may lack it: of Debian only 12 has it.
 *
 * @param title of the test skipped without it
 */
export async function requireOldestPostgres(title: string): Promise<string | undefined> {
  const folder = process.env.TEST_POSTGRES ?? OLDEST_POSTGRES
  if (await isExecutable(join(folder, 'postgres'))) return folder
  const why = `there is no PostgreSQL in ${folder} (Debian 12: postgresql-15; TEST_POSTGRES names another folder)`
  noteSkip({ file: file(), skipped: title, why, isLack: false })
  return undefined
}

/**
 * Whether there is a Python with pip, for a suite under `describe.runIf(hasPip)`.
 *
 * @param suite what is skipped without it
 */
export async function requirePip(suite: string): Promise<boolean> {
  const found = await findPip()
  if ('python' in found) return true
  noteSkip({ file: file(), skipped: suite, why: found.missing, isLack: true })
  return false
}

/**
 * Whether root runs the tests, for a test under `test.runIf(isRoot)`. CI may run without root.
 *
 * @param title of the test that is skipped without root
 */
export function requireRoot(title: string): boolean {
  if (process.getuid?.() === 0) return true
  noteSkip({ file: file(), skipped: title, why: 'root does not run the tests', isLack: false })
  return false
}

/** How a command ends: its exit code and its last output. */
import { UnfitDatabase } from '../store/migrate/unfit-database.ts'

/** Exit codes of all commands. */
export const ExitCode = { ok: 0, failure: 1, usage: 2, notFound: 3, conflict: 4, unreachable: 5 } as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** A failure that the user can fix. Its message names the fix; no stack is shown. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode
  constructor(message: string, exitCode: ExitCode = ExitCode.failure, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

/** The text for an error: its message, and the messages of its causes that add something. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A refused connection to "localhost" is one error for each of its addresses.
  const own = error instanceof AggregateError ? error.errors.map(wordsOf).join('; ') : error.message || error.name
  if (error.cause === undefined) return own
  const cause = wordsOf(error.cause)
  return own.includes(cause) ? own : `${own} (${cause})`
}

/** System and server errors that the user can fix: the codes, the exit code, and what to do. */
const MENDABLE: readonly (readonly [codes: RegExp, ExitCode, advice: string])[] = [
  [
    /^EADDRINUSE$/,
    ExitCode.conflict,
    'stop the program that listens there, or choose another with PORT, INTERNAL_PORT, CONSOLE_PORT or WORKER_PORT',
  ],
  [/^(ENOENT|ENOTDIR)$/, ExitCode.notFound, 'check the path'],
  [/^(EACCES|EPERM|EISDIR|EEXIST|ENOSPC|EROFS)$/, ExitCode.usage, 'check the path, its rights and the disk'],
  [
    /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
    ExitCode.unreachable,
    'check the address, and whether the server runs',
  ],
  // PostgreSQL: login, database name, and a starting or full server.
  [/^(28...|3D...)$/, ExitCode.usage, 'check user, password and database in DATABASE_URL'],
  [/^42501$/, ExitCode.usage, 'check the rights of the login in DATABASE_URL: docs/runbook.md says which it needs'],
  [/^(08...|53300|57P0.)$/, ExitCode.unreachable, 'the database takes no connection now: try again'],
]

/** Turns a failure of a file, an address, a login or a database into a CommandFailure. Returns any other error unchanged. */
export function asCommandFailure(error: unknown): unknown {
  if (error instanceof CommandFailure) return error
  if (error instanceof UnfitDatabase) return new CommandFailure(error.message, ExitCode.usage, { cause: error })
  const codes = codesOf(error)
  for (const [pattern, exitCode, advice] of MENDABLE) {
    if (codes.some((code) => pattern.test(code)))
      return new CommandFailure(`${wordsOf(error)}: ${advice}`, exitCode, { cause: error })
  }
  return error
}

/** The codes of an error and of its causes. */
function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const own = 'code' in error && typeof error.code === 'string' ? [error.code] : []
  const parts: readonly unknown[] = error instanceof AggregateError ? error.errors : []
  return [...own, ...[...parts, error.cause].flatMap(codesOf)]
}

/** @throws CommandFailure with the names of all settings without a value */
export function requireSettings<K extends string>(settings: Readonly<Record<K, string>>, names: readonly K[]): void {
  const missing = names.filter((name) => settings[name] === '')
  if (missing.length === 0) return
  throw new CommandFailure(
    `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set: say where the server is. ` +
      '"npm start" runs servers of its own.',
    ExitCode.usage,
  )
}

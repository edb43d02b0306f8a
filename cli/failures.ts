/** How a command ends: its exit code, and what it says before. */

/** Exit codes of all commands. */
export const ExitCode = { ok: 0, failure: 1, usage: 2, notFound: 3, conflict: 4, unreachable: 5 } as const
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode]

/** A failure that is the user's to mend: its message says what to do, and no stack is shown. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode
  constructor(message: string, exitCode: ExitCode = ExitCode.failure, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

/** The words for an error: its message, and those of its causes that say more. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A refused connection to "localhost" is one error for each of its addresses.
  const own = error instanceof AggregateError ? error.errors.map(wordsOf).join('; ') : error.message || error.name
  if (error.cause === undefined) return own
  const cause = wordsOf(error.cause)
  return own.includes(cause) ? own : `${own} (${cause})`
}

/**
 * @throws CommandFailure naming all settings that have no value
 */
export function requireSettings<K extends string>(settings: Readonly<Record<K, string>>, names: readonly K[]): void {
  const missing = names.filter((name) => settings[name] === '')
  if (missing.length === 0) return
  throw new CommandFailure(
    `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set: say where the server is. ` +
      '"npm start" runs servers of its own.',
    ExitCode.usage,
  )
}

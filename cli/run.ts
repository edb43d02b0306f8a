/** Runs one command, and says what it failed with. */
import { CommanderError } from 'commander'
import { asCommandFailure, CommandFailure, ExitCode, wordsOf } from './failures.ts'
import { printable } from './print.ts'
import { program } from './program.ts'

/**
 * A failure that is the user's to mend is told in one line, and each wrong field in one more. A stack is shown of a
 * defect of ours only.
 *
 * @param args what follows `simherd`
 * @returns the exit code
 */
export async function run(args: readonly string[]): Promise<ExitCode> {
  try {
    await program.parseAsync([...args], { from: 'user' })
    return ExitCode.ok
  } catch (error) {
    // It has said what it had to say; help and version end with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage
    const failure = asCommandFailure(error)
    console.error(printable(`simherd: ${wordsOf(failure)}`))
    if (failure instanceof CommandFailure) return failure.exitCode
    if (failure instanceof Error && failure.stack !== undefined) console.error(failure.stack)
    return ExitCode.failure
  }
}
